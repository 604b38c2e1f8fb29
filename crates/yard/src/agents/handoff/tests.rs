use std::time::SystemTime;

use ptyard_store::inbox::{Purpose, Urgency};
use ptyard_store::sqlite::SqliteStore;
use ptyard_testkit::soon;
use tokio::sync::{mpsc, oneshot};

use super::*;

const BOSS: TerminalId = TerminalId::from_bits(1);
const WORKER: TerminalId = TerminalId::from_bits(2);

/// Workers whose turns end when a test says so.
struct Fake {
    asked: mpsc::Sender<oneshot::Sender<TurnOver>>,
    dismissed: mpsc::Sender<TerminalId>,
}

impl Workers for Fake {
    fn turn_over(
        &self,
        _: TerminalId,
        _: Option<MessageId>,
    ) -> Pin<Box<dyn Future<Output = TurnOver> + Send + '_>> {
        let (end, over) = oneshot::channel();
        self.asked.try_send(end).unwrap();
        Box::pin(async move {
            match over.await {
                Ok(over) => over,
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn dismiss(&self, worker: TerminalId) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.dismissed.try_send(worker).unwrap();
        Box::pin(async {})
    }
}

struct Stage {
    handoffs: Handoffs,
    turns: mpsc::Receiver<oneshot::Sender<TurnOver>>,
    dismissed: mpsc::Receiver<TerminalId>,
}

/// A server on the store at `path`.
fn server(path: &std::path::Path) -> Stage {
    let (asked, turns) = mpsc::channel(8);
    let (gone, dismissed) = mpsc::channel(8);
    let store = Arc::new(SqliteStore::open(path).unwrap());
    Stage { handoffs: Handoffs::new(store, Arc::new(Fake { asked, dismissed: gone })), turns, dismissed }
}

fn work(to: TerminalId) -> NewMessage {
    NewMessage {
        to,
        from: Some(BOSS),
        origin: None,
        purpose: Purpose::Handoff,
        text: "do it".to_owned(),
        key: None,
        urgency: Urgency::Ready,
        at: SystemTime::UNIX_EPOCH,
    }
}

/// A handoff that was begun.
async fn begun(handoffs: &Handoffs, worker: TerminalId, afterwards: Afterwards) -> HandoffId {
    handoffs.open(work(worker), Some(BOSS), afterwards).await.unwrap().0
}

const AT_ONCE: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn a_result_reaches_who_waits_and_who_asks_later() {
    let home = tempfile::tempdir().unwrap();
    let mut stage = server(&home.path().join("db"));
    let id = begun(&stage.handoffs, WORKER, Afterwards::Dismiss).await;
    let turn = soon("the turn", stage.turns.recv()).await.unwrap();
    assert_eq!(stage.handoffs.result(id, AT_ONCE).await.unwrap().state, HandoffState::Open);
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            tokio::spawn({
                let handoffs = stage.handoffs.clone();
                async move { handoffs.result(id, LONG).await.unwrap() }
            })
        })
        .collect();
    turn.send(TurnOver::Answered("42".to_owned())).unwrap();
    for waiter in waiting {
        let row = soon("the result", waiter).await.unwrap();
        assert_eq!((row.state, row.result.as_deref()), (HandoffState::Done, Some("42")));
    }
    assert_eq!(stage.handoffs.result(id, LONG).await.unwrap().result.as_deref(), Some("42"));
    assert_eq!(soon("the dismissal", stage.dismissed.recv()).await, Some(WORKER));
}

#[tokio::test]
async fn a_caller_who_dies_costs_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut stage = server(&home.path().join("db"));
    let id = begun(&stage.handoffs, WORKER, Afterwards::Dismiss).await;
    let turn = soon("the turn", stage.turns.recv()).await.unwrap();
    let caller = tokio::spawn({
        let handoffs = stage.handoffs.clone();
        async move { handoffs.result(id, LONG).await.map(drop) }
    });
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    turn.send(TurnOver::Answered("kept".to_owned())).unwrap();
    let row = soon("the result", stage.handoffs.result(id, LONG)).await.unwrap();
    assert_eq!(row.result.as_deref(), Some("kept"));
}

#[tokio::test]
async fn law_13_a_server_that_dies_is_followed_by_one_that_waits_on() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let id = {
        let mut first = server(&path);
        let id = begun(&first.handoffs, WORKER, Afterwards::Dismiss).await;
        soon("the turn", first.turns.recv()).await.unwrap();
        id
    };
    let mut second = server(&path);
    assert_eq!(second.handoffs.resume().await.unwrap(), 1);
    let turn = soon("the turn again", second.turns.recv()).await.unwrap();
    turn.send(TurnOver::Answered("late".to_owned())).unwrap();
    let row = soon("the result", second.handoffs.result(id, LONG)).await.unwrap();
    assert_eq!((row.state, row.result.as_deref()), (HandoffState::Done, Some("late")));
    assert_eq!(server(&path).handoffs.resume().await.unwrap(), 0, "a settled one is not waited for");
}

#[tokio::test]
async fn a_worker_that_failed_or_is_to_stay_is_not_dismissed() {
    let home = tempfile::tempdir().unwrap();
    let mut stage = server(&home.path().join("db"));
    let kept = begun(&stage.handoffs, WORKER, Afterwards::Keep).await;
    soon("a turn", stage.turns.recv()).await.unwrap().send(TurnOver::Answered("ok".to_owned())).unwrap();
    let failed = begun(&stage.handoffs, WORKER, Afterwards::Dismiss).await;
    soon("a turn", stage.turns.recv())
        .await
        .unwrap()
        .send(TurnOver::Failed("it crashed".to_owned()))
        .unwrap();
    assert_eq!(soon("a result", stage.handoffs.result(kept, LONG)).await.unwrap().state, HandoffState::Done);
    let row = soon("a result", stage.handoffs.result(failed, LONG)).await.unwrap();
    assert_eq!((row.state, row.result.as_deref()), (HandoffState::Failed, Some("it crashed")));
    // One that is dismissed comes after: had one of the others been, it would be told first.
    begun(&stage.handoffs, BOSS, Afterwards::Dismiss).await;
    soon("a turn", stage.turns.recv()).await.unwrap().send(TurnOver::Answered("ok".to_owned())).unwrap();
    assert_eq!(soon("the dismissal", stage.dismissed.recv()).await, Some(BOSS));
}

#[tokio::test]
async fn an_id_that_never_was_is_told() {
    let home = tempfile::tempdir().unwrap();
    let stage = server(&home.path().join("db"));
    let error = stage.handoffs.result(HandoffId::new(7), AT_ONCE).await.unwrap_err();
    assert_eq!(error.code(), ptyard_core::ErrorCode::UnknownHandoff);
}
