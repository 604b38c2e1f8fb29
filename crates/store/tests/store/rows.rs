//! Terminals, sessions, events, keys and handoffs come back as they were put.

use std::os::unix::fs::PermissionsExt;

use ptyard_core::{ErrorCode, HandoffId, MessageId, SessionId};
use ptyard_store::sqlite::{EVENTS_KEPT, KEYS_KEPT, MOST_TEXT_BYTES};
use ptyard_store::{
    EventRow, Events, HandoffState, Handoffs, Inbox, KeyClaim, Keys, NewHandoff, SessionName, SessionRow,
    Sessions, Stage, StoreError, TerminalRow, Terminals,
};

use crate::support::{Place, at, message, terminal, wait};

fn row(n: u128) -> TerminalRow {
    TerminalRow {
        id: terminal(n),
        short: SessionId::new(1_000 + n as u32).unwrap(),
        name: n.is_multiple_of(2).then(|| format!("name {n}")),
        session: None,
        stage: Stage::Starting,
        details: format!("{{\"n\":{n}}}"),
    }
}

#[test]
fn terminals_come_back_oldest_first() {
    let place = Place::new();
    for n in [3, 1, 2] {
        wait(place.store.put_terminal(row(n))).unwrap();
    }
    wait(place.store.put_terminal(TerminalRow { stage: Stage::Started, ..row(2) })).unwrap();
    wait(place.store.remove_terminal(terminal(3))).unwrap();
    let place = place.reopened();
    let all = wait(place.store.terminals()).unwrap();
    assert_eq!(all, [row(1), TerminalRow { stage: Stage::Started, ..row(2) }]);
}

#[test]
fn sessions_hold_terminals_and_let_them_go() {
    let place = Place::new();
    let name = SessionName::new("team").unwrap();
    let session = SessionRow { name: name.clone(), conductor: None, created_at: at(5) };
    let with_session = TerminalRow { session: Some(name.clone()), ..row(1) };
    assert!(wait(place.store.put_terminal(with_session.clone())).is_err(), "there is no such session");
    wait(place.store.put_session(session.clone())).unwrap();
    wait(place.store.put_terminal(with_session)).unwrap();
    let led = SessionRow { conductor: Some(terminal(1)), created_at: at(9), ..session.clone() };
    wait(place.store.put_session(led)).unwrap();
    let told = wait(place.store.sessions()).unwrap();
    assert_eq!(told, [SessionRow { conductor: Some(terminal(1)), ..session.clone() }]);
    wait(place.store.remove_terminal(terminal(1))).unwrap();
    assert_eq!(wait(place.store.sessions()).unwrap(), [session]);
    wait(place.store.put_terminal(TerminalRow { session: Some(name.clone()), ..row(2) })).unwrap();
    wait(place.store.remove_session(name)).unwrap();
    assert_eq!(wait(place.store.terminals()).unwrap(), [row(2)]);
}

fn event(seq: u64) -> EventRow {
    EventRow {
        seq,
        at: at(seq),
        kind: "started".to_owned(),
        terminal: Some(terminal(1)),
        data: "{}".to_owned(),
    }
}

#[test]
fn events_are_read_from_a_number_on_and_the_oldest_are_forgotten() {
    let place = Place::new();
    assert_eq!(wait(place.store.reserve_events(100)).unwrap(), 100);
    assert_eq!(wait(place.store.reserve_events(50)).unwrap(), 100, "numbers are taken once");
    wait(place.store.release_events(80)).unwrap();
    wait(place.store.release_events(90)).unwrap();
    assert_eq!(wait(place.store.reserve_events(0)).unwrap(), 80);
    wait(place.store.append_events((1..=20).map(event).collect())).unwrap();
    wait(place.store.append_events(vec![event(20), event(21)])).unwrap();
    let place = place.reopened();
    let page = wait(place.store.events_since(18, 2)).unwrap();
    assert_eq!((page.events, page.oldest), (vec![event(19), event(20)], Some(1)));
    wait(place.store.append_events(vec![event(EVENTS_KEPT + 10)])).unwrap();
    let page = wait(place.store.events_since(0, 3)).unwrap();
    assert_eq!((page.events, page.oldest), (vec![event(11), event(12), event(13)], Some(11)));
}

#[test]
fn law_07_keys_are_kept_per_terminal_and_the_oldest_forgotten() {
    let place = Place::new();
    wait(place.store.put_terminal(row(1))).unwrap();
    wait(place.store.put_terminal(row(2))).unwrap();
    let claim = |place: &Place, n: u128, key: &str, digest| {
        wait(place.store.claim_key(terminal(n), key.to_owned(), digest))
    };
    assert_eq!(claim(&place, 1, "k", u64::MAX).unwrap(), KeyClaim::New);
    let place = place.reopened();
    assert_eq!(claim(&place, 1, "k", u64::MAX).unwrap(), KeyClaim::Seen(None));
    assert_eq!(claim(&place, 1, "k", 1).unwrap_err().code(), ErrorCode::KeyConflict);
    assert_eq!(claim(&place, 2, "k", 1).unwrap(), KeyClaim::New);
    wait(place.store.settle_key(terminal(1), "k".to_owned(), "typed".to_owned())).unwrap();
    assert_eq!(claim(&place, 1, "k", u64::MAX).unwrap(), KeyClaim::Seen(Some("typed".to_owned())));
    wait(place.store.free_key(terminal(2), "k".to_owned())).unwrap();
    assert_eq!(claim(&place, 2, "k", 9).unwrap(), KeyClaim::New);
    for n in 0..KEYS_KEPT {
        assert_eq!(claim(&place, 1, &n.to_string(), 0).unwrap(), KeyClaim::New);
    }
    assert_eq!(claim(&place, 1, "0", 0).unwrap(), KeyClaim::Seen(None));
    assert_eq!(claim(&place, 1, "k", 7).unwrap(), KeyClaim::New, "the oldest was forgotten");
    assert_eq!(claim(&place, 2, "k", 9).unwrap(), KeyClaim::Seen(None), "another terminal's are its own");
}

#[test]
fn a_handoff_has_one_result() {
    let place = Place::new();
    let handoff = NewHandoff { caller: Some(terminal(1)), worker: terminal(2), message: None, at: at(3) };
    let (posted, id) = wait(place.store.post_handoff(message(2, "do it"), handoff.clone())).unwrap();
    let handoff = NewHandoff { message: Some(posted.id), ..handoff };
    let open = wait(place.store.open_handoffs()).unwrap();
    assert_eq!((open.len(), open[0].id, &open[0].handoff), (1, id, &handoff));
    wait(place.store.close_handoff(id, HandoffState::Done, "42".to_owned())).unwrap();
    let again = wait(place.store.close_handoff(id, HandoffState::Failed, "no".to_owned()));
    assert_eq!(again, Err(StoreError::HandoffOver(id)));
    let missing = HandoffId::new(99);
    let none = wait(place.store.close_handoff(missing, HandoffState::Done, String::new()));
    assert_eq!(none, Err(StoreError::UnknownHandoff(missing)));
    let told = wait(place.store.handoff(id)).unwrap().unwrap();
    assert_eq!((told.state, told.result.as_deref()), (HandoffState::Done, Some("42")));
    wait(place.store.cancel(posted.id)).unwrap();
    wait(place.store.forget_settled(0)).unwrap();
    assert_eq!(wait(place.store.handoff(id)).unwrap().unwrap().handoff.message, None);
    assert_eq!(wait(place.store.message(MessageId::new(1))).unwrap(), None);
}

#[test]
fn law_13_work_and_its_handoff_are_written_down_together_or_not_at_all() {
    let place = Place::new();
    let handoff = NewHandoff { caller: None, worker: terminal(2), message: None, at: at(3) };
    let (posted, id) = wait(place.store.post_handoff(message(2, "do it"), handoff.clone())).unwrap();
    let told = wait(place.store.handoff(id)).unwrap().unwrap();
    assert_eq!(told.handoff, NewHandoff { message: Some(posted.id), ..handoff.clone() });
    let too_long = "x".repeat(MOST_TEXT_BYTES + 1);
    let refused = wait(place.store.post_handoff(message(2, &too_long), handoff));
    assert!(matches!(refused, Err(StoreError::TextTooLong { .. })), "{refused:?}");
    assert_eq!(wait(place.store.open_handoffs()).unwrap().len(), 1);
    let of_caller = |caller| wait(place.store.handoffs_of(caller, 10)).unwrap();
    assert_eq!((of_caller(None).len(), of_caller(Some(terminal(1))).len()), (1, 0));
}

#[test]
fn every_file_is_readable_by_its_owner_only() {
    let place = Place::new();
    wait(place.store.post(message(1, "secret"))).unwrap();
    let files: Vec<_> = std::fs::read_dir(place.directory.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(files.len(), 3, "the database, its log of writes and the index of that");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", file.path());
    }
}
