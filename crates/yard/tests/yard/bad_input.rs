//! Bad input gets a clear error with a stable code, and loses nothing.

use ptyard_core::{ErrorCode, Size};
use ptyard_terminal::backend::{Signal, Target};
use ptyard_yard::{ExecSpec, TypedInput, WindowSpec, WriteSpec, Yard};

use crate::stage::{PIPES, Stage, at, brief, chars, exec, poll, run, sh, tty, until};

async fn refused(yard: &Yard, spec: ExecSpec) -> ErrorCode {
    let error = yard.exec(spec).await.err().expect("this is refused");
    assert!(!error.to_string().is_empty());
    error.code()
}

#[tokio::test]
async fn starts_that_cannot_be() {
    let stage = Stage::real();
    let yard = &stage.yard;
    assert_eq!(refused(yard, exec(&["/no/such/program"], PIPES, brief())).await, ErrorCode::ProgramNotFound);
    assert_eq!(
        refused(yard, exec(&["nosuchprogram-anywhere"], tty(), brief())).await,
        ErrorCode::ProgramNotFound
    );
    assert_eq!(refused(yard, exec(&["/etc/passwd"], tty(), brief())).await, ErrorCode::ProgramNotExecutable);
    assert_eq!(refused(yard, exec(&["printf", "a\0b"], PIPES, brief())).await, ErrorCode::InvalidArgument);
    assert_eq!(refused(yard, exec(&[], PIPES, brief())).await, ErrorCode::InvalidArgument);
    assert_eq!(refused(yard, exec(&[""], PIPES, brief())).await, ErrorCode::InvalidArgument);
    let missing = ExecSpec {
        cwd: Some("/no/such/directory".into()),
        ..sh("touch /tmp/ptyard-must-not-exist", PIPES, brief())
    };
    assert_eq!(refused(yard, missing).await, ErrorCode::CwdNotFound);
    assert!(
        !std::path::Path::new("/tmp/ptyard-must-not-exist").exists(),
        "nothing runs in a wrong directory"
    );
    let relative = ExecSpec { cwd: Some("here".into()), ..sh("true", PIPES, brief()) };
    assert_eq!(refused(yard, relative).await, ErrorCode::InvalidArgument);
    let elsewhere = ExecSpec { backend: Some("moon".to_owned()), ..sh("true", PIPES, brief()) };
    assert_eq!(refused(yard, elsewhere).await, ErrorCode::Unsupported);
    let nul = ExecSpec { env: [("A".to_owned(), "b\0c".to_owned())].into(), ..sh("true", PIPES, brief()) };
    assert_eq!(refused(yard, nul).await, ErrorCode::InvalidArgument);
    assert!(yard.list().is_empty(), "none of them left a terminal");
    assert_eq!(std::fs::read_dir(stage.directory.path().join("state/terminals")).unwrap().count(), 0);
}

#[tokio::test]
async fn windows_that_cannot_be() {
    let stage = Stage::real();
    let yard = &stage.yard;
    let window = |max_tokens, until: &[&str]| WindowSpec {
        yield_ms: Some(0),
        max_tokens,
        until: until.iter().map(|text| (*text).to_owned()).collect(),
    };
    for bad in [0, -1, i64::MIN, 1_000_000_000, i64::MAX] {
        assert_eq!(
            refused(yard, sh("echo hi", PIPES, window(Some(bad), &[]))).await,
            ErrorCode::InvalidArgument,
            "{bad}"
        );
    }
    assert_eq!(
        refused(yard, sh("echo hi", PIPES, window(None, &["regex:("]))).await,
        ErrorCode::InvalidRegex
    );
    assert_eq!(
        refused(yard, sh("echo hi", PIPES, window(None, &["quiet:soon"]))).await,
        ErrorCode::InvalidArgument
    );
    assert_ne!(refused(yard, sh("echo hi", PIPES, window(None, &["full-moon"]))).await, ErrorCode::Internal);
    assert!(yard.list().is_empty(), "a bad window is refused before anything runs");

    // On a running program a bad window loses nothing.
    let cat = run(yard, exec(&["cat"], tty(), brief())).await;
    yard.write(&at(&cat), chars("kept\r", until("regex:kept\\s+kept"))).await.map(drop).unwrap();
    let error = yard.write(&at(&cat), poll(window(Some(0), &[]))).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    let kept = yard.write(&at(&cat), poll(until("regex:kept"))).await;
    assert!(
        kept.unwrap().commit().output.contains("kept"),
        "an uncommitted window and a refused one cost nothing"
    );
}

#[tokio::test]
async fn calls_on_what_is_not_there_or_not_so() {
    let stage = Stage::real();
    let yard = &stage.yard;
    for unknown in ["t00000000000000000000000000000000", "12345", "nobody", "", "-1"] {
        let at = unknown.parse().unwrap();
        assert_eq!(
            yard.write(&at, poll(brief())).await.err().unwrap().code(),
            ErrorCode::UnknownTerminal,
            "{unknown:?}"
        );
        assert_eq!(yard.info(&at).unwrap_err().code(), ErrorCode::UnknownTerminal);
    }
    let piped = run(yard, sh("sleep 600", PIPES, brief())).await;
    let error = yard.write(&at(&piped), chars("x", brief())).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::NoStdin);
    assert_eq!(yard.resize(&at(&piped), Size::DEFAULT).await.unwrap_err().code(), ErrorCode::NotATty);
    yard.kill(&at(&piped), None).await.unwrap();

    let done = run(yard, sh("echo over; exit 3", tty(), until("exit"))).await;
    let last = |window: &ptyard_yard::Window| window.exit.as_ref().and_then(|exit| exit.code);
    assert_eq!(last(&done), Some(3));
    assert_eq!(
        yard.write(&at(&done), chars("x", brief())).await.err().unwrap().code(),
        ErrorCode::TerminalExited
    );
    assert_eq!(yard.resize(&at(&done), Size::DEFAULT).await.unwrap_err().code(), ErrorCode::TerminalExited);
    let signal = yard.signal(&at(&done), Signal(15), Target::Program).await;
    assert_eq!(signal.unwrap_err().code(), ErrorCode::TerminalExited);
    // A poll of a finished one gives its final state, as often as asked.
    for _ in 0..2 {
        let again = yard.write(&at(&done), poll(brief())).await.unwrap().commit();
        assert_eq!((again.output.as_str(), last(&again), again.session_id), ("", Some(3), None));
    }
    let range = yard.read(&at(&done), Some(0), 100).await.unwrap();
    assert_eq!(range.data, b"over\r\n");
    assert_eq!(
        yard.read(&at(&done), Some(10_000), 100).await.unwrap_err().code(),
        ErrorCode::OffsetBeyondEnd
    );
}

#[tokio::test]
async fn input_that_cannot_be() {
    let stage = Stage::real();
    let yard = &stage.yard;
    let cat = run(yard, exec(&["cat"], tty(), brief())).await;
    let write = |input| WriteSpec { input, window: brief(), ..WriteSpec::default() };
    let keys = yard.write(&at(&cat), write(Some(TypedInput::Keys("C-c NoSuchKey".to_owned())))).await;
    assert_eq!(keys.err().unwrap().code(), ErrorCode::UnknownKey);
    let huge = yard.write(&at(&cat), write(Some(TypedInput::Bytes(vec![b'x'; 17 << 20])))).await;
    assert_eq!(huge.err().unwrap().code(), ErrorCode::InputTooLarge);
    // Case P05: the line discipline would cut this line without a word.
    let long = yard
        .write(&at(&cat), write(Some(TypedInput::Bytes([vec![b'x'; 6_000], b"\n".to_vec()].concat()))))
        .await;
    assert_eq!(long.err().unwrap().code(), ErrorCode::InvalidArgument);
    let alive =
        yard.write(&at(&cat), chars("still here\r", until("regex:still here\\s+still here"))).await.unwrap();
    assert_eq!(alive.window().ended_by, "regex", "{:?}", alive.window());
}
