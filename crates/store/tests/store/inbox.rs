//! The rules of the inbox, one by one.

use ptyard_core::{ErrorCode, MessageId};
use ptyard_store::inbox::{
    Batch, Batching, Claim, Due, MOST_DEAD_LETTERS, MessageState, NewMessage, OpenTurn, Origin, Page,
    Purpose, Select, Turn, Urgency,
};
use ptyard_store::sqlite::{MOST_PENDING, MOST_TEXT_BYTES};
use ptyard_store::{Inbox, StoreError};

use crate::support::{Place, at, message, next, owner, receipt, terminal, wait};

fn state(place: &Place, id: MessageId) -> MessageState {
    wait(place.store.message(id)).unwrap().unwrap().state
}

#[test]
fn order_is_that_of_acceptance_when_the_clock_is_set_back_a_day() {
    let place = Place::new();
    let day = 86_400_000;
    for (text, ms) in [("first", 2 * day), ("second", day), ("third", 0)] {
        wait(place.store.post(NewMessage { at: at(ms), ..message(1, text) })).unwrap();
    }
    for text in ["first", "second", "third"] {
        let attempt = wait(place.store.claim(next(1))).unwrap().unwrap();
        assert_eq!(attempt.messages[0].text, text);
        wait(place.store.confirm(attempt.id, receipt())).unwrap();
    }
    let all = wait(place.store.messages(Select::default(), Page::default())).unwrap();
    assert_eq!(all.iter().map(|message| message.seq).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(wait(place.store.claim(next(1))).unwrap().is_none());
}

#[test]
fn law_08_a_receiver_has_one_attempt_and_others_do_not_wait_for_it() {
    let place = Place::new();
    for to in [1, 1, 2] {
        wait(place.store.post(message(to, "x"))).unwrap();
    }
    let first = wait(place.store.claim(next(1))).unwrap().unwrap();
    assert!(wait(place.store.claim(next(1))).unwrap().is_none(), "a second attempt of the same receiver");
    assert!(wait(place.store.claim(next(2))).unwrap().is_some());
    wait(place.store.lose(first.id, "nobody knows".to_owned())).unwrap();
    assert!(wait(place.store.claim(next(1))).unwrap().is_some(), "uncertain mail holds up nobody");
}

#[test]
fn law_10_what_is_said_about_an_attempt_touches_no_other() {
    let place = Place::new();
    let a = wait(place.store.post(message(1, "a"))).unwrap().id;
    let first = wait(place.store.claim(next(1))).unwrap().unwrap();
    wait(place.store.lose(first.id, "died".to_owned())).unwrap();
    wait(place.store.retry(a)).unwrap();
    let second = wait(place.store.claim(next(1))).unwrap().unwrap();
    assert_eq!(second.messages[0].id, a);
    // The first attempt is told of late: the message is the second's now.
    wait(place.store.confirm(first.id, receipt())).unwrap();
    assert_eq!(state(&place, a), MessageState::Dispatching);
    assert_eq!(wait(place.store.fail(first.id, "no".to_owned())), Err(StoreError::AttemptOver(first.id)));
    assert_eq!(state(&place, a), MessageState::Dispatching);
    wait(place.store.confirm(second.id, receipt())).unwrap();
    wait(place.store.complete_turn(second.id)).unwrap();
    let told = wait(place.store.message(a)).unwrap().unwrap();
    assert_eq!((told.state, told.turn, told.attempts), (MessageState::Delivered, Some(Turn::Completed), 2));
    assert_eq!((told.evidence.as_deref(), told.offset), (Some("screen"), Some(77)));
}

#[test]
fn law_13_after_a_crash_the_next_server_decides_what_became_of_an_attempt() {
    let place = Place::new();
    for (to, text) in [(1, "not typed"), (2, "perhaps typed"), (3, "seen to arrive")] {
        wait(place.store.post(message(to, text))).unwrap();
        wait(place.store.claim(next(to))).unwrap().unwrap();
    }
    let place = place.reopened();
    assert_eq!(wait(place.store.take_over(owner("server 1"))).unwrap(), [], "its own work goes on");
    let left = wait(place.store.take_over(owner("server 2"))).unwrap();
    assert_eq!(left.iter().map(|one| one.receiver).collect::<Vec<_>>(), [1, 2, 3].map(terminal));
    assert!(wait(place.store.claim(next(1))).unwrap().is_none(), "it is still open");
    wait(place.store.abort(left[0].id, "server_died".to_owned())).unwrap();
    wait(place.store.lose(left[1].id, "server_died".to_owned())).unwrap();
    wait(place.store.confirm(left[2].id, receipt())).unwrap();
    let states: Vec<_> = left.iter().map(|one| state(&place, one.messages[0].id)).collect();
    assert_eq!(states, [MessageState::Pending, MessageState::Uncertain, MessageState::Delivered]);
    assert_eq!(wait(place.store.take_over(owner("server 3"))).unwrap(), []);
    let open = OpenTurn { attempt: left[2].id, offset: Some(77) };
    assert_eq!(wait(place.store.open_turn(terminal(3))).unwrap(), Some(open));
    wait(place.store.complete_turn(left[2].id)).unwrap();
    assert_eq!(wait(place.store.open_turn(terminal(3))).unwrap(), None);
    assert_eq!(wait(place.store.open_turn(terminal(2))).unwrap(), None);
}

#[test]
fn aborted_mail_keeps_its_place_before_what_came_later() {
    let place = Place::new();
    wait(place.store.post(message(1, "first"))).unwrap();
    let attempt = wait(place.store.claim(next(1))).unwrap().unwrap();
    wait(place.store.post(message(1, "second"))).unwrap();
    wait(place.store.abort(attempt.id, "the program did not read".to_owned())).unwrap();
    let again = wait(place.store.claim(next(1))).unwrap().unwrap();
    assert_eq!((again.messages[0].text.as_str(), again.messages[0].attempts), ("first", 2));
}

#[test]
fn a_run_is_of_one_sender_and_work_is_never_in_one() {
    let place = Place::new();
    let from = |sender: u128, purpose, text: &str| NewMessage {
        from: Some(terminal(sender)),
        purpose,
        ..message(1, text)
    };
    let called = |origin, text: &str| NewMessage { origin, ..message(1, text) };
    let ui = || Some(Origin::Client("ui".to_owned()));
    let all = [
        from(8, Purpose::Message, "a"),
        from(8, Purpose::Message, "b"),
        from(9, Purpose::Message, "c"),
        from(8, Purpose::Message, "d"),
        from(8, Purpose::Handoff, "e"),
        from(8, Purpose::Handoff, "f"),
        called(None, "g"),
        called(ui(), "h"),
        called(ui(), "i"),
        called(Some(Origin::Flow("ui".to_owned())), "j"),
    ];
    for one in all {
        wait(place.store.post(one)).unwrap();
    }
    let run = Claim { batch: Batch::Run { most: 100, bytes: 1_000 }, ..next(1) };
    let mut runs = Vec::new();
    while let Some(attempt) = wait(place.store.claim(run.clone())).unwrap() {
        runs.push(attempt.messages.iter().map(|message| message.text.clone()).collect::<String>());
        wait(place.store.confirm(attempt.id, receipt())).unwrap();
    }
    assert_eq!(runs, ["ab", "c", "d", "e", "f", "g", "hi", "j"]);
}

#[test]
fn a_run_has_no_byte_and_no_message_more_than_it_may() {
    for (most, bytes, taken) in [(9, 6, 3), (9, 5, 2), (2, 6, 2), (0, 6, 1), (9, 1, 1)] {
        let place = Place::fast();
        for _ in 0..4 {
            wait(place.store.post(message(1, "ä"))).unwrap();
        }
        let run = Claim { batch: Batch::Run { most, bytes }, ..next(1) };
        let attempt = wait(place.store.claim(run)).unwrap().unwrap();
        assert_eq!(attempt.messages.len(), taken, "{most} messages, {bytes} bytes");
    }
}

#[test]
fn late_evidence_does_not_bring_back_what_a_person_cancelled() {
    let place = Place::new();
    let id = wait(place.store.post(message(1, "x"))).unwrap().id;
    let attempt = wait(place.store.claim(next(1))).unwrap().unwrap();
    wait(place.store.lose(attempt.id, "?".to_owned())).unwrap();
    wait(place.store.cancel(id)).unwrap();
    wait(place.store.confirm(attempt.id, receipt())).unwrap();
    assert_eq!(state(&place, id), MessageState::Cancelled);
}

#[test]
fn urgent_mail_is_due_while_the_agent_is_busy_and_the_rest_is_not() {
    let place = Place::new();
    wait(place.store.post(message(1, "later"))).unwrap();
    wait(place.store.post(NewMessage { urgency: Urgency::Now, ..message(1, "now") })).unwrap();
    let busy = Claim { due: Due::Urgent, ..next(1) };
    let attempt = wait(place.store.claim(busy.clone())).unwrap().unwrap();
    assert_eq!(attempt.messages[0].text, "now");
    wait(place.store.confirm(attempt.id, receipt())).unwrap();
    assert!(wait(place.store.claim(busy)).unwrap().is_none());
}

#[test]
fn urgent_mail_goes_first_and_in_the_order_in_which_it_came() {
    let place = Place::new();
    let urgent = |text: &str| NewMessage { urgency: Urgency::Now, ..message(1, text) };
    for one in [message(1, "a"), urgent("b"), message(1, "c"), urgent("d")] {
        wait(place.store.post(one)).unwrap();
    }
    let run = Claim { batch: Batch::Run { most: 100, bytes: 1_000 }, ..next(1) };
    let mut runs = Vec::new();
    while let Some(attempt) = wait(place.store.claim(run.clone())).unwrap() {
        runs.push(attempt.messages.iter().map(|message| message.text.clone()).collect::<String>());
        wait(place.store.confirm(attempt.id, receipt())).unwrap();
    }
    assert_eq!(runs, ["bd", "ac"]);
}

#[test]
fn how_much_an_attempt_takes_is_kept_with_the_inbox() {
    let place = Place::new();
    let batching = |place: &Place| wait(place.store.mailbox(terminal(1))).unwrap().batching;
    assert_eq!(batching(&place), Batching::One);
    wait(place.store.set_batching(terminal(1), Batching::Drain)).unwrap();
    assert_eq!(wait(place.store.post(message(1, "x"))).unwrap().seq, 1);
    let place = place.reopened();
    assert_eq!(batching(&place), Batching::Drain);
    wait(place.store.set_batching(terminal(1), Batching::One)).unwrap();
    assert_eq!(batching(&place), Batching::One);
    assert_eq!(wait(place.store.post(message(1, "x"))).unwrap().seq, 2);
}

#[test]
fn dead_letters_are_given_up_some_at_a_time_and_nothing_else_is() {
    let place = Place::new();
    let most = u64::from(MOST_DEAD_LETTERS);
    for _ in 0..most + 3 {
        wait(place.store.post(message(1, "x"))).unwrap();
    }
    let other = wait(place.store.post(message(2, "x"))).unwrap().id;
    let claimed = wait(place.store.claim(next(1))).unwrap().unwrap();
    let give_up = || wait(place.store.give_up(terminal(1), "receiver_exited".to_owned())).unwrap();
    let (first, second) = (give_up(), give_up());
    assert_eq!([first.len() as u64, second.len() as u64], [most, 2]);
    assert!(first.iter().chain(&second).all(|one| one.reason.as_deref() == Some("receiver_exited")));
    assert_eq!(give_up(), []);
    assert_eq!(state(&place, claimed.messages[0].id), MessageState::Dispatching);
    assert_eq!(state(&place, other), MessageState::Pending);
    // What comes back is given up as well.
    wait(place.store.abort(claimed.id, "exited".to_owned())).unwrap();
    assert_eq!(give_up().len(), 1);
}

#[test]
fn a_key_stands_for_one_message_and_for_no_other() {
    let place = Place::new();
    let keyed = |to, text| NewMessage { key: Some("k".to_owned()), ..message(to, text) };
    let first = wait(place.store.post(keyed(1, "x"))).unwrap();
    let place = place.reopened();
    let again = wait(place.store.post(keyed(1, "x"))).unwrap();
    assert_eq!((again.id, again.seq, again.repeated), (first.id, first.seq, true));
    assert_eq!(wait(place.store.post(keyed(1, "y"))).unwrap_err().code(), ErrorCode::KeyConflict);
    assert!(!wait(place.store.post(keyed(2, "y"))).unwrap().repeated, "another inbox");
    let another = NewMessage { origin: Some(Origin::Client("ui".to_owned())), ..keyed(1, "x") };
    assert_eq!(wait(place.store.post(another)).unwrap_err().code(), ErrorCode::KeyConflict);
}

#[test]
fn bounds_are_told() {
    let place = Place::new();
    let long = "x".repeat(MOST_TEXT_BYTES + 1);
    assert_eq!(wait(place.store.post(message(1, &long))).unwrap_err().code(), ErrorCode::InputTooLarge);
    wait(place.store.post(message(1, &long[1..]))).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut posts = tokio::task::JoinSet::new();
        let store = std::sync::Arc::new(place.store);
        for _ in 0..MOST_PENDING + 10 {
            let store = std::sync::Arc::clone(&store);
            posts.spawn(async move { store.post(message(2, "x")).await });
        }
        let refused = posts.join_all().await.into_iter().filter_map(Result::err).collect::<Vec<_>>();
        assert_eq!(refused.len(), 10);
        assert!(refused.iter().all(|error| error.code() == ErrorCode::InboxFull), "{refused:?}");
    });
}

#[test]
fn retention_never_forgets_mail_that_waits_or_is_uncertain() {
    let place = Place::new();
    for n in 0..10 {
        let id = wait(place.store.post(message(1, "x"))).unwrap().id;
        if n % 3 == 0 {
            wait(place.store.cancel(id)).unwrap();
        }
    }
    let attempt = wait(place.store.claim(next(1))).unwrap().unwrap();
    wait(place.store.lose(attempt.id, "?".to_owned())).unwrap();
    assert_eq!(wait(place.store.forget_settled(1)).unwrap(), 3);
    assert_eq!(wait(place.store.forget_settled(0)).unwrap(), 1);
    let left = wait(place.store.messages(Select::default(), Page::default())).unwrap();
    assert_eq!(left.len(), 6);
    assert_eq!(wait(place.store.mailbox(terminal(1))).unwrap().pending, 5);
    assert_eq!(wait(place.store.post(message(1, "x"))).unwrap().seq, 11, "numbers go on");
}

#[test]
fn pages_follow_each_other_without_gap_or_overlap() {
    let place = Place::new();
    for n in 0..25_u128 {
        wait(place.store.post(message(n % 2, "x"))).unwrap();
    }
    let select = Select { receiver: Some(terminal(0)), states: vec![MessageState::Pending] };
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = wait(place.store.messages(select.clone(), Page { after, most: 4 })).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        seen.extend(page.into_iter().map(|message| message.seq));
    }
    assert_eq!(seen, (1..=13).collect::<Vec<_>>());
    let oldest = wait(place.store.mailbox(terminal(0))).unwrap().oldest.unwrap();
    assert_eq!(oldest, (MessageId::new(1), at(1_000)));
}
