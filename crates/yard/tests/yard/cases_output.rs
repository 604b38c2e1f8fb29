//! Output as the field's reports describe it being lost, held up or piling up.

use std::time::{Duration, Instant};

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, Stdin};
use ptyard_terminal::log::LogConfig;
use ptyard_testkit::soon;
use ptyard_yard::{ExecSpec, FollowItem, Yard, YardConfig};

use crate::stage::{
    PIPES, Stage, at, brief, capped, chars, code, exec, kill, log, poll, run, sh, tty, until, write,
};

#[tokio::test]
async fn case_o01_o02_short_programs_side_by_side_lose_nothing() {
    let stage = Stage::real();
    let mut all = tokio::task::JoinSet::new();
    for n in 0..120 {
        let yard = stage.yard.clone();
        let io = if n % 2 == 0 { tty() } else { PIPES };
        all.spawn(async move {
            let (script, bytes) = match (n % 3, n % 2) {
                (0, 0) => ("seq 1 4000", 22_893),
                (0, _) => ("seq 1 4000", 18_893),
                (1, _) => ("printf ok", 2),
                _ => ("exit 7", 0),
            };
            let window = run(&yard, sh(script, io, until("exit"))).await;
            let expected = if n % 3 == 2 { Some(7) } else { Some(0) };
            assert_eq!((window.next, code(&window)), (bytes, expected), "{script} {io:?}");
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
}

#[tokio::test]
async fn case_o03_a_flood_nobody_reads_ends_by_itself_on_pipes_too() {
    let stage = Stage::real();
    for (io, bytes) in [(tty(), 1_288_894), (PIPES, 1_088_894)] {
        let window =
            run(&stage.yard, sh("seq 1 180000 | tail -n 171000; seq 1 12 >/dev/null", io, brief())).await;
        soon("it ends", stage.yard.wait(&at(&window), &["exit".to_owned()], None, None)).await.unwrap();
        let expected: u64 =
            (9_001..=180_000u64).map(|n| n.to_string().len() as u64 + if io == tty() { 2 } else { 1 }).sum();
        assert_eq!(log(&stage.yard, &window).await.len() as u64, expected, "not {bytes}");
    }
}

#[tokio::test]
async fn case_o05_a_descendant_on_a_pipe_does_not_hold_the_end_and_its_late_words_are_kept() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        let go = stage.directory.path().join(format!("go-{}", io == tty()));
        let script = format!(
            "mkfifo '{0}'; setsid sh -c 'read _ <\"{0}\"; echo late; sleep 600' & sleep .05; echo done",
            go.display()
        );
        let window = run(&stage.yard, exec(&["bash", "-c", &script], io, until("exit"))).await;
        let exit = window.exit.clone().unwrap();
        assert!(exit.descendants >= 1 && exit.code == Some(0), "{exit:?}");
        assert_eq!(window.output.trim_end(), "done");
        let end = window.next;
        std::fs::write(&go, "\n").unwrap();
        let comes = async {
            while !log(&stage.yard, &window).await[end as usize..].starts_with(b"late") {
                tokio::task::yield_now().await;
            }
        };
        soon("what a descendant prints after the end", comes).await;
        let killed = kill(&stage.yard, &window).await;
        assert!(killed.found >= 1 && killed.survivors.is_empty(), "{killed:?}");
    }
}

#[tokio::test]
async fn case_o06_the_end_of_output_is_an_end_of_file_and_not_a_grace() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        let mut fastest = Duration::MAX;
        for _ in 0..5 {
            let began = Instant::now();
            let window = run(&stage.yard, sh("echo hi", io, until("exit"))).await;
            assert_eq!((window.output.trim_end(), window.exit.unwrap().descendants), ("hi", 0));
            fastest = fastest.min(began.elapsed());
        }
        assert!(fastest < Duration::from_millis(190), "{fastest:?}: the slave is still open in the server");
    }
}

#[tokio::test]
async fn case_o10_the_end_is_told_as_often_as_asked_and_an_id_that_is_gone_says_so() {
    let stage = Stage::real();
    let window = run(&stage.yard, sh("echo hi; exit 4", tty(), until("exit"))).await;
    for _ in 0..3 {
        let again = write(&stage.yard, &window, poll(until("exit"))).await;
        assert_eq!((again.output.as_str(), &again.exit, again.ended_by), ("", &window.exit, "exit"));
    }
    stage.yard.remove(&at(&window)).await.unwrap();
    let removed = stage.yard.write(&at(&window), poll(brief())).await.err().unwrap();
    let never = stage.yard.write(&"nobody".parse().unwrap(), poll(brief())).await.err().unwrap();
    assert_eq!((removed.code(), never.code()), (ErrorCode::TerminalRemoved, ErrorCode::UnknownTerminal));
}

#[tokio::test]
async fn case_h01_a_program_on_a_pipe_that_does_not_read_holds_up_nobody_else() {
    let stage = Stage::real();
    let script = "echo ready; sleep 600";
    for io in [Io::Pipes(Stdin::Pipe), tty()] {
        let raw = if io == tty() { "stty raw -echo; " } else { "" };
        let window = run(&stage.yard, sh(&format!("{raw}{script}"), io, until("regex:ready"))).await;
        let (yard, target) = (stage.yard.clone(), at(&window));
        let stuck = tokio::spawn(async move {
            yard.write(&target, chars(&"x".repeat(1 << 20), until("exit"))).await.map(|ready| ready.commit())
        });
        // While that write waits, everybody else is served.
        tokio::task::yield_now().await;
        assert!(stage.yard.info(&at(&window)).unwrap().exit.is_none());
        soon("a screen", stage.yard.screen(&at(&window), 0)).await.unwrap();
        soon("a read", stage.yard.read(&at(&window), Some(0), 10)).await.unwrap();
        let began = Instant::now();
        kill(&stage.yard, &window).await;
        assert!(began.elapsed() < Duration::from_secs(3));
        let stuck = soon("the write ends with the program", stuck).await.unwrap().unwrap();
        let (taken, back) = (stuck.written.unwrap(), stuck.unwritten.unwrap_or(0));
        assert_eq!(taken + back, 1 << 20, "{stuck:?}");
        assert!(taken < 200_000 && stuck.exit.is_some(), "{stuck:?}");
    }
}

#[tokio::test]
async fn case_h03_a_raw_tty_echoes_megabytes_while_they_are_typed() {
    let stage = Stage::real();
    let script = "stty raw -echo; echo ready; exec head -c 2000000";
    let window = run(&stage.yard, sh(script, tty(), until("regex:ready"))).await;
    let text: String = (0..200_000).map(|n| format!("{n:09}\n")).collect();
    let end = write(&stage.yard, &window, chars(&text, capped(100, until("exit")))).await;
    assert_eq!((end.written, code(&end)), (Some(2_000_000), Some(0)));
    let all = log(&stage.yard, &window).await;
    assert!(all.ends_with(text.as_bytes()), "2 MB come back as they were typed");
}

#[tokio::test]
async fn case_l02_a_reader_that_fell_behind_is_told_the_range_it_lost() {
    let directory = tempfile::tempdir().unwrap();
    let log_config = LogConfig { ring_bytes: 16 << 10, segment_bytes: 64 << 10, quota_bytes: 256 << 10 };
    let config = YardConfig { log: log_config, ..YardConfig::new(directory.path().join("state")) };
    let yard = Yard::open(config).unwrap();
    let window = run(&yard, sh("head -c 10000000 /dev/zero | tr '\\0' x; echo END", PIPES, brief())).await;
    let mut slow = yard.follow(&at(&window), Some(0)).unwrap();
    soon("it ends", yard.wait(&at(&window), &["exit".to_owned()], None, None)).await.unwrap();
    let (mut next, mut lost, mut got, mut text) = (0, 0, 0u64, Vec::new());
    while let Some(item) = slow.next().await {
        match item {
            FollowItem::Bytes { at, data } => {
                assert_eq!(at, next, "no byte is skipped without a word");
                next += data.len() as u64;
                got += data.len() as u64;
                text.extend(data);
            }
            FollowItem::Gap { from, to } => {
                assert_eq!(from, next);
                lost += to - from;
                next = to;
            }
            FollowItem::Exit { offset, .. } => assert_eq!(offset, next),
            FollowItem::Resized(_) => {}
        }
    }
    assert_eq!(got + lost, 10_000_004);
    assert!(lost > 9_000_000 && text.ends_with(b"END\n"), "{lost}");
    // Windows and ranges say the same.
    let behind = write(&yard, &window, poll(capped(10, brief()))).await;
    assert!(behind.evicted > 0 && behind.from == window.next, "{behind:?}");
    let range = yard.read(&at(&window), Some(5), 100).await.unwrap();
    assert_eq!((range.from - range.evicted, range.data.len()), (5, 100));
    let kept = yard.info(&at(&window)).unwrap();
    assert_eq!(range.from, kept.log_start);
}

#[tokio::test]
async fn numbers_of_any_size_are_clamped_or_refused_and_break_nothing() {
    let stage = Stage::real();
    let yard = &stage.yard;
    let done = run(yard, sh("echo over", tty(), until("exit"))).await;
    let range = yard.read(&at(&done), Some(0), usize::MAX).await.unwrap();
    assert_eq!(range.data, b"over\r\n");
    assert_eq!(yard.read(&at(&done), Some(0), 0).await.unwrap().data, b"");
    assert_eq!(
        yard.read(&at(&done), Some(u64::MAX), 1).await.unwrap_err().code(),
        ErrorCode::OffsetBeyondEnd
    );
    assert_eq!(yard.screen(&at(&done), u32::MAX).await.unwrap().lines[0], "over");
    let forever = Some(Duration::from_millis(u64::MAX));
    let ended = yard.wait(&at(&done), &["exit".to_owned()], None, forever).await.unwrap();
    assert_eq!(ended.ended_by, "exit");
    let sleeper = run(yard, exec(&["sleep", "600"], tty(), brief())).await;
    let (yard_too, target) = (yard.clone(), at(&sleeper));
    let wait = tokio::spawn(async move { yard_too.wait(&target, &["exit".to_owned()], None, forever).await });
    let long = ptyard_yard::WindowSpec { yield_ms: Some(i64::MAX), ..until("exit") };
    let (yard_too, target) = (yard.clone(), at(&sleeper));
    let window =
        tokio::spawn(async move { yard_too.write(&target, poll(long)).await.map(|ready| ready.commit()) });
    tokio::task::yield_now().await;
    let killed = yard.kill(&at(&sleeper), Some(Duration::MAX)).await.unwrap();
    assert!(killed.exit.is_some());
    assert_eq!(soon("the wait", wait).await.unwrap().unwrap().ended_by, "exit");
    assert!(soon("the window", window).await.unwrap().unwrap().exit.is_some());
}

#[tokio::test]
async fn case_k05_a_caller_who_left_finds_the_program_by_name_and_starts_no_second_one() {
    let stage = Stage::real();
    let named = || ExecSpec {
        name: Some("worker".to_owned()),
        ..sh("echo begun; read _; echo result", tty(), until("exit"))
    };
    {
        let call = stage.yard.exec(named());
        let patience = async {
            let worker = "worker".parse().unwrap();
            while stage.yard.info(&worker).map_or(0, |info| info.log_end) == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = call => panic!("it waits for input"),
            () = soon("it has begun", patience) => {}
        }
    }
    let again = stage.yard.exec(named()).await.err().unwrap();
    assert_eq!(again.code(), ErrorCode::NameTaken);
    assert_eq!(stage.yard.list().len(), 1);
    let worker = "worker".parse().unwrap();
    let result = stage.yard.write(&worker, chars("\r", until("exit"))).await.unwrap().commit();
    assert_eq!((result.from, code(&result)), (0, Some(0)));
    assert!(result.output.starts_with("begun\r\n") && result.output.ends_with("result\r\n"), "{result:?}");
}
