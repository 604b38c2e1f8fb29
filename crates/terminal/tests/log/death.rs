//! A writer that stops between any two of its steps, inside a write and inside a read.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptyard_terminal::log::{Died, Faults, LogConfig, LogWriter, Step, Verdict, recover};

use crate::support::{TINY, place, rest, text};

/// The model: every byte that the writer was handed, and where its program's output ended.
#[derive(Default)]
struct Truth {
    handed: u64,
    sealed: Option<u64>,
}

const ALL: u64 = 60_000;

/// Runs `body`; says whether the writer died in it. Any other panic goes on.
fn dies(body: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(()) => false,
        Err(panic) if panic.is::<Died>() => true,
        Err(panic) => resume_unwind(panic),
    }
}

/// Goes on with the log until everything is in it, sealed and closed.
fn run(dir: &Path, config: LogConfig, faults: Faults, truth: &RefCell<Truth>, die_in_read: Option<usize>) {
    let mut log = match LogWriter::create(dir, config) {
        Ok(log) => log,
        Err(_) => LogWriter::reopen(dir, config).unwrap(),
    };
    log.set_faults(faults);
    let mut reads = 0;
    while truth.borrow().handed < ALL {
        let at = truth.borrow().handed;
        log.fill(|area| {
            let count = area.len().min((ALL - at) as usize).min(1 + (at as usize * 31) % 3000);
            let bytes = text(at, count);
            if die_in_read == Some(reads) {
                area[..count / 2].copy_from_slice(&bytes[..count / 2]);
                truth.borrow_mut().handed += count as u64 / 2;
                std::panic::panic_any(Died);
            }
            reads += 1;
            area[..count].copy_from_slice(&bytes);
            truth.borrow_mut().handed += count as u64;
            Ok(count)
        })
        .unwrap();
    }
    log.seal("end");
    truth.borrow_mut().sealed = Some(ALL);
    log.close().unwrap();
}

fn check(dir: &Path, truth: &RefCell<Truth>) {
    let (found, truth) = (recover(dir).unwrap(), truth.borrow());
    assert_eq!(found.end, truth.handed, "the end");
    let start = found.reader.bounds().start;
    assert!(rest(&found.reader, start) == text(start, (truth.handed - start) as usize), "the bytes");
    if truth.sealed.is_some() {
        assert_eq!(found.seal.map(|seal| seal.at), truth.sealed);
    }
}

/// Dies at the step with this number.
fn at_step(n: usize, verdict: Verdict) -> (Faults, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let faults = Faults::new(move |step| {
        let this = seen.fetch_add(1, Ordering::Relaxed);
        match (this == n, step, verdict) {
            (false, ..) => Verdict::Go,
            (true, Step::Append, verdict) => verdict,
            (true, ..) => Verdict::Die,
        }
    });
    (faults, count)
}

#[test]
fn law_01_a_writer_killed_between_any_two_steps_loses_nothing() {
    let quota = LogConfig { quota_bytes: 5 * 4096, ..TINY };
    for config in [TINY, quota] {
        for verdict in [Verdict::Die, Verdict::DieAfter(0), Verdict::DieAfter(1), Verdict::DieAfter(4095)] {
            for n in 0.. {
                let (place, truth) = (place(), RefCell::default());
                let (faults, _) = at_step(n, verdict);
                let died = dies(|| run(&place.dir, config, faults, &truth, None));
                check(&place.dir, &truth);
                if !died {
                    assert!(n > 100, "only {n} steps");
                    break;
                }
                // It dies again, a few steps after it was continued, and is continued to its end.
                let (faults, _) = at_step(n % 7, verdict);
                dies(|| run(&place.dir, config, faults, &truth, None));
                check(&place.dir, &truth);
                run(&place.dir, config, Faults::default(), &truth, None);
                check(&place.dir, &truth);
            }
        }
    }
}

#[test]
fn law_01_bytes_that_were_read_and_not_published_are_recovered() {
    for n in 0.. {
        let (place, truth) = (place(), RefCell::default());
        if !dies(|| run(&place.dir, TINY, Faults::default(), &truth, Some(n))) {
            assert!(n > 20, "only {n} reads");
            break;
        }
        let found = recover(&place.dir).unwrap();
        assert!(found.unpublished <= 1500);
        check(&place.dir, &truth);
        run(&place.dir, TINY, Faults::default(), &truth, None);
        check(&place.dir, &truth);
    }
}

#[test]
fn the_stated_limit_output_that_ends_in_its_own_poison() {
    let (place, mut lost) = (place(), 0_u32);
    for _ in 0..200 {
        let mut log = LogWriter::create(&place.dir, TINY).unwrap();
        let died = dies(|| {
            let _ = log.fill(|area| {
                area[..1000].fill(0xFF);
                std::panic::panic_any(Died);
            });
        });
        assert!(died);
        drop(log);
        lost += 1000 - recover(&place.dir).unwrap().end as u32;
        ptyard_terminal::log::remove(&place.dir).unwrap();
    }
    // One byte in twelve deaths is what to expect; even then nothing but the very last bytes is lost.
    assert!(lost < 80, "{lost} bytes lost in 200 deaths");
}
