//! The log against a plain vector of bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use ptyard_terminal::log::{Faults, LogConfig, LogWriter, ReadOutcome, Step, Verdict};

use crate::support::{place, put};

#[derive(Debug, Clone)]
enum Op {
    Put(Vec<u8>),
    Long(u8, usize),
    Read(prop::sample::Index, usize),
    Disk(Disk),
    Flush,
    Seal,
    Reopen,
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disk {
    Full,
    Fine,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => prop::collection::vec(any::<u8>(), 0..5000).prop_map(Op::Put),
        2 => (any::<u8>(), 0..30_000_usize).prop_map(|(byte, len)| Op::Long(byte, len)),
        6 => (any::<prop::sample::Index>(), 0..40_000_usize).prop_map(|(at, max)| Op::Read(at, max)),
        2 => prop_oneof![Just(Disk::Full), Just(Disk::Fine)].prop_map(Op::Disk),
        1 => Just(Op::Flush),
        1 => Just(Op::Seal),
        2 => Just(Op::Reopen),
        1 => Just(Op::Close),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn law_01_the_log_is_the_vector_of_all_bytes(
        ops in prop::collection::vec(op(), 1..40),
        segment in 4096..20_000_u64,
        quota_segments in 2..8_u64,
    ) {
        let place = place();
        let config = LogConfig { ring_bytes: 8192, segment_bytes: segment, quota_bytes: segment * quota_segments };
        let full = Arc::new(AtomicBool::new(false));
        let faults = {
            let full = Arc::clone(&full);
            Faults::new(move |step| match (full.load(Ordering::Relaxed), step) {
                (true, Step::Append | Step::OpenSegment | Step::Grow) => Verdict::Fail(28),
                (false, Step::Append) => Verdict::Short(3333),
                _ => Verdict::Go,
            })
        };
        let mut log = LogWriter::create(&place.dir, config).unwrap();
        log.set_faults(faults.clone());
        let (mut all, mut sealed) = (Vec::new(), None);
        for op in ops {
            let before = log.reader();
            match op {
                Op::Put(bytes) => {
                    let taken = put(&mut log, &bytes);
                    prop_assert!(taken == bytes.len() || full.load(Ordering::Relaxed));
                    all.extend_from_slice(&bytes[..taken]);
                }
                Op::Long(byte, len) => {
                    let bytes = vec![byte; len];
                    let taken = put(&mut log, &bytes);
                    all.extend_from_slice(&bytes[..taken]);
                }
                Op::Read(at, max) => {
                    let at = at.index(all.len() + 1) as u64;
                    let start = log.reader().bounds().start;
                    let mut out = Vec::new();
                    let outcome = log.reader().read(at, max, &mut out).unwrap();
                    let from = at.max(start);
                    prop_assert_eq!(outcome, ReadOutcome { from, evicted: from - at });
                    let to = all.len().min(from as usize + max);
                    prop_assert!(out == all[from as usize..to], "{}..{}", from, to);
                }
                Op::Disk(disk) => full.store(disk == Disk::Full, Ordering::Relaxed),
                Op::Flush => {
                    let _ = log.flush();
                }
                Op::Seal => {
                    sealed.get_or_insert(all.len() as u64);
                    log.seal("note");
                }
                Op::Reopen => {
                    drop(log);
                    log = LogWriter::reopen(&place.dir, config).unwrap();
                    log.set_faults(faults.clone());
                }
                Op::Close => {
                    log = match log.close() {
                        Ok(()) => LogWriter::reopen(&place.dir, config).unwrap(),
                        Err(not) => {
                            prop_assert!(full.load(Ordering::Relaxed));
                            *not.writer
                        }
                    };
                    log.set_faults(faults.clone());
                }
            }
            let bounds = log.reader().bounds();
            prop_assert_eq!((bounds.end, bounds.sealed), (all.len() as u64, sealed));
            prop_assert!(bounds.end - bounds.start <= config.quota_bytes + 8192);
            prop_assert!(before.bounds().end <= bounds.end);
        }
    }
}
