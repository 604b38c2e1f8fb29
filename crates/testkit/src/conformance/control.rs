//! Sizes, signals and kills; law 6.

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::{Cause, ErrorCode, Size};
use ptyard_terminal::backend::{Io, KillReach, Signal, SignalReach, SizeKnown, Target};

use super::stage::{all_gone, all_there, clear, living, unique};
use super::{Ground, Verdict};
use crate::soon;

const GRACE: Duration = Duration::from_secs(5);

pub(super) async fn a_tty_has_its_size_and_follows_changes(ground: Arc<Ground>) -> Verdict {
    let size = Size::new(100, 30).expect("a size");
    let known = ground.backend.abilities().size;
    let at_start = ground.script(Io::Tty(size), "stty size; sleep 600").await;
    if known == SizeKnown::AtStart {
        at_start.until("30 100").await;
    }
    at_start.kill(Duration::ZERO).await;
    let script = "trap 'stty size' WINCH; stty size; echo ready; while :; do sleep .05; done";
    let stage = ground.script(Io::Tty(size), script).await;
    stage.until("ready").await;
    let resized = stage.terminal.resize(Size::new(91, 17).expect("a size")).await;
    if known == SizeKnown::Never {
        assert_eq!(resized.expect_err("no size can be set").code(), ErrorCode::Unsupported);
        stage.kill(Duration::ZERO).await;
        return Verdict::Refused;
    }
    resized.expect("the size changes");
    stage.until("17 91").await;
    stage.kill(Duration::ZERO).await;
    if ground.has_pipes() {
        let stage = ground.script(ground.all_io()[1], "sleep 600").await;
        let refused = stage.terminal.resize(size).await.expect_err("pipes have no size");
        assert_eq!(refused.code(), ErrorCode::NotATty);
        stage.kill(Duration::ZERO).await;
    }
    match known {
        SizeKnown::SoonAfterStart => Verdict::Weaker("soon after the start"),
        SizeKnown::AtStart | SizeKnown::Never => Verdict::Works,
    }
}

pub(super) async fn signals_reach_the_program_and_its_group(ground: Arc<Ground>) -> Verdict {
    let reach = ground.backend.abilities().signals;
    for io in ground.all_io() {
        let script = "trap 'echo got-usr1' USR1; trap 'echo got-int; exit 6' INT; echo ready; while :; do sleep .05; done";
        let stage = ground.script(io, script).await;
        stage.until("ready").await;
        let sent = stage.terminal.signal(Signal(10), Target::Program).await;
        if reach == SignalReach::Nobody {
            assert_eq!(sent.expect_err("no signal can be sent").code(), ErrorCode::Unsupported, "{io:?}");
            stage.kill(Duration::ZERO).await;
            continue;
        }
        sent.expect("the signal is sent");
        stage.until("got-usr1").await;
        stage.terminal.signal(Signal(2), Target::ForegroundGroup).await.expect("the signal is sent");
        stage.until("got-int").await;
        stage.exit().await;
        let late = stage.terminal.signal(Signal(15), Target::Program).await.expect_err("it has ended");
        assert_eq!(late.code(), ErrorCode::TerminalExited, "{io:?}");
    }
    match reach {
        SignalReach::ProgramAndGroup => Verdict::Works,
        SignalReach::Nobody => Verdict::Refused,
    }
}

pub(super) async fn law_06_a_kill_ends_the_whole_tree(ground: Arc<Ground>) -> Verdict {
    let reach = ground.backend.abilities().kill;
    for io in ground.all_io() {
        let mark = unique();
        // A child, one in a session of its own whose parent is gone, and one that ignores what can be ignored.
        let mut script = format!(
            "trap '' HUP; sleep {mark} & (setsid sleep {mark} </dev/null >/dev/null 2>&1 &) ; \
             sh -c 'trap \"\" HUP TERM INT; sleep {mark}; :' & echo ready; wait"
        );
        let mut count = 3;
        if reach == KillReach::Tree {
            script = format!("(env -i setsid sh -c '(env -i setsid sleep {mark} &)' &); {script}");
            count += 1;
        }
        let stage = ground.script(io, &script).await;
        stage.until("ready").await;
        all_there(mark, count).await;
        let killed = stage.kill(Duration::from_millis(200)).await;
        let exit = killed.exit.expect("the end is known");
        assert_eq!((exit.cause, exit.by.as_deref()), (Cause::Killed, Some("kill")), "{io:?}");
        if reach == KillReach::Terminal {
            clear(mark);
            continue;
        }
        assert_eq!(killed.report.survivors, Vec::<u32>::new(), "{io:?}");
        assert_eq!(living(mark), Vec::<u32>::new(), "{io:?}: nothing lives when the kill is reported");
    }
    match reach {
        KillReach::Tree => Verdict::Works,
        KillReach::Related => Verdict::Weaker("all but who hides"),
        KillReach::Terminal => Verdict::Weaker("closes it"),
    }
}

pub(super) async fn law_06_removal_leaves_nothing(ground: Arc<Ground>) -> Verdict {
    for io in ground.all_io() {
        let mark = unique();
        let stage = ground.raw(io, &format!("sleep {mark} & echo ready; wait")).await;
        stage.until("ready").await;
        all_there(mark, 1).await;
        soon("the terminal closes", stage.terminal.close()).await;
        all_gone(mark).await;
        // And when nobody closes it, but everybody forgets it.
        let mark = unique();
        let stage = ground.raw(io, &format!("sleep {mark} & echo ready; wait")).await;
        stage.until("ready").await;
        drop(stage);
        all_gone(mark).await;
    }
    Verdict::Works
}

pub(super) async fn a_kill_without_listeners_goes_on(ground: Arc<Ground>) -> Verdict {
    for io in ground.all_io() {
        let mark = unique();
        let stage =
            ground.raw(io, &format!("trap '' HUP TERM; echo ready; sleep {mark}; sleep {mark}")).await;
        stage.until("ready").await;
        let kill = stage.terminal.kill(Duration::from_millis(100), ptyard_terminal::KilledBy("kill"));
        let _given_up = tokio::time::timeout(Duration::from_millis(1), kill).await;
        let exit = stage.exit().await;
        assert_eq!(exit.cause, Cause::Killed, "{io:?}: {exit:?}");
        all_gone(mark).await;
        // Ended, it can be killed again, which does nothing.
        stage.kill(GRACE).await;
    }
    Verdict::Works
}
