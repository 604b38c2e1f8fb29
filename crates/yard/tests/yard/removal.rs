//! R17 to R19, R21: removals and teardowns that nobody can abandon, and starts that leave nothing behind.

use std::sync::Arc;

use ptyard_core::{ErrorCode, Exit};
use ptyard_testkit::{Script, soon};
use tokio::sync::Notify;

use crate::stage::{PIPES, Stage, at, brief, exec, poll, run, until};

fn end(script: &Script) {
    script.exit(Exit::exited(5));
    script.close_output();
}

#[tokio::test]
async fn a_terminal_that_is_named_by_its_full_id_alone_leaves_its_short_id_to_others() {
    let stage = Stage::scripted();
    let named = |naming| ptyard_yard::ExecSpec { naming, ..exec(&["scripted"], PIPES, brief()) };
    let told = run(&stage.yard, named(ptyard_yard::Naming::Any)).await;
    assert!(told.session_id.is_some());
    // Far more than there are: nobody was told of any, so each is free when its terminal is gone.
    for _ in 0..300 {
        let window = run(&stage.yard, named(ptyard_yard::Naming::FullId)).await;
        assert_eq!((window.session_id, window.exit.is_none()), (None, true));
        stage.backend.script(window.id).unwrap().exit(ptyard_core::Exit::exited(0));
        stage.backend.script(window.id).unwrap().close_output();
        let mut follow = stage.yard.follow(&at(&window), Some(0)).unwrap();
        while follow.next().await.is_some() {}
        stage.yard.remove(&at(&window)).await.unwrap();
    }
    assert_eq!(stage.yard.short_ids_in_use(), 1);
}

#[tokio::test]
async fn r17_a_removal_that_was_cancelled_before_it_committed_took_nothing() {
    let stage = Stage::scripted();
    let (at, script) = stage.play().await;
    script.print("tail");
    end(&script);
    stage.yard.wait(&at, &["exit".to_owned()], None, None).await.unwrap();
    for _ in 0..2 {
        let hold = stage.pauses.hold("remove.before_commit");
        let (yard, target) = (stage.yard.clone(), at.clone());
        let removal = tokio::spawn(async move { yard.remove(&target).await });
        hold.reached().await;
        removal.abort();
        assert!(removal.await.unwrap_err().is_cancelled());
        assert!(stage.log_directory(stage.yard.info(&at).unwrap().id).exists(), "the files too");
    }
    let window = stage.yard.write(&at, poll(until("exit"))).await.unwrap().commit();
    assert_eq!((window.output.as_str(), window.exit), ("tail", Some(Exit::exited(5))));
}

#[tokio::test]
async fn r18_a_removal_that_committed_is_carried_out_whatever_becomes_of_the_caller() {
    let stage = Stage::scripted();
    let (at, script) = stage.play().await;
    let id = stage.yard.info(&at).unwrap().id;
    end(&script);
    stage.yard.wait(&at, &["exit".to_owned()], None, None).await.unwrap();
    let hold = stage.pauses.hold("remove.teardown");
    let (yard, target) = (stage.yard.clone(), at.clone());
    let removal = tokio::spawn(async move { yard.remove(&target).await });
    hold.reached().await;
    removal.abort();
    assert!(removal.await.unwrap_err().is_cancelled());
    assert_eq!(stage.yard.info(&at).unwrap_err().code(), ErrorCode::TerminalRemoved);
    assert!(stage.log_directory(id).exists(), "the teardown is held");
    drop(hold);
    soon("the teardown, which shutdown waits for", stage.yard.shutdown()).await;
    assert!(script.is_dropped());
    assert!(!stage.log_directory(id).exists());
}

#[tokio::test]
async fn r19_a_shutdown_that_is_cancelled_twice_still_ends_every_program() {
    let stage = Stage::scripted();
    let gate = Arc::new(Notify::new());
    let mut scripts = Vec::new();
    for _ in 0..3 {
        let (_, script) = stage.play().await;
        script.hold_kills(Arc::clone(&gate));
        scripts.push(script);
    }
    for _ in 0..2 {
        let yard = stage.yard.clone();
        let shutdown = tokio::spawn(async move { yard.shutdown().await });
        while scripts.iter().any(|script| script.kills() == 0) {
            tokio::task::yield_now().await;
        }
        shutdown.abort();
        let _cancelled = shutdown.await;
    }
    // One of them cannot be ended for now; the others are, all the same.
    gate.notify_one();
    gate.notify_one();
    gate.notify_one();
    gate.notify_waiters();
    let yard = stage.yard.clone();
    let last = tokio::spawn(async move { yard.shutdown().await });
    while !last.is_finished() {
        gate.notify_one();
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.yard.list().iter().filter(|info| info.exit.is_none()).count(), 0);
    let refused = stage.yard.exec(exec(&["scripted"], PIPES, brief())).await.err().unwrap();
    assert_eq!(refused.code(), ErrorCode::Stopping);
}

#[tokio::test]
async fn r21_a_start_that_fails_or_is_cancelled_leaves_nothing_behind() {
    let stage = Stage::scripted();
    let refused = stage.yard.exec(exec(&["missing"], PIPES, brief())).await.err().unwrap();
    assert_eq!(refused.code(), ErrorCode::ProgramNotFound);
    assert!(stage.yard.list().is_empty());
    assert_eq!(std::fs::read_dir(stage.directory.path().join("state/terminals")).unwrap().count(), 0);
    // Cancelled after the start: the terminal is there, and nothing of its first window is lost.
    let hold = stage.pauses.hold("exec.started");
    let script = Script::default();
    stage.backend.play(script.clone());
    let yard = stage.yard.clone();
    let start = tokio::spawn(async move {
        yard.exec(exec(&["scripted"], PIPES, until("exit"))).await.map(|d| d.commit())
    });
    hold.reached().await;
    script.print("first window");
    start.abort();
    let _cancelled = start.await;
    drop(hold);
    end(&script);
    let list = stage.yard.list();
    assert_eq!(list.len(), 1);
    let at = list[0].id.to_string().parse().unwrap();
    let window = stage.yard.write(&at, poll(until("exit"))).await.unwrap().commit();
    assert_eq!((window.output.as_str(), window.exit), ("first window", Some(Exit::exited(5))));
}

#[tokio::test]
async fn law_06_a_removed_terminal_is_told_from_one_that_never_was() {
    let stage = Stage::scripted();
    let (at, script) = stage.play().await;
    assert_eq!(stage.yard.remove(&at).await.unwrap_err().code(), ErrorCode::TerminalRunning);
    end(&script);
    stage.yard.wait(&at, &["exit".to_owned()], None, None).await.unwrap();
    stage.yard.remove(&at).await.unwrap();
    assert_eq!(stage.yard.remove(&at).await.unwrap_err().code(), ErrorCode::TerminalRemoved);
    let never = "t00000000000000000000000000000000".parse().unwrap();
    assert_eq!(stage.yard.info(&never).unwrap_err().code(), ErrorCode::UnknownTerminal);
}
