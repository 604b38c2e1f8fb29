//! Creating, sealing, closing, reopening, removing; private modes; the quota.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::task::Poll;

use ptyard_core::ErrorCode;
use ptyard_terminal::log::{
    Bounds, FillError, LogConfig, LogError, LogWriter, ReadOutcome, Seal, recover, remove, sweep,
};

use crate::support::{TINY, place, put, rest, text};

fn names(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn law_01_every_byte_keeps_its_offset_from_the_ring_to_the_segments() {
    let place = place();
    let mut log = LogWriter::create(&place.dir, TINY).unwrap();
    let reader = log.reader();
    let all = text(0, 100_000);
    for piece in all.chunks(777) {
        assert_eq!(put(&mut log, piece), piece.len());
        assert_eq!(
            rest(&reader, log.end() - 777.min(log.end())),
            all[..log.end() as usize][log.end() as usize - 777.min(log.end() as usize)..]
        );
    }
    assert_eq!(rest(&reader, 0), all);
    assert_eq!(reader.bounds(), Bounds { start: 0, end: 100_000, sealed: None });
    log.seal("{}");
    log.close().unwrap();
    assert_eq!(rest(&reader, 0), all);
    assert_eq!(rest(&reader, 100_000), b"");
}

#[test]
fn reads_are_bounded_and_an_offset_beyond_the_end_is_an_error() {
    let place = place();
    let mut log = LogWriter::create(&place.dir, TINY).unwrap();
    put(&mut log, &text(0, 30_000));
    let (reader, mut out) = (log.reader(), b"kept".to_vec());
    for (at, max) in [(0, 10_000), (4095, 2), (4096, 4096), (20_000, 10_000), (29_999, 5)] {
        out.truncate(4);
        assert_eq!(reader.read(at, max, &mut out).unwrap(), ReadOutcome { from: at, evicted: 0 });
        assert_eq!(out[4..], text(at, max.min(30_000 - at as usize)));
    }
    out.truncate(4);
    let error = reader.read(30_001, 1, &mut out).unwrap_err();
    assert_eq!(
        (&error, error.code()),
        (&LogError::BeyondEnd { at: 30_001, end: 30_000 }, ErrorCode::OffsetBeyondEnd)
    );
    assert_eq!(out, b"kept");
}

#[test]
fn the_quota_evicts_the_oldest_segments_and_tells_the_gap() {
    let place = place();
    let config = LogConfig { quota_bytes: 3 * 4096, ..TINY };
    let mut log = LogWriter::create(&place.dir, config).unwrap();
    let reader = log.reader();
    for at in (0..200_000).step_by(1000) {
        put(&mut log, &text(at, 1000));
        let Bounds { start, end, .. } = reader.bounds();
        assert!(end - start <= config.quota_bytes + config.ring_bytes as u64);
        let mut out = Vec::new();
        assert_eq!(
            reader.read(0, usize::MAX, &mut out).unwrap(),
            ReadOutcome { from: start, evicted: start }
        );
        assert_eq!(out, text(start, (end - start) as usize));
        let on_disk: u64 = names(&place.dir)
            .iter()
            .filter(|name| name.ends_with(".seg"))
            .map(|name| fs::metadata(place.dir.join(name)).unwrap().len())
            .sum();
        assert!(on_disk <= config.quota_bytes, "{on_disk}");
    }
    let Bounds { start, end, .. } = reader.bounds();
    assert!(start > 0);
    drop(log);
    let log = LogWriter::reopen(&place.dir, config).unwrap();
    assert_eq!(log.reader().bounds(), Bounds { start, end, sealed: None });
}

#[test]
fn files_are_for_their_user_alone() {
    let place = place();
    let mut log = LogWriter::create(&place.dir, TINY).unwrap();
    put(&mut log, &text(0, 30_000));
    let modes = || {
        let files = names(&place.dir);
        assert!(files.len() > 1);
        for name in files {
            assert_eq!(fs::metadata(place.dir.join(&name)).unwrap().mode() & 0o7777, 0o600, "{name}");
        }
        assert_eq!(fs::metadata(&place.dir).unwrap().mode() & 0o7777, 0o700);
    };
    modes();
    log.seal("{}");
    log.close().unwrap();
    modes();
}

#[test]
fn a_closed_log_leaves_little_and_a_short_program_one_small_file() {
    let place = place();
    let cases: [(usize, &[&str]); 4] = [
        (0, &["ring"]),
        (100, &["ring"]),
        (5000, &["00000000000000000000.seg", "ring"]),
        (90_000, &["00000000000000000000.seg", "ring"]),
    ];
    for (output, files) in cases {
        let mut log = LogWriter::create(&place.dir, LogConfig::default()).unwrap();
        put(&mut log, &text(0, output));
        log.seal("{\"code\":0}");
        let reader = log.reader();
        log.close().unwrap();
        assert_eq!(names(&place.dir), files);
        assert!(fs::metadata(place.dir.join("ring")).unwrap().blocks() * 512 <= 2 * 4096);
        let found = recover(&place.dir).unwrap();
        assert_eq!((found.end, found.unpublished), (output as u64, 0));
        assert_eq!(found.seal, Some(Seal { at: output as u64, note: "{\"code\":0}".into() }));
        assert_eq!(rest(&found.reader, 0), text(0, output));
        assert_eq!(rest(&reader, 0), text(0, output));
        remove(&place.dir).unwrap();
        remove(&place.dir).unwrap();
    }
}

#[test]
fn law_04_bytes_after_the_seal_go_on_at_their_offsets_also_after_the_log_was_closed() {
    let place = place();
    let mut log = LogWriter::create(&place.dir, TINY).unwrap();
    put(&mut log, &text(0, 10_000));
    log.seal("first");
    log.seal("second");
    put(&mut log, &text(10_000, 500));
    let bounds = Bounds { start: 0, end: 10_500, sealed: Some(10_000) };
    assert_eq!(log.reader().bounds(), bounds);
    let early = log.reader();
    log.close().unwrap();
    assert_eq!(early.bounds(), bounds);
    for round in 0..3 {
        let mut log = LogWriter::reopen(&place.dir, TINY).unwrap();
        assert_eq!(log.end(), 10_500 + round * 700);
        let end = log.end();
        put(&mut log, &text(end, 700));
        assert_eq!(log.reader().seal(), Some(&Seal { at: 10_000, note: "first".into() }));
        if round == 1 {
            log.close().unwrap();
        }
    }
    let found = recover(&place.dir).unwrap();
    assert_eq!(found.reader.bounds(), Bounds { start: 0, end: 12_600, sealed: Some(10_000) });
    assert_eq!(rest(&found.reader, 0), text(0, 12_600));
}

#[test]
fn a_long_note_is_cut_at_a_character() {
    let place = place();
    let mut log = LogWriter::create(&place.dir, TINY).unwrap();
    assert_eq!(log.seal(&"€".repeat(2000)).note, "€".repeat(1024));
    drop(log);
    assert_eq!(recover(&place.dir).unwrap().seal.unwrap().note, "€".repeat(1024));
}

#[test]
fn two_writers_are_refused_and_so_is_recovery_under_a_live_one() {
    let place = place();
    let mut log = LogWriter::create(&place.dir, TINY).unwrap();
    put(&mut log, b"kept for readers");
    let in_use = LogError::InUse { dir: place.dir.clone() };
    assert_eq!(LogWriter::reopen(&place.dir, TINY).unwrap_err(), in_use);
    assert_eq!(recover(&place.dir).err(), Some(in_use));
    assert_eq!(LogWriter::create(&place.dir, TINY).unwrap_err(), LogError::Exists { dir: place.dir.clone() });
    let reader = log.reader();
    drop(log);
    LogWriter::reopen(&place.dir, TINY).unwrap();
    assert_eq!(rest(&reader, 0), b"kept for readers");
}

#[test]
fn pending_and_failed_reads_change_nothing() {
    let place = place();
    let mut log = LogWriter::create(&place.dir, TINY).unwrap();
    put(&mut log, b"abc");
    assert!(log.poll_fill(|_| Poll::Pending).is_pending());
    let failed = log.fill(|_| Err(std::io::Error::from_raw_os_error(5)));
    assert!(matches!(failed, Err(FillError::Read(e)) if e.raw_os_error() == Some(5)));
    assert_eq!(log.fill(|_| Ok(0)).unwrap(), 0);
    assert_eq!(log.end(), 3);
    drop(log);
    assert_eq!(recover(&place.dir).unwrap().end, 3);
}

#[test]
fn a_removed_log_says_so_and_foreign_changes_are_told() {
    let place = place();
    assert_eq!(recover(&place.dir).err(), Some(LogError::Removed { dir: place.dir.clone() }));
    let mut log = LogWriter::create(&place.dir, TINY).unwrap();
    put(&mut log, &text(0, 50_000));
    log.seal("");
    log.close().unwrap();
    let reader = recover(&place.dir).unwrap().reader;
    fs::remove_file(place.dir.join("ring")).unwrap();
    assert!(matches!(recover(&place.dir).err(), Some(LogError::Damaged { .. })));
    remove(&place.dir).unwrap();
    let gone = reader.read(0, 10, &mut Vec::new());
    assert_eq!(gone, Err(LogError::Removed { dir: place.dir.clone() }));
}

#[test]
fn law_04_a_removal_that_was_interrupted_leaves_no_log_without_its_seal() {
    let place = place();
    let mut log = LogWriter::create(&place.dir, TINY).unwrap();
    put(&mut log, b"abc");
    log.seal("");
    log.close().unwrap();
    // Interrupted after its first step, and again among its files.
    let going = place.dir.with_extension("removed");
    fs::rename(&place.dir, &going).unwrap();
    fs::remove_file(going.join("ring")).unwrap();
    assert_eq!(recover(&place.dir).err(), Some(LogError::Removed { dir: place.dir.clone() }));
    let parent = place.dir.parent().unwrap();
    fs::write(parent.join("other"), "").unwrap();
    sweep(parent).unwrap();
    assert!(!going.exists() && parent.join("other").exists());

    // While files go, nothing is there by the log's own name.
    for _ in 0..50 {
        drop(LogWriter::create(&place.dir, TINY).unwrap());
        let dir = place.dir.clone();
        let removing = std::thread::spawn(move || remove(&dir));
        while !removing.is_finished() {
            if let Ok(files) = fs::read_dir(&place.dir).map(Iterator::count) {
                assert!(files > 0 || !place.dir.exists(), "the log has lost its files");
            }
        }
        removing.join().unwrap().unwrap();
        assert!(!place.dir.exists() && !going.exists());
    }
}

#[test]
fn an_idle_log_touches_two_pages_of_memory_and_holds_no_descriptor() {
    let place = place();
    let fds = || {
        fs::read_dir("/proc/self/fd")
            .unwrap()
            .flatten()
            .filter(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.starts_with(&place.dir)))
            .count()
    };
    let resident = || -> u64 {
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let ring = place.dir.join("ring").display().to_string();
        let mut inside = false;
        let mut sum = 0;
        for line in smaps.lines() {
            if line.contains(" rw-s ")
                || line.contains(" r-")
                || line.contains(" rw-p")
                || line.contains(" ---p")
            {
                inside = line.ends_with(&ring);
            } else if inside && let Some(kb) = line.strip_prefix("Rss:") {
                sum += kb.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
            }
        }
        sum
    };
    let mut log = LogWriter::create(&place.dir, LogConfig::default()).unwrap();
    put(&mut log, b"$ ");
    let page_kib = rustix::param::page_size() as u64 / 1024;
    assert_eq!(resident(), 2 * page_kib);
    assert_eq!(fds(), 0);
    put(&mut log, &text(0, 500_000));
    assert_eq!(fds(), 1);
    log.seal("");
    log.close().unwrap();
    assert_eq!((resident(), fds()), (0, 0));
}
