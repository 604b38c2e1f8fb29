use proptest::prelude::*;

use super::*;

const fn at(ms: u64) -> Moment {
    Moment::from_millis(ms)
}

#[test]
fn law_04_an_exit_that_is_visible_early_ends_nothing_until_end_of_file() {
    let mut end = EndRule::new();
    end.exited(Exit::exited(3), at(0));
    end.output(at(150));
    assert_eq!(end.look(at(150), 0), EndStep::Wait(Some(at(1_150))));
    end.output_closed();
    assert_eq!(end.look(at(151), 0), EndStep::Seal(Exit::exited(3)));
}

#[test]
fn law_04_no_data_yet_is_not_the_end() {
    let mut end = EndRule::new();
    end.output(at(0));
    assert_eq!(end.look(at(1_000_000), 0), EndStep::Wait(None));
}

#[test]
fn law_04_closed_stdio_of_a_living_process_ends_nothing() {
    let mut end = EndRule::new();
    end.output_closed();
    assert_eq!(end.look(at(60_000), 1), EndStep::Wait(None));
    end.exited(Exit::signaled(15), at(60_001));
    assert_eq!(end.look(at(60_001), 0), EndStep::Seal(Exit::signaled(15)));
}

#[test]
fn law_04_an_end_is_reported_once() {
    let mut end = EndRule::new();
    end.exited(Exit::exited(0), at(0));
    end.output_closed();
    assert!(matches!(end.look(at(0), 0), EndStep::Seal(_)));
    end.exited(Exit::exited(1), at(1));
    end.output_closed();
    assert_eq!(end.look(at(1_000), 0), EndStep::Wait(None));
}

#[test]
fn law_04_an_unknown_end_stays_unknown() {
    let mut end = EndRule::new();
    end.exited(Exit::lost(), at(0));
    end.output_closed();
    assert_eq!(end.look(at(0), 0), EndStep::Seal(Exit::lost()));
}

#[test]
fn r20_a_last_chunk_of_a_relay_is_waited_for() {
    let mut end = EndRule::new();
    end.output(at(0));
    end.exited(Exit::exited(0), at(1));
    assert!(matches!(end.look(at(501), 0), EndStep::Wait(Some(_))));
    end.output(at(502));
    end.output_closed();
    assert_eq!(end.look(at(502), 0), EndStep::Seal(Exit::exited(0)));
}

#[test]
fn r11_r12_the_last_byte_after_the_exit_is_waited_for() {
    // The exit is visible while the second byte of a character is still on its way through a held-up pump.
    let mut end = EndRule::new();
    end.output(at(0));
    end.exited(Exit::exited(0), at(1));
    assert_eq!(end.look(at(1), 0), EndStep::Wait(Some(at(1_001))));
    end.output(at(199));
    assert_eq!(end.look(at(201), 0), EndStep::Wait(Some(at(1_199))));
    end.output_closed();
    assert_eq!(end.look(at(201), 0), EndStep::Seal(Exit::exited(0)));
}

#[test]
fn r23_a_descendant_that_holds_the_terminal_does_not_hide_the_exit() {
    let mut end = EndRule::new();
    end.output(at(5));
    end.exited(Exit::exited(0), at(10));
    assert_eq!(end.look(at(209), 1), EndStep::Wait(Some(at(210))));
    let EndStep::Seal(exit) = end.look(at(210), 1) else { panic!("quiet for the grace") };
    assert_eq!((exit.code, exit.descendants), (Some(0), 1), "the report says so");
}

#[test]
fn r23_a_descendant_that_prints_on_and_on_does_not_hide_the_exit() {
    let mut end = EndRule::new();
    end.exited(Exit::exited(0), at(0));
    for ms in (0..5_000).step_by(100) {
        end.output(at(ms));
        assert!(matches!(end.look(at(ms), 1), EndStep::Wait(Some(_))), "at {ms} ms");
    }
    end.output(at(5_000));
    assert!(matches!(end.look(at(5_000), 1), EndStep::Seal(_)));
}

#[test]
fn r23_without_descendants_output_is_the_programs_own_and_is_waited_for() {
    let mut end = EndRule::new();
    end.exited(Exit::exited(0), at(0));
    end.output(at(5_000));
    assert_eq!(end.look(at(5_000), 0), EndStep::Wait(Some(at(6_000))));
}

#[derive(Debug, Clone)]
enum Event {
    Output,
    Closed,
    Exited(i32),
    Look(u32),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => Just(Event::Output),
        1 => Just(Event::Closed),
        1 => (0..3).prop_map(Event::Exited),
        5 => (0u32..2).prop_map(Event::Look),
    ]
}

proptest! {
    #[test]
    fn law_04_holds_in_every_order_of_events(
        events in prop::collection::vec((0u64..300, event()), 0..40),
    ) {
        let mut end = EndRule::new();
        let (mut now, mut last, mut closed, mut first_exit, mut sealed) = (0, 0, false, None, false);
        for (pause, event) in events {
            now += pause;
            match event {
                Event::Output => { end.output(at(now)); last = now; }
                Event::Closed => { end.output_closed(); closed = true; }
                Event::Exited(code) => {
                    end.exited(Exit::exited(code), at(now));
                    first_exit.get_or_insert((code, now));
                }
                Event::Look(descendants) => {
                    let drained = first_exit.map(|(_, reaped)| {
                        let last = last.max(reaped);
                        if closed { 0 } else if descendants > 0 { (last + 200).min(reaped + 5_000) } else { last + 1_000 }
                    });
                    match end.look(at(now), descendants) {
                        EndStep::Seal(exit) => {
                            prop_assert!(!sealed, "once");
                            prop_assert_eq!(exit.code, first_exit.map(|(code, _)| code));
                            prop_assert_eq!(exit.descendants, descendants);
                            prop_assert!(drained.is_some_and(|drained| drained <= now));
                            sealed = true;
                        }
                        EndStep::Wait(Some(until)) => {
                            prop_assert!(!sealed && until > at(now));
                            prop_assert_eq!(drained.map(at), Some(until));
                        }
                        EndStep::Wait(None) => prop_assert!(sealed || first_exit.is_none()),
                    }
                }
            }
        }
    }
}
