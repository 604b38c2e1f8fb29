//! How programs end, and what is known then.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use ptyard_core::Exit;
use ptyard_terminal::backend::{ControlError, Signal, Target};

use crate::support::{PIPES, Program, TTY};

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    for io in [TTY, PIPES] {
        for code in [0, 3, 137, 255] {
            let (_, exit) = Program::run(&["sh", "-c", &format!("exit {code}")], io).await.finish().await;
            assert_eq!(exit, Exit::exited(code));
        }
        let (_, exit) = Program::run(&["sh", "-c", "kill -TERM $$"], io).await.finish().await;
        assert_eq!(exit, Exit::signaled(15));
        let (_, exit) = Program::run(&["sh", "-c", "kill -9 $$"], io).await.finish().await;
        assert_eq!(exit, Exit::signaled(9));
    }
}

#[tokio::test]
async fn case_x05_a_program_that_runs_has_no_code_and_the_end_can_be_asked_for_again() {
    let mut program = Program::run(&["sh", "-c", "read x; exit 4"], TTY).await;
    let pending = poll_fn(|cx| Poll::Ready(program.control.poll_exit(cx).is_pending())).await;
    assert!(pending);
    program.write(b"\n").await;
    assert_eq!(program.exit().await, Exit::exited(4));
    assert_eq!(program.exit().await, Exit::exited(4));
}

#[tokio::test]
async fn case_s09_no_signal_is_sent_after_the_end_was_seen() {
    for io in [TTY, PIPES] {
        let mut program = Program::run(&["true"], io).await;
        program.exit().await;
        for target in [Target::Program, Target::ForegroundGroup] {
            assert_eq!(program.control.signal(Signal(15), target), Err(ControlError::Exited));
        }
        let report = program.kill(Duration::from_secs(5)).await;
        assert_eq!((report.found, report.last_signal), (0, None));
    }
}

#[tokio::test]
async fn r23_the_end_is_known_while_a_descendant_still_holds_the_output() {
    for io in [TTY, PIPES] {
        // The child is told by a trap that it is not to go with the tty.
        let script = "trap '' HUP; sleep 600 & echo started";
        let mut program = Program::run(&["sh", "-c", script], io).await;
        program.read_until("started").await;
        assert_eq!(program.exit().await, Exit::exited(0));
        assert_eq!(program.control.descendants(), 1);
        let report = program.kill(Duration::ZERO).await;
        assert_eq!((report.found, report.last_signal), (1, Some(9)));
        assert_eq!(program.control.descendants(), 0);
        program.read_to_end().await;
    }
}

#[tokio::test]
async fn all_output_before_the_end_is_read_even_when_it_is_read_late() {
    for (io, newline) in [(TTY, "\r\n"), (PIPES, "\n")] {
        let mut program = Program::run(&["sh", "-c", "echo one; echo two >&2; printf three"], io).await;
        program.exit().await;
        let output = program.read_to_end().await;
        assert_eq!(output, format!("one{newline}two{newline}three"));
        assert!(!program.read().await, "the end stays the end");
    }
}

#[tokio::test]
async fn case_w10_output_and_errors_come_in_the_order_they_were_written() {
    let script = "for i in 1 2 3 4 5 6 7 8; do echo o$i; echo e$i >&2; done";
    for _ in 0..10 {
        let (output, _) = Program::run(&["sh", "-c", script], PIPES).await.finish().await;
        let expected: String = (1..=8).map(|i| format!("o{i}\ne{i}\n")).collect();
        assert_eq!(output, expected);
    }
}
