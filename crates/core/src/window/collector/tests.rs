use super::*;

const fn at(ms: u64) -> Moment {
    Moment::from_millis(ms)
}

fn window(conditions: &[&str]) -> Collector {
    window_at(0, 0, conditions)
}

fn window_at(from: u64, mark: u64, conditions: &[&str]) -> Collector {
    Collector::new(CollectorSpec {
        from,
        mark,
        cap_tokens: Some(10_000),
        conditions: Condition::parse_all(conditions).unwrap(),
        quiet_after: QuietAfter::NewOutput,
        started: at(0),
        deadline: Some(at(1_000)),
    })
}

const WAIT_FOR_DEADLINE: Step = Step::Wait { until: Some(at(1_000)) };

#[test]
fn a_window_without_conditions_ends_at_its_deadline() {
    let mut w = window(&[]);
    w.bytes(0, b"$ ", at(10));
    assert_eq!(w.step(at(999)), WAIT_FOR_DEADLINE);
    assert_eq!(w.step(at(1_000)), Step::Done(EndedBy::Deadline));
    assert_eq!(w.step(at(0)), Step::Done(EndedBy::Deadline), "an end stays");
    let got = w.finish();
    assert_eq!((got.text.as_str(), got.from, got.next, got.exit), ("$ ", 0, 2, None));
}

#[test]
fn law_04_an_exit_ends_the_window_only_when_all_bytes_before_it_are_in() {
    let mut w = window(&[]);
    w.bytes(0, b"ou", at(1));
    w.sealed(Exit::exited(3), 4);
    assert_eq!(w.step(at(2)), WAIT_FOR_DEADLINE);
    w.bytes(2, b"t\n", at(2));
    assert_eq!(w.step(at(2)), Step::Done(EndedBy::Exit));
    let got = w.finish();
    assert_eq!((got.text.as_str(), got.exit), ("out\n", Some(Exit::exited(3))));
}

#[test]
fn law_04_a_deadline_before_the_last_bytes_reports_no_exit() {
    let mut w = window(&[]);
    w.sealed(Exit::exited(0), 10);
    w.bytes(0, b"12345", at(1));
    assert_eq!(w.step(at(1_000)), Step::Done(EndedBy::Deadline));
    let got = w.finish();
    assert_eq!((got.exit, got.next), (None, 5));
}

#[test]
fn law_04_bytes_after_the_end_are_not_in_the_window() {
    let mut w = window(&[]);
    w.sealed(Exit::exited(0), 4);
    w.bytes(0, b"own\nlate from a descendant\n", at(1));
    assert_eq!(w.step(at(1)), Step::Done(EndedBy::Exit));
    let got = w.finish();
    assert_eq!((got.text.as_str(), got.next), ("own\n", 4));
}

#[test]
fn r22_bytes_that_came_with_the_deadline_are_in() {
    let mut w = window(&[]);
    assert_eq!(w.step(at(1_000)), Step::Done(EndedBy::Deadline));
    w.bytes(0, b"just now", at(1_000));
    let got = w.finish();
    assert_eq!((got.text.as_str(), got.next, got.ended_by), ("just now", 8, EndedBy::Deadline));
}

#[test]
fn r05_r06_a_held_prefix_is_shown_by_the_window_that_tells_the_end() {
    // The exit comes between two windows: the prefix was in neither text, so the second one has it.
    let mut first = window(&[]);
    first.bytes(0, b"hi\xC3", at(1));
    assert_eq!(first.step(at(1_000)), Step::Done(EndedBy::Deadline));
    let first = first.finish();
    assert_eq!((first.text.as_str(), first.next), ("hi", 2));

    let mut last = window_at(first.next, 3, &[]);
    last.sealed(Exit::exited(0), 3);
    assert_eq!(last.step(at(0)), WAIT_FOR_DEADLINE, "the held byte is fed again first");
    last.bytes(2, b"\xC3", at(0));
    assert_eq!(last.step(at(0)), Step::Done(EndedBy::Exit));
    let last = last.finish();
    assert_eq!((last.text.as_str(), last.next, last.exit), ("\u{FFFD}", 3, Some(Exit::exited(0))));
}

#[test]
fn case_u03_half_a_character_at_the_end_is_one_replacement_and_then_nothing() {
    let mut w = window(&[]);
    w.bytes(0, b"x\xE4\xB8", at(1));
    w.sealed(Exit::exited(0), 3);
    let got = w.finish();
    assert_eq!((got.text.as_str(), got.next, got.ended_by), ("x\u{FFFD}", 3, EndedBy::Exit));

    let mut again = window_at(3, 3, &[]);
    again.sealed(Exit::exited(0), 3);
    assert_eq!(again.step(at(0)), Step::Done(EndedBy::Exit));
    assert_eq!(again.finish().text, "");
}

fn capped(cap: i64, pieces: &[&[u8]]) -> Collected {
    let mut w = Collector::new(CollectorSpec {
        from: 0,
        mark: 0,
        cap_tokens: Some(cap),
        conditions: vec![],
        quiet_after: QuietAfter::NewOutput,
        started: at(0),
        deadline: None,
    });
    pieces.iter().for_each(|piece| w.bytes(w.position(), piece, at(0)));
    w.sealed(Exit::exited(0), w.position());
    assert_eq!(w.step(at(0)), Step::Done(EndedBy::Exit));
    w.finish()
}

#[test]
fn r07_a_flushed_prefix_obeys_the_cap() {
    let got = capped(0, &[b"hi", b"\xC3"]);
    assert_eq!((got.text.as_str(), got.original_token_count), ("", Some(2)));
}

#[test]
fn r08_r10_a_flushed_prefix_is_counted() {
    let got = capped(10, &[&[b'A'; 100], b"\xC3"]);
    assert_eq!(got.text, "AAAAAAA…22 tokens truncated…AAAAA\u{FFFD}");
    assert_eq!(got.original_token_count, Some(26));
}

#[test]
fn r09_what_came_with_the_exit_is_in_the_kept_end() {
    let got = capped(10, &[&[b'A'; 100], b"<<<FINAL-ERROR>>>"]);
    assert_eq!(got.text, "AAAAAAA…26 tokens truncated…ERROR>>>");
    assert_eq!(got.original_token_count, Some(30));
}

#[test]
fn quiet_needs_new_output_and_then_none() {
    let mut w = window_at(0, 3, &["quiet:100"]);
    w.bytes(0, b"old", at(0));
    assert_eq!(w.step(at(500)), WAIT_FOR_DEADLINE, "nothing new came");
    w.bytes(3, b"n", at(500));
    assert_eq!(w.step(at(500)), Step::Wait { until: Some(at(600)) });
    w.bytes(4, b"ew", at(590));
    assert_eq!(w.step(at(600)), Step::Wait { until: Some(at(690)) });
    assert_eq!(w.step(at(690)), Step::Done(EndedBy::Quiet));
}

#[test]
fn quiet_is_measured_from_when_the_last_byte_came_not_from_when_it_was_read() {
    let mut w = window(&["quiet:100"]);
    w.bytes(0, b"printed long ago", at(5_000));
    w.last_output(at(10));
    assert_eq!(w.step(at(120)), Step::Done(EndedBy::Quiet));
}

#[test]
fn of_quiet_and_deadline_the_earlier_one_ends_the_window() {
    for (came, ended_by) in [(900, EndedBy::Quiet), (901, EndedBy::Deadline)] {
        let mut w = window(&["quiet:100"]);
        w.bytes(0, b"x", at(came));
        assert_eq!(w.step(at(5_000)), Step::Done(ended_by), "last byte at {came}");
    }
}

#[test]
fn regex_looks_at_new_output_only() {
    let mut w = window_at(0, 10, &["regex:ready"]);
    w.bytes(0, b"not ready ", at(1));
    assert_eq!(w.step(at(1)), WAIT_FOR_DEADLINE);
    w.bytes(10, b"get re", at(2));
    w.bytes(16, b"ady\r\nmore", at(2));
    assert_eq!(w.step(at(2)), Step::Done(EndedBy::Regex));
    let got = w.finish();
    assert_eq!(got.matched.as_deref(), Some("ready"));
    assert_eq!(got.text, "not ready get ready\r\nmore", "all that was fed is in, not only up to the match");
}

#[test]
fn a_sequence_or_character_across_the_mark_is_read_whole() {
    let mut w = window_at(0, 4, &["regex:^32mé", "regex:^é"]);
    w.bytes(0, b"ab\x1b[32m", at(1));
    w.bytes(7, "é".as_bytes(), at(1));
    assert_eq!(w.step(at(1)), Step::Done(EndedBy::Regex));
    assert_eq!(w.finish().matched.as_deref(), Some("é"));
}

#[test]
fn output_that_matches_comes_before_the_exit_and_the_deadline() {
    let mut w = window(&["regex:done"]);
    w.bytes(0, b"done\n", at(1));
    w.sealed(Exit::exited(0), 5);
    assert_eq!(w.step(at(2_000)), Step::Done(EndedBy::Regex));
    let got = w.finish();
    assert_eq!((got.exit, got.next), (Some(Exit::exited(0)), 5), "the exit is told with the last bytes");
}

#[test]
fn law_09_a_prompt_counts_by_its_position() {
    let mut w = window_at(0, 10, &["prompt"]);
    w.prompt_at(10);
    w.bytes(0, b"0123456789", at(1));
    assert_eq!(w.step(at(1)), WAIT_FOR_DEADLINE, "a prompt from before the mark");
    w.prompt_at(14);
    w.bytes(10, b"ab", at(1));
    assert_eq!(w.step(at(1)), WAIT_FOR_DEADLINE, "the bytes up to it are not in yet");
    w.bytes(12, b"$ ", at(1));
    assert_eq!(w.step(at(1)), Step::Done(EndedBy::Prompt));
    assert_eq!(w.finish().text, "0123456789ab$ ");
}

#[test]
fn what_was_not_asked_for_ends_nothing() {
    let mut w = window(&["status:idle"]);
    w.bytes(0, b"$ ", at(1));
    w.prompt_at(2);
    w.status("processing");
    assert_eq!(w.step(at(900)), WAIT_FOR_DEADLINE);
    w.status("idle");
    assert_eq!(w.step(at(900)), Step::Done(EndedBy::Status));
}

#[test]
fn law_01_evicted_bytes_are_counted_and_break_what_was_held() {
    let mut w = window(&["regex:ab"]);
    w.bytes(0, b"a\xE2\x98", at(1));
    w.gap(100);
    w.bytes(100, b"\x83b", at(2));
    assert_eq!(w.step(at(2)), WAIT_FOR_DEADLINE);
    let got = w.finish();
    assert_eq!((got.text.as_str(), got.evicted, got.next), ("a\u{FFFD}\u{FFFD}b", 97, 102));
}

#[test]
fn bytes_fed_twice_are_taken_once() {
    let mut w = window_at(5, 5, &[]);
    w.bytes(0, b"01234567", at(1));
    w.bytes(6, b"6789", at(1));
    w.bytes(0, b"012", at(1));
    let got = w.finish();
    assert_eq!((got.text.as_str(), got.from, got.next, got.evicted), ("56789", 5, 10, 0));
}

#[test]
fn without_a_deadline_a_window_waits_for_good() {
    let spec = CollectorSpec {
        from: 0,
        mark: 0,
        cap_tokens: None,
        conditions: vec![],
        quiet_after: QuietAfter::NewOutput,
        started: at(0),
        deadline: None,
    };
    assert_eq!(Collector::new(spec).step(at(u64::MAX)), Step::Wait { until: None });
}
