use std::task::Waker;

use super::*;

fn seat() -> Seat {
    Seat::new(TerminalId::from_bits(7), Some("/usr/bin/claude"))
}

fn pane(id: &str, terminal: Option<&str>, status: AgentStatus) -> Pane {
    Pane { pane: id.to_owned(), terminal: terminal.map(str::to_owned), tab: None, status: Some(status) }
}

/// Finds it behind so many writes, with nothing told meanwhile.
fn found(seat: &Seat, pane: &Pane, written: u64) {
    assert_eq!(seat.was_found(pane, Before { written, ..seat.before() }), Seen::Now);
}

fn said(seat: &Seat) -> Vec<(Status, u64)> {
    let mut cx = Context::from_waker(Waker::noop());
    let mut all = Vec::new();
    while let Poll::Ready(evidence) = seat.poll_said(&mut cx) {
        let Position::Sequence(at) = evidence.position else { panic!("{evidence:?}") };
        all.push((evidence.status, at));
    }
    all
}

#[test]
fn law_09_what_is_told_before_the_look_behind_a_write_has_the_position_from_before() {
    let seat = seat();
    found(&seat, &pane("1-1", None, AgentStatus::Working), 0);
    seat.hear(AgentStatus::Done);
    seat.wrote();
    seat.hear(AgentStatus::Working);
    found(&seat, &pane("1-1", None, AgentStatus::Working), 1);
    seat.hear(AgentStatus::Done);
    let all = [
        (Status::Unknown, 0),
        (Status::Processing, 0),
        (Status::Completed, 0),
        (Status::Processing, 0),
        (Status::Processing, 1),
        (Status::Completed, 1),
    ];
    assert_eq!(said(&seat), all);
}

#[test]
fn an_answer_that_may_be_from_before_what_was_told_moves_the_boundary_and_says_nothing() {
    let seat = seat();
    found(&seat, &pane("1-1", None, AgentStatus::Working), 0);
    seat.wrote();
    let before = seat.before();
    seat.was_told(AgentStatus::Done);
    assert_eq!(seat.was_found(&pane("1-1", None, AgentStatus::Working), before), Seen::OrBefore);
    assert_eq!(said(&seat).last(), Some(&(Status::Completed, 0)));
    found(&seat, &pane("1-1", None, AgentStatus::Done), 1);
    assert_eq!(said(&seat), [(Status::Completed, 1)]);
}

#[test]
fn idle_says_nothing_of_an_agent_that_was_never_seen_at_work() {
    let seat = seat();
    found(&seat, &pane("1-1", None, AgentStatus::Idle), 0);
    seat.hear(AgentStatus::Working);
    seat.hear(AgentStatus::Idle);
    seat.hear(AgentStatus::Unknown);
    let statuses: Vec<Status> = said(&seat).into_iter().map(|(status, _)| status).collect();
    let worked = [Status::Processing, Status::Completed, Status::Unknown];
    assert_eq!(statuses[statuses.len() - 3..], worked);
    assert!(statuses[..statuses.len() - 3].iter().all(|status| *status == Status::Unknown));
}

#[test]
fn what_nobody_takes_is_bounded_and_the_newest_is_kept() {
    let seat = seat();
    for _ in 0..1000 {
        seat.hear(AgentStatus::Working);
        seat.hear(AgentStatus::Done);
    }
    let all = said(&seat);
    assert_eq!((all.len(), all[SAID - 1].0), (SAID, Status::Completed));
}

#[test]
fn an_event_is_known_by_the_terminal_and_else_by_an_id_that_has_not_moved() {
    let seat = seat();
    found(&seat, &pane("1-2", Some("t9"), AgentStatus::Idle), 0);
    assert!(seat.is_in(&pane("1-1", Some("t9"), AgentStatus::Idle), false), "renumbered");
    assert!(!seat.is_in(&pane("1-2", Some("t3"), AgentStatus::Idle), true), "another has its id");
    assert!(seat.is_in(&pane("1-2", None, AgentStatus::Idle), true));
    assert!(!seat.is_in(&pane("1-2", None, AgentStatus::Idle), false), "ids may have moved");
    seat.herdr_is_gone();
    assert!(!seat.is_in(&pane("1-2", Some("t9"), AgentStatus::Idle), true), "ids of another life");
}

#[test]
fn law_04_only_a_pane_that_was_seen_was_closed_by_somebody() {
    let seat = seat();
    seat.sits_in("1-1".to_owned());
    assert_eq!(seat.is_missing(), Missing::Reopen);
    assert_eq!(seat.is_missing(), Missing::Nothing, "somebody opens one");
    seat.opened();
    found(&seat, &pane("1-1", None, AgentStatus::Idle), 0);
    seat.herdr_is_gone();
    assert_eq!(seat.is_missing(), Missing::Reopen);
    seat.opened();
    found(&seat, &pane("1-1", None, AgentStatus::Idle), 0);
    assert_eq!(seat.is_missing(), Missing::WasClosed);
    assert_eq!(seat.is_missing(), Missing::Nothing);
    assert!(seat.poll_closed(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn a_name_that_would_have_to_be_quoted_is_not_told() {
    assert_eq!(seat().agent.as_deref(), Some("claude"));
    assert_eq!(Seat::new(TerminalId::from_bits(1), Some("/x/my agent")).agent, None);
}
