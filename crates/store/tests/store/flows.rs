//! Flows and their runs.

use ptyard_core::FlowRunId;
use ptyard_store::sqlite::FLOW_RUNS_KEPT;
use ptyard_store::{Cause, ClaimedFlow, DueFlow, FlowRow, FlowRunState, Flows, Inbox, Run, StoreError};

use crate::support::{Place, at, message, terminal, wait};

const NAME: &str = "nightly";

fn flow() -> FlowRow {
    FlowRow {
        name: NAME.to_owned(),
        cron: "0 3 * * *".to_owned(),
        zone: "Europe/Paris".to_owned(),
        agent: r#"{"profile":"reviewer"}"#.to_owned(),
        text: "look".to_owned(),
        run: Run::Scheduled,
        created_at: at(5),
        done_until: at(5),
    }
}

fn due(done_until: u64, until: u64) -> DueFlow {
    DueFlow {
        name: NAME.to_owned(),
        done_until: at(done_until),
        until: at(until),
        missed: None,
        moment: Some(at(until)),
        at: at(until + 1),
    }
}

fn claim(place: &Place, due: DueFlow) -> Option<ClaimedFlow> {
    wait(place.store.claim_flow(due)).unwrap()
}

#[test]
fn a_moment_is_claimed_once_and_not_while_the_flow_is_paused() {
    let place = Place::new();
    wait(place.store.add_flow(flow())).unwrap();
    assert_eq!(wait(place.store.add_flow(flow())), Err(StoreError::FlowTaken(NAME.to_owned())));
    let run = claim(&place, due(5, 10)).unwrap().run.unwrap();
    assert_eq!((run.state, run.cause, run.moment), (FlowRunState::Starting, Cause::Schedule, Some(at(10))));
    assert_eq!(claim(&place, due(5, 10)), None, "somebody else ran it");
    assert_eq!(
        wait(place.store.set_flow_run(NAME.to_owned(), Run::Paused, at(15))).unwrap().done_until,
        at(10)
    );
    assert_eq!(claim(&place, due(10, 20)), None);
    let resumed = wait(place.store.set_flow_run(NAME.to_owned(), Run::Scheduled, at(30))).unwrap();
    assert_eq!((resumed.run, resumed.done_until), (Run::Scheduled, at(30)), "what passed meanwhile is done");
    let again = wait(place.store.set_flow_run(NAME.to_owned(), Run::Scheduled, at(40))).unwrap();
    assert_eq!(again.done_until, at(30), "it was not paused");
    let place = place.reopened();
    assert_eq!(wait(place.store.flows()).unwrap(), [FlowRow { done_until: at(30), ..flow() }]);
    assert_eq!(wait(place.store.remove_flow(NAME.to_owned())).unwrap().created_at, at(5));
    let none = Err(StoreError::UnknownFlow(NAME.to_owned()));
    assert_eq!(wait(place.store.remove_flow(NAME.to_owned())), none);
    assert_eq!(wait(place.store.flow_run(run.id)).unwrap(), None, "its runs go with it");
}

#[test]
fn a_flow_has_one_run_at_a_time() {
    let place = Place::new();
    wait(place.store.add_flow(flow())).unwrap();
    let first = claim(&place, due(5, 10)).unwrap().run.unwrap();
    let second = claim(&place, due(10, 20)).unwrap().run.unwrap();
    assert_eq!((second.state, second.ended_at), (FlowRunState::Overlap, Some(at(21))));
    assert!(second.note.unwrap().starts_with(&first.id.to_string()));
    let refused = wait(place.store.begin_flow_run(NAME.to_owned(), at(25)));
    assert_eq!(refused, Err(StoreError::FlowRunning { flow: NAME.to_owned(), run: first.id }));
    let note =
        |state, text: &str| wait(place.store.note_flow_run(first.id, state, Some(text.to_owned()), at(50)));
    assert_eq!(note(FlowRunState::Held, "it asks").unwrap().ended_at, None);
    assert_eq!(wait(place.store.open_flow_runs()).unwrap().len(), 1);
    assert_eq!(note(FlowRunState::Completed, "42").unwrap().ended_at, Some(at(50)));
    assert_eq!(note(FlowRunState::Failed, "no"), Err(StoreError::FlowRunOver(first.id)));
    let asked = wait(place.store.begin_flow_run(NAME.to_owned(), at(60))).unwrap();
    assert_eq!((asked.cause, asked.moment), (Cause::Asked, None));
    let runs = wait(place.store.flow_runs(NAME.to_owned(), 2)).unwrap();
    assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [asked.id, second.id]);
}

#[test]
fn law_13_the_work_of_a_run_is_posted_with_it_or_not_at_all() {
    let place = Place::new();
    wait(place.store.add_flow(flow())).unwrap();
    let run = wait(place.store.begin_flow_run(NAME.to_owned(), at(6))).unwrap();
    let (running, posted) = wait(place.store.post_flow_run(run.id, message(3, "look"))).unwrap();
    assert_eq!((running.state, running.terminal), (FlowRunState::Running, Some(terminal(3))));
    assert_eq!(running.message, Some(posted.id));
    let again = wait(place.store.post_flow_run(run.id, message(3, "look again")));
    assert_eq!(again, Err(StoreError::FlowRunOver(run.id)));
    let unknown = FlowRunId::new(99);
    let none = wait(place.store.post_flow_run(unknown, message(3, "and again")));
    assert_eq!(none, Err(StoreError::UnknownFlowRun(unknown)));
    assert_eq!(wait(place.store.mailbox(terminal(3))).unwrap().pending, 1, "what was refused left nothing");
}

#[test]
fn missed_moments_are_one_line_and_old_runs_are_forgotten() {
    let place = Place::fast();
    wait(place.store.add_flow(flow())).unwrap();
    let missed = Some((at(10), 7, "no server ran".to_owned()));
    let claimed = claim(&place, DueFlow { missed, moment: None, ..due(5, 80) }).unwrap();
    let told = claimed.missed.unwrap();
    assert_eq!((told.state, told.count, told.moment), (FlowRunState::Missed, 7, Some(at(10))));
    assert_eq!(claimed.run, None);
    for n in 0..u64::from(FLOW_RUNS_KEPT) + 5 {
        let run = wait(place.store.begin_flow_run(NAME.to_owned(), at(100 + n))).unwrap();
        wait(place.store.note_flow_run(run.id, FlowRunState::Completed, None, at(100 + n))).unwrap();
    }
    let kept = wait(place.store.flow_runs(NAME.to_owned(), 1_000)).unwrap();
    assert!((FLOW_RUNS_KEPT..=FLOW_RUNS_KEPT + 1).contains(&(kept.len() as u32)), "{}", kept.len());
}
