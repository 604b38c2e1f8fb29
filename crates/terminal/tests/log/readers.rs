//! Readers in other threads while the writer runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ptyard_terminal::log::{LogConfig, LogWriter};

use crate::support::{TINY, place, put, text};

#[test]
fn law_01_readers_beside_a_running_writer_see_exactly_what_was_written() {
    const ALL: u64 = 3 << 20;
    let place = place();
    let config = LogConfig { quota_bytes: 64 << 10, ..TINY };
    let mut log = LogWriter::create(&place.dir, config).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for max in [100, 5000, usize::MAX] {
            let (reader, done) = (log.reader(), &done);
            scope.spawn(move || {
                let (mut at, mut missed, mut given, mut out) = (0, 0, 0, Vec::new());
                loop {
                    let last = done.load(Ordering::Acquire);
                    out.clear();
                    let outcome = reader.read(at, max, &mut out).unwrap();
                    assert!(out == text(outcome.from, out.len()), "at {at}");
                    missed += outcome.evicted;
                    given += out.len() as u64;
                    at = outcome.from + out.len() as u64;
                    let bounds = reader.bounds();
                    assert!(bounds.start <= bounds.end);
                    if last && at == bounds.end {
                        break;
                    }
                }
                assert_eq!((at, missed + given), (ALL, ALL));
            });
        }
        for at in (0..ALL).step_by(1 << 10) {
            assert_eq!(put(&mut log, &text(at, 1 << 10)), 1 << 10);
        }
        log.seal("");
        log.close().unwrap();
        done.store(true, Ordering::Release);
    });
}
