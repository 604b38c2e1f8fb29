//! Starting programs.

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::ErrorCode;

use super::stage::{all_gone, showing, unique};
use super::{Ground, Verdict};

pub(super) async fn a_missing_program_is_refused(ground: Arc<Ground>) -> Verdict {
    for io in ground.all_io() {
        let refused = ground.start(ground.spec(&["no-such-program-here", "x"], io)).await;
        let error = refused.err().expect("it cannot start");
        assert_eq!(error.code(), ErrorCode::ProgramNotFound, "{io:?}: {error}");
    }
    Verdict::Works
}

pub(super) async fn a_missing_directory_is_refused(ground: Arc<Ground>) -> Verdict {
    for io in ground.all_io() {
        let mut spec = ground.spec(&["sh", "-c", "echo ran"], io);
        spec.cwd = "/no/such/directory".into();
        match ground.start(spec).await {
            Err(error) => assert_eq!(error.code(), ErrorCode::CwdNotFound, "{io:?}: {error}"),
            // An engine makes the working directory of a container that it makes.
            Ok(stage) if ground.makes_directories() => {
                stage.until("ran").await;
            }
            Ok(_) => panic!("{io:?}: it cannot start there"),
        }
    }
    if ground.makes_directories() { Verdict::Weaker("it is made") } else { Verdict::Works }
}

pub(super) async fn given_variables_arrive_and_stand_on_no_command_line(ground: Arc<Ground>) -> Verdict {
    for io in ground.all_io() {
        let secret = format!("secret-{}", unique());
        let mut spec =
            ground.spec(&["sh", "-c", "printf '<%s|%s>' \"$MY_SECRET\" \"$EMPTY\"; sleep 600"], io);
        let value = format!("{secret} 'quoted' \"twice\" $HOME `x` \\ é\nline");
        spec.env.insert("MY_SECRET".to_owned(), value.clone());
        spec.env.insert("EMPTY".to_owned(), String::new());
        let stage = ground.start(spec).await.expect("the program starts");
        let shown = stage.until("|>").await.replace("\r\n", "\n");
        if ground.is_exact() {
            assert_eq!(shown, format!("<{value}|>"), "{io:?}");
        }
        assert_eq!(showing(&secret), Vec::<u32>::new(), "{io:?}: a value stands on a command line");
        stage.kill(Duration::ZERO).await;
    }
    Verdict::Works
}

pub(super) async fn arguments_arrive_as_they_are(ground: Arc<Ground>) -> Verdict {
    if !ground.is_exact() {
        return Verdict::Weaker("as drawn");
    }
    let argv = ["printf", "[%s]", "a b;c $HOME", "", "*", "'\"\\", "é\nline", "-n", "#x", "~", "%", "!"];
    let want: String = argv[2..].iter().map(|arg| format!("[{arg}]")).collect();
    for io in ground.all_io() {
        let stage = ground.start(ground.spec(&argv, io)).await.expect("printf starts");
        let (output, exit) = stage.finish().await;
        assert_eq!(String::from_utf8_lossy(&output).replace("\r\n", "\n"), want, "{io:?}");
        assert_eq!(exit.code, Some(0), "{io:?}");
    }
    Verdict::Works
}

pub(super) async fn a_start_nobody_waits_for_leaves_nothing(ground: Arc<Ground>) -> Verdict {
    for io in ground.all_io() {
        let mark = unique();
        for patience_ms in [0, 2, 20, 100, 300] {
            let script = format!("sleep {mark}");
            let start = ground.backend.start(ground.spec(&["sh", "-c", &script], io));
            let _given_up = tokio::time::timeout(Duration::from_millis(patience_ms), start).await;
        }
        // One that was not given up, so that a start still under way is overtaken.
        ground.raw(io, "echo after").await.until("after").await;
        all_gone(mark).await;
    }
    Verdict::Works
}

pub(super) async fn several_programs_run_side_by_side(ground: Arc<Ground>) -> Verdict {
    let io = ground.all_io()[0];
    let mut stages = Vec::new();
    for n in 0..6 {
        let script = format!("echo ready-{n}; head -n 1 >/dev/null; echo answer-{n}; exit {n}");
        stages.push(ground.raw(io, &script).await);
    }
    for (n, stage) in stages.iter().enumerate().rev() {
        stage.until(&format!("ready-{n}")).await;
        stage.write("go\n").await;
    }
    for (n, stage) in stages.iter().enumerate() {
        let (output, _) = stage.finish().await;
        let output = String::from_utf8_lossy(&output).into_owned();
        assert!(output.contains(&format!("answer-{n}")), "{output}");
        assert!(!output.contains(&format!("answer-{}", n + 1)), "{output}");
    }
    Verdict::Works
}
