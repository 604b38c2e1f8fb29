//! A later server goes on with a program whose server died.

use std::future::poll_fn;
use std::mem::forget;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::{Cause, Exit, Size, TerminalId};
use ptyard_terminal::backend::{Backend, Io, Orphan, Signal, Started, Stdin, Target};

use super::left::dying;
use super::play::{any_id, end, exit, finish, read_until, rest, spec_of, type_all};
use crate::soon;

const TTY: Io = Io::Tty(Size::DEFAULT);

/// What a vendor knows of what was printed while nobody listened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    /// It plays it again.
    Played,
    /// It is gone, and a line says so.
    Gone,
}

/// A vendor, as its servers see it that come one after the other.
pub struct Servers<'a> {
    /// Makes the next one.
    pub next: &'a (dyn Fn() -> Arc<dyn Backend> + Sync),
    /// Where programs run.
    pub places: Vec<String>,
    /// What is known to whoever comes later.
    pub meanwhile: Meanwhile,
}

impl Servers<'_> {
    fn at(&self, place: &str) -> Arc<dyn Backend> {
        (self.next)().at(place).expect("a place")
    }

    fn orphan(&self, place: &str, orphan: Orphan) -> Option<Started> {
        self.at(place).take_up(orphan).map(|earlier| earlier.started)
    }

    fn take_up(&self, place: &str, id: TerminalId, io: Io, log: &str) -> Started {
        let orphan = Orphan {
            id,
            io,
            logged: log.len() as u64,
            last: log.as_bytes().to_vec(),
            has_ended: false,
            kept: None,
        };
        self.orphan(place, orphan).expect("it may be there")
    }

    /// Has a server start a program, type `typed` when it has printed `ready`, and die when `last` has come.
    async fn died(
        &self,
        place: &str,
        script: &str,
        io: Io,
        typed: &'static str,
        last: &'static str,
    ) -> TerminalId {
        let (backend, id) = (self.at(place), any_id());
        let spec = spec_of(id, script, io);
        dying(async move || {
            let mut started = soon("a start", backend.start(spec)).await.expect("a start");
            if !typed.is_empty() {
                read_until(&mut started, "ready").await;
                type_all(started.sink.as_mut().expect("an input").as_mut(), typed.as_bytes()).await;
            }
            read_until(&mut started, last).await;
            forget(started);
        })
        .await;
        id
    }

    /// What stands in the log where a server died.
    fn line(&self, io: Io) -> String {
        let line = "[ptyard: nobody listened for a while; what was printed in between is not here]";
        match (self.meanwhile, io) {
            (Meanwhile::Played, _) => String::new(),
            (Meanwhile::Gone, Io::Tty(_)) => format!("\r\n{line}\r\n"),
            (Meanwhile::Gone, Io::Pipes(_)) => format!("\n{line}\n"),
        }
    }

    /// Output, input and end go on, on a terminal and on pipes.
    ///
    /// # Panics
    /// When they do not.
    pub async fn go_on(&self) {
        for place in &self.places {
            for io in [TTY, Io::Pipes(Stdin::Pipe)] {
                let raw = if io == TTY { "stty raw -echo; " } else { "" };
                let script = format!("{raw}printf 'ready:'; head -c 2; head -c 2; printf 'wörld😀'; exit 7");
                let id = self.died(place, &script, io, "ab", "ab").await;
                let mut later = self.take_up(place, id, io, "ready:ab");
                type_all(later.sink.as_mut().expect("an input").as_mut(), b"cd").await;
                let (output, exit) = finish(&mut later).await;
                let want = self.line(io) + "cdwörld😀";
                assert_eq!((output, exit), (want, Exit::exited(7)), "{place} {io:?}");
            }
        }
    }

    /// Output goes on although the vendor refuses at first, as `fail` has it do before each.
    ///
    /// # Panics
    /// When it does not.
    pub async fn go_on_after(&self, fail: impl Fn()) {
        for place in &self.places {
            let script = "stty raw -echo; printf 'ready:'; head -c 2; exit 7";
            let id = self.died(place, script, TTY, "", "ready:").await;
            fail();
            let mut later = self.take_up(place, id, TTY, "ready:");
            type_all(later.sink.as_mut().expect("an input").as_mut(), b"cd").await;
            assert_eq!(finish(&mut later).await, (self.line(TTY) + "cd", Exit::exited(7)), "{place}");
        }
    }

    /// An end that came meanwhile is known, with its code.
    ///
    /// # Panics
    /// When it is not.
    pub async fn ends_are_known(&self) {
        for place in &self.places {
            for io in [TTY, Io::Pipes(Stdin::Null)] {
                let directory = tempfile::tempdir().expect("a directory");
                let go = directory.path().join("go");
                let script = format!(
                    "stty raw 2>/dev/null; printf begin; while [ ! -e {0} ]; do sleep .02; done; printf end; \
                     : >{0}.gone; exit 9",
                    go.display()
                );
                let id = self.died(place, &script, io, "", "begin").await;
                std::fs::write(&go, "").expect("a file");
                crate::until("its end", || go.with_extension("gone").exists()).await;
                let mut later = self.take_up(place, id, io, "begin");
                let (output, exit) = finish(&mut later).await;
                let printed = if self.meanwhile == Meanwhile::Played { "end" } else { "" };
                assert_eq!((output, exit), (self.line(io) + printed, Exit::exited(9)), "{place} {io:?}");
            }
        }
    }

    /// A later server can do all that the first one could.
    ///
    /// # Panics
    /// When it cannot.
    pub async fn can_do_all(&self) {
        for place in &self.places {
            let script =
                "trap 'stty size' WINCH; trap 'echo usr1' USR1; echo ready; while :; do sleep .05; done";
            let id = self.died(place, script, TTY, "", "ready\r\n").await;
            let mut later = self.take_up(place, id, TTY, "ready\r\n");
            later.control.resize(Size::new(91, 17).expect("a size")).expect("a resize");
            read_until(&mut later, "17 91").await;
            later.control.signal(Signal(10), Target::Program).expect("a signal");
            read_until(&mut later, "usr1").await;
            soon("the kill", later.control.kill(Duration::ZERO)).await;
            let exit = end(later.control.as_mut()).await;
            assert!(exit == Exit::signaled(9) || exit == Exit::exited(137), "{place}: {exit:?}");
            rest(later.source.as_mut()).await;
        }
    }

    /// What is dropped after it was taken up is ended, and so is what may be left of one that has ended. `living` counts.
    ///
    /// # Panics
    /// When it is not.
    pub async fn leave_nothing(&self, living: impl Fn() -> usize) {
        let before = living();
        for place in &self.places {
            for has_ended in [false, true] {
                let id = self.died(place, "trap '' HUP; echo here; sleep 600", TTY, "", "here").await;
                assert!(living() > before, "it lives");
                let orphan = Orphan { id, io: TTY, logged: 0, last: Vec::new(), has_ended, kept: None };
                let taken_up = self.orphan(place, orphan);
                assert_eq!(taken_up.is_none(), has_ended);
                drop(taken_up);
                crate::until("nothing lives", || living() == before).await;
                let list = self.at(place);
                soon("it is struck", async {
                    while !list.creations().await.expect("a list").is_empty() {
                        tokio::task::yield_now().await;
                    }
                })
                .await;
            }
        }
    }

    /// What a program ended with is told although somebody holds its output.
    ///
    /// # Panics
    /// When it is not.
    pub async fn ends_are_told_while_output_is_held(&self) {
        for place in &self.places {
            let script = "trap '' HUP; echo here; read -r go; sleep 600 & exit 9";
            let id = self.died(place, script, TTY, "", "here\r\n").await;
            let mut later = self.take_up(place, id, TTY, "here\r\n");
            type_all(later.sink.as_mut().expect("an input").as_mut(), b"go\n").await;
            assert_eq!(exit(&mut later).await, Exit::exited(9), "{place}");
        }
    }

    /// Output goes on where the log ends, however much was printed before.
    ///
    /// # Panics
    /// When it does not.
    pub async fn go_on_behind_much(&self) {
        for place in &self.places {
            let (backend, id) = (self.at(place), any_id());
            // Well more than any vendor keeps.
            let script =
                "stty raw -echo; seq 100000 190000; printf 'ready:'; head -c 2; printf 'wörld'; exit 7";
            let spec = spec_of(id, script, TTY);
            let log = dying(async move || {
                let mut started = soon("a start", backend.start(spec)).await.expect("a start");
                let log = read_until(&mut started, "ready:").await;
                forget(started);
                log
            })
            .await;
            let mut later = self.take_up(place, id, TTY, &log);
            type_all(later.sink.as_mut().expect("an input").as_mut(), b"cd").await;
            let (output, exit) = finish(&mut later).await;
            assert_eq!((output, exit), (self.line(TTY) + "cdwörld", Exit::exited(7)), "{place}");
        }
    }

    /// A start of which nothing but the name was written down in `list` is lost, and nothing of it is left: whoever began it
    /// died before it was finished. `living` counts.
    ///
    /// # Panics
    /// When it is not.
    pub async fn lose_what_was_not_finished(&self, list: &Path, living: impl Fn() -> usize) {
        let place = &self.places[0];
        let id = self.died(place, "trap '' HUP; echo here; sleep 600", TTY, "", "here").await;
        for entry in std::fs::read_dir(list).expect("a list") {
            let file = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&file).expect("a text");
            let (name, _memo) = text.split_once('\n').expect("what a later server has to know");
            std::fs::write(&file, name).expect("a file");
        }
        let mut later = self.take_up(place, id, TTY, "");
        let ended = exit(&mut later).await;
        assert_eq!((ended.code, ended.cause), (None, Cause::Lost));
        drop(later);
        crate::until("nothing lives", || living() == 0).await;
    }

    /// What is not there any more is lost, at once, and takes no input.
    ///
    /// # Panics
    /// When it is not.
    pub async fn lose_what_is_gone(&self) {
        for place in &self.places {
            let mut later = self.take_up(place, any_id(), TTY, "");
            let (output, exit) = finish(&mut later).await;
            assert_eq!((output.as_str(), exit.code, exit.cause), ("", None, Cause::Lost), "{place}");
            let sink = later.sink.as_mut().expect("an input");
            soon("a write", poll_fn(|cx| sink.poll_write(cx, b"x"))).await.expect("it is taken");
            soon("a write", poll_fn(|cx| sink.poll_write(cx, b"y"))).await.expect_err("nobody took it");
        }
    }
}
