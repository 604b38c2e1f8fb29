//! How a terminal ends: the exit is told by the kernel, what was printed is read, then it is reported, once.

use std::task::{Context, Poll};

use ptyard_core::end::EndStep;
use ptyard_core::{Cause, Exit, Moment};

use super::Actor;
use super::command::Killed;
use crate::observed::TerminalEvent;
use crate::progress::Sealed;

impl Actor {
    pub(super) fn poll_exit(&mut self, cx: &mut Context<'_>, now: Moment) {
        if self.end.is_reaped() {
            return;
        }
        if let Poll::Ready(exit) = self.control.poll_exit(cx) {
            let exit = self.with_our_cause(exit);
            self.limits_saw(&exit);
            self.end.exited(exit, now);
            // Bytes written right before the exit may have come in after this turn's reading.
            self.poll_output(cx, now);
        }
    }

    /// An end that we caused carries our name.
    fn with_our_cause(&self, mut exit: Exit) -> Exit {
        if let Some(by) = &self.killed_by {
            exit.cause = Cause::Killed;
            exit.by = Some(by.0.to_owned());
        } else if exit.signal.is_some() && exit.signal == self.signalled {
            exit.cause = Cause::Killed;
            exit.by = Some("signal".to_owned());
        }
        exit
    }

    pub(super) fn poll_kills(&mut self, cx: &mut Context<'_>) {
        let mut done = Vec::new();
        self.kills.retain_mut(|(kill, reply)| match kill.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(report) => {
                done.extend(reply.take().map(|reply| (report, reply)));
                false
            }
        });
        self.killed.extend(done);
    }

    /// Reports the end once the end rule says so, and the kills that waited for it.
    pub(super) fn poll_end(&mut self, now: Moment) {
        if let Some(exit) = self.end_now(now) {
            self.queue.end_all(self.now.end);
            self.sink = None;
            // A server before this one that sealed it told of it, too, or left a gap that readers are told of.
            let is_news = !self.log.is_sealed();
            self.log.seal(&serde_json::to_string(&exit).unwrap_or_default());
            self.now.sealed = Some(Sealed { exit: exit.clone(), end: self.now.end, at: now });
            if is_news {
                self.observer.event(TerminalEvent::Exited(exit, now));
            }
            self.agent_exited(now);
        }
        let exit = self.now.sealed.as_ref().map(|sealed| sealed.exit.clone());
        if exit.is_some() || self.killed.iter().any(|(report, _)| !report.survivors.is_empty()) {
            // Whoever is answered, on another thread, finds it published.
            if !self.killed.is_empty() {
                self.publish();
            }
            for (report, reply) in self.killed.drain(..) {
                let _gone = reply.send(Killed { report, exit: exit.clone() });
            }
        }
    }

    /// The end, in the turn in which it can be reported.
    fn end_now(&mut self, now: Moment) -> Option<Exit> {
        // While the log holds reading back, quiet means nothing.
        if self.now.sealed.is_some() || !self.end.is_reaped() || (self.held_back.is_some() && !self.closing) {
            return None;
        }
        match self.end.look(now, self.control.descendants()) {
            EndStep::Seal(exit) => {
                self.end_look = None;
                Some(exit)
            }
            EndStep::Wait(until) => {
                self.end_look = until;
                None
            }
        }
    }
}
