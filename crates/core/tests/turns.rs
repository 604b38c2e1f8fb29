//! Invariants of the turn machine that the search over interleavings (`model`) takes as given, by their numbers.

use proptest::prelude::*;
use ptyard_core::Moment;
use ptyard_core::turn::{
    AttemptId, Eager, Effect, Event, Evidence, Hold, Keys, Position, Rule, Sight, Source, Status, TurnMachine,
};

const ATTEMPT: AttemptId = AttemptId::new(1);

fn any_evidence() -> impl Strategy<Value = Evidence> {
    let source =
        prop_oneof![Just(Source::Native), Just(Source::Hook), Just(Source::Title), Just(Source::Screen)];
    let status = prop::sample::select(Status::ALL.to_vec());
    let sight = prop_oneof![
        Just(Sight::Unseen),
        Just(Sight::Empty),
        Just(Sight::Draft),
        Just(Sight::Ours(ATTEMPT)),
        Just(Sight::Submitted(ATTEMPT)),
    ];
    (source, status, sight, 0..40_u64).prop_map(|(source, status, sight, at)| {
        let sight = if source == Source::Screen { sight } else { Sight::Unseen };
        Evidence::new(source, Position::Offset(at), status, Rule::named("any")).seeing(sight)
    })
}

/// An agent that is ready, and an attempt whose paste is about to be written.
fn pasting() -> TurnMachine {
    let mut machine = TurnMachine::new(Eager::Off, Moment::EPOCH);
    let ready = Evidence::new(Source::Screen, Position::Offset(1), Status::Idle, Rule::named("ready"))
        .seeing(Sight::Empty);
    machine.step(Event::Seen(ready), Moment::EPOCH);
    machine.step(Event::Dispatch { attempt: ATTEMPT }, Moment::EPOCH);
    let effects = machine.step(Event::Noted { attempt: ATTEMPT }, Moment::EPOCH);
    assert!(effects.contains(&Effect::Paste { attempt: ATTEMPT }));
    machine
}

proptest! {
    /// I8: in the moment in which the paste is handed to whoever writes it, the guard stands: nothing that is seen before
    /// its Enter was written lets another text through.
    #[test]
    fn i08_the_guard_is_there_before_anything_that_the_write_can_cause(
        seen in prop::collection::vec(any_evidence(), 0..20),
        is_pasted in any::<bool>(),
    ) {
        let mut machine = pasting();
        prop_assert_eq!(machine.hold(), Some(Hold::Unconfirmed));
        for evidence in seen {
            machine.step(Event::Seen(evidence), Moment::EPOCH);
            prop_assert_eq!(machine.hold(), Some(Hold::Unconfirmed));
            let other = AttemptId::new(2);
            let effects = machine.step(Event::Dispatch { attempt: other }, Moment::EPOCH);
            let writes = effects.iter().any(|effect| matches!(effect, Effect::Note { .. } | Effect::Paste { .. }));
            prop_assert!(!writes);
        }
        if is_pasted {
            machine.step(Event::Pasted { attempt: ATTEMPT }, Moment::EPOCH);
            // A screen that seems to show it in the conversation already shows another text that is alike.
            prop_assert_eq!(machine.hold(), Some(Hold::Unconfirmed));
            let effects = machine.step(Event::PauseOver { attempt: ATTEMPT }, Moment::EPOCH);
            let asks = machine.report(Moment::EPOCH).status == Status::WaitingUserAnswer;
            let presses = effects.contains(&Effect::Enter { attempt: ATTEMPT });
            prop_assert!(presses || asks);
        }
    }

    /// I20: what a source says of an earlier place than it spoke of already changes nothing, whenever it is told.
    #[test]
    fn i20_positions_never_go_back(
        seen in prop::collection::vec(any_evidence(), 0..30),
        is_written in any::<bool>(),
    ) {
        let start = || {
            if !is_written {
                return TurnMachine::new(Eager::Off, Moment::EPOCH);
            }
            let mut machine = pasting();
            machine.step(Event::Pasted { attempt: ATTEMPT }, Moment::EPOCH);
            machine.step(Event::PauseOver { attempt: ATTEMPT }, Moment::EPOCH);
            machine.step(Event::Entered { attempt: ATTEMPT, mark: 5 }, Moment::EPOCH);
            machine
        };
        let (mut told_all, mut told_in_order) = (start(), start());
        let mut furthest: Vec<(Source, Position)> = if is_written {
            vec![(Source::Screen, Position::Offset(1))]
        } else {
            Vec::new()
        };
        for evidence in seen {
            let (source, at) = (evidence.source, evidence.position);
            let before = furthest.iter_mut().find(|(other, _)| *other == source);
            let goes_back = before.as_ref().is_some_and(|(_, furthest)| furthest.is_after(at));
            let effects = told_all.step(Event::Seen(evidence.clone()), Moment::EPOCH);
            if goes_back {
                prop_assert_eq!(effects, []);
                continue;
            }
            match before {
                Some(before) => before.1 = at,
                None => furthest.push((source, at)),
            }
            prop_assert_eq!(effects, told_in_order.step(Event::Seen(evidence), Moment::EPOCH));
        }
        prop_assert_eq!(told_all, told_in_order);
    }
}

/// Somebody's Enter is told late where a place says only later what it took; by then the agent may be at work, or done.
#[test]
fn i19_a_turn_of_a_person_is_seen_though_its_enter_is_told_late() {
    for (worked_at, is_seen) in [(20, true), (10, false)] {
        let mut machine = TurnMachine::new(Eager::Off, Moment::EPOCH);
        let mut tell = |event| machine.step(event, Moment::EPOCH);
        let native = |at, status| {
            let rule = Rule::named("report");
            Event::Seen(Evidence::new(Source::Native, Position::Offset(at), status, rule))
        };
        tell(native(1, Status::Idle));
        tell(Event::Typed { keys: Keys::Text, mark: 5 });
        tell(native(worked_at, Status::Processing));
        tell(native(30, Status::Completed));
        tell(Event::Typed { keys: Keys::Submit, mark: 10 });
        let hold = (!is_seen).then_some(Hold::HumanTurn);
        assert_eq!(machine.hold(), hold, "it worked at {worked_at}");
    }
}
