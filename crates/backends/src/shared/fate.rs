//! How a program elsewhere ends, and what is left of it then.

use std::future::Future;
use std::task::{Context, Poll};

use ptyard_core::Exit;
use ptyard_terminal::backend::{BoxFuture, KillReport};
use tokio::runtime::Handle;
use tokio::sync::watch;

/// The end of a program as it becomes known, for whoever asks.
pub(crate) type ExitWatch = watch::Receiver<Option<Exit>>;

/// The end of a program, as the one who polls for it sees it.
enum End {
    Awaited(BoxFuture<'static, Exit>),
    Known(Exit),
}

impl End {
    /// An end that somebody publishes; `lost` when whoever would have is gone.
    fn awaited(mut exit: ExitWatch) -> Self {
        Self::Awaited(Box::pin(async move {
            match exit.wait_for(Option::is_some).await {
                Ok(exit) => exit.clone().unwrap_or_else(Exit::lost),
                Err(_) => Exit::lost(),
            }
        }))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        let exit = match self {
            Self::Known(exit) => return Poll::Ready(exit.clone()),
            Self::Awaited(end) => std::task::ready!(end.as_mut().poll(cx)),
        };
        *self = Self::Known(exit.clone());
        Poll::Ready(exit)
    }
}

/// Whoever watches a program says here what becomes of it. Where several watch, the end that is said first counts.
#[derive(Clone)]
pub(crate) struct Herald {
    exit: watch::Sender<Option<Exit>>,
    descendants: watch::Sender<u32>,
}

impl Herald {
    /// How many processes of the program outlived it. Said before its end; behind another's it says nothing.
    pub(crate) fn left_behind(&self, processes: u32) {
        if self.exit.borrow().is_some() {
            return;
        }
        self.descendants.send_replace(processes);
    }

    /// It has ended like this.
    pub(crate) fn ended(self, exit: Exit) {
        self.exit.send_if_modified(|known| {
            let is_first = known.is_none();
            known.get_or_insert(exit);
            is_first
        });
    }

    /// Waits until nobody wants to know any more.
    pub(crate) async fn unheard(&self) {
        self.exit.closed().await;
    }
}

/// What a program's controls know of its end.
///
/// # Invariants
/// 1. An end that was known stays as it is.
/// 2. A kill, once begun, goes on whatever becomes of the controls and of whoever asked for it.
pub(crate) struct Fate {
    exit: ExitWatch,
    end: End,
    descendants: watch::Receiver<u32>,
    /// Whether a kill left nobody.
    killed: watch::Sender<bool>,
    runtime: Handle,
}

impl Fate {
    /// The fate of a program that runs, and who is to say it. Call it in a runtime.
    pub(crate) fn new() -> (Herald, Self) {
        let (say_exit, exit) = watch::channel(None);
        let (count, descendants) = watch::channel(0);
        let fate = Self {
            end: End::awaited(exit.clone()),
            exit,
            descendants,
            killed: watch::Sender::new(false),
            runtime: Handle::current(),
        };
        (Herald { exit: say_exit, descendants: count }, fate)
    }

    /// The end, once it is known.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        self.end.poll(cx)
    }

    /// The end, for somebody else to wait for.
    pub(crate) fn exit(&self) -> ExitWatch {
        self.exit.clone()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.exit.borrow().is_some()
    }

    /// How many processes of the program live without it.
    pub(crate) fn descendants(&self) -> u32 {
        if *self.killed.borrow() { 0 } else { *self.descendants.borrow() }
    }

    /// Whether it is certain that no process of the program lives: its end is known and not just believed, and so is
    /// that it left nobody, or nobody that a kill did not find.
    pub(crate) fn nothing_left(&self) -> bool {
        self.exit.borrow().as_ref().is_some_and(|exit| exit.code.or(exit.signal).is_some())
            && self.descendants() == 0
    }

    /// Carries out a kill, and remembers whether it left anybody.
    pub(crate) fn kill(
        &self,
        killing: impl Future<Output = KillReport> + Send + 'static,
    ) -> BoxFuture<'static, KillReport> {
        let killed = self.killed.clone();
        let ending = self.runtime.spawn(async move {
            let report = killing.await;
            killed.send_replace(report.survivors.is_empty());
            report
        });
        Box::pin(async move { ending.await.unwrap_or_default() })
    }

    /// Does something that goes on when the controls are gone.
    pub(crate) fn spawn(&self, doing: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(doing);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    async fn end(fate: &mut Fate) -> Exit {
        poll_fn(|cx| fate.poll(cx)).await
    }

    #[tokio::test]
    async fn law_04_an_end_nobody_can_tell_any_more_is_lost() {
        let (herald, mut fate) = Fate::new();
        drop(herald);
        assert_eq!(end(&mut fate).await, Exit::lost());
        assert!(!fate.nothing_left(), "whoever is lost may live");
    }

    #[tokio::test]
    async fn what_outlived_the_program_is_left_until_a_kill_leaves_nobody() {
        let (herald, mut fate) = Fate::new();
        herald.left_behind(2);
        herald.ended(Exit::exited(0));
        assert_eq!(end(&mut fate).await, Exit::exited(0));
        assert_eq!((fate.descendants(), fate.nothing_left()), (2, false));
        let survived = KillReport { survivors: vec![7], ..KillReport::default() };
        fate.kill(async { survived }).await;
        assert_eq!((fate.descendants(), fate.nothing_left()), (2, false));
        fate.kill(async { KillReport::default() }).await;
        assert_eq!((fate.descendants(), fate.nothing_left()), (0, true));
    }

    #[tokio::test]
    async fn law_04_of_two_watchers_the_first_is_believed() {
        let (herald, mut fate) = Fate::new();
        let other = herald.clone();
        herald.ended(Exit::exited(3));
        other.left_behind(1);
        other.ended(Exit::lost());
        assert_eq!(end(&mut fate).await, Exit::exited(3));
        assert_eq!(fate.exit().borrow().clone(), Some(Exit::exited(3)));
        assert!(fate.nothing_left());
    }

    #[tokio::test]
    async fn law_03_a_kill_without_listeners_goes_on() {
        let (_herald, fate) = Fate::new();
        let (done, mut is_done) = watch::channel(false);
        drop(fate.kill(async move {
            done.send_replace(true);
            KillReport::default()
        }));
        is_done.wait_for(|done| *done).await.unwrap();
    }
}
