//! The pseudo terminal: sizes, modes, job control.

use ptyard_core::Size;
use ptyard_terminal::backend::{ControlError, Io, Signal, Target};

use crate::support::{PIPES, Program, TTY};

#[tokio::test]
async fn case_r01_a_terminal_nobody_gave_a_size_has_the_default_one() {
    let (output, _) = Program::run(&["stty", "size"], TTY).await.finish().await;
    assert_eq!(output, "24 80\r\n");
}

#[tokio::test]
async fn case_r02_the_first_look_at_the_size_is_right() {
    let size = Size::new(132, 50).unwrap();
    for _ in 0..100 {
        let (output, _) = Program::run(&["stty", "size"], Io::Tty(size)).await.finish().await;
        assert_eq!(output, "50 132\r\n");
    }
}

#[tokio::test]
async fn a_resize_is_seen_and_signalled() {
    // A shell runs a trap only between commands: `wait` is ended by the signal, `read` is not.
    let script = "trap 'stty size; exit' WINCH; echo ready; sleep 600 & wait";
    let mut program = Program::run(&["sh", "-c", script], TTY).await;
    program.read_until("ready").await;
    program.control.resize(Size::new(100, 40).unwrap()).unwrap();
    program.read_until("40 100").await;
    let mut piped = Program::run(&["sleep", "600"], PIPES).await;
    assert_eq!(piped.control.resize(Size::DEFAULT), Err(ControlError::NotATty));
    assert_eq!(piped.control.tty_state(), None);
}

#[tokio::test]
async fn case_h06_a_stray_xoff_does_not_stop_the_output() {
    let mut program = Program::run(&["sh", "-c", "stty -a; cat"], TTY).await;
    let modes = program.read_until("extproc").await;
    let modes: Vec<&str> = modes.split([' ', '\r', '\n', ';']).collect();
    for on in ["iutf8", "icanon", "echo", "isig", "onlcr", "icrnl"] {
        assert!(modes.contains(&on), "{on} is off");
    }
    assert!(modes.contains(&"-ixon"));
    program.write(b"\x13still here\n").await;
    program.read_until("still here").await;
}

#[tokio::test]
async fn case_s06_the_terminal_is_the_controlling_one_and_ctrl_c_is_a_signal() {
    let mut program = Program::run(&["sleep", "600"], TTY).await;
    program.write(b"\x03").await;
    assert_eq!(program.exit().await.signal, Some(2));

    let mut shell = Program::run(&["bash", "--norc", "-i"], TTY).await;
    shell.write(b"echo no-$((40 + 2))\n").await;
    let output = shell.read_until("no-42").await;
    assert!(!output.contains("job control"), "{output}");
}

#[tokio::test]
async fn case_s06_a_signal_to_the_foreground_reaches_the_job_and_not_the_shell() {
    let mut shell = Program::run(&["bash", "--norc", "-i"], TTY).await;
    shell.write(b"sh -c 'echo job-$((1 + 1)); exec sleep 600'\n").await;
    shell.read_until("job-2").await;
    let state = shell.control.tty_state().unwrap();
    assert!(!state.program_in_foreground);
    assert_ne!(state.foreground_group, Some(shell.pid));
    shell.control.signal(Signal(2), Target::ForegroundGroup).unwrap();
    shell.write(b"echo status=$?\n").await;
    shell.read_until("status=130").await;
    shell.control.signal(Signal(9), Target::Program).unwrap();
    assert_eq!(shell.exit().await.signal, Some(9));
}

#[tokio::test]
async fn case_s07_a_program_without_a_terminal_can_be_interrupted() {
    let mut program =
        Program::run(&["sh", "-c", "sh -c 'echo ready; exec sleep 600'; echo not reached"], PIPES).await;
    program.read_until("ready").await;
    program.control.signal(Signal(2), Target::ForegroundGroup).unwrap();
    let (output, exit) = program.finish().await;
    assert_eq!((output.as_str(), exit.signal), ("ready\n", Some(2)));
}

#[tokio::test]
async fn case_s13_a_burst_of_interrupts_leaves_a_program_that_catches_them_alive() {
    let script = "trap 'echo got' INT; echo ready; while :; do read x && echo read-$x; done";
    let mut program = Program::run(&["sh", "-c", script], TTY).await;
    program.read_until("ready").await;
    for _ in 0..5 {
        program.control.signal(Signal(2), Target::ForegroundGroup).unwrap();
    }
    program.read_until("got").await;
    program.write(b"still\n").await;
    program.read_until("read-still").await;
}

#[tokio::test]
async fn tty_state_shows_line_mode_and_echo() {
    let mut program =
        Program::run(&["sh", "-c", "echo one; read x; stty raw -echo; echo two; cat"], TTY).await;
    program.read_until("one").await;
    let state = program.control.tty_state().unwrap();
    assert!(state.line_mode && state.echo && state.program_in_foreground);
    program.write(b"\n").await;
    program.read_until("two").await;
    let state = program.control.tty_state().unwrap();
    assert!(!state.line_mode && !state.echo);
}

#[tokio::test]
async fn a_signal_that_does_not_exist_is_refused() {
    let mut program = Program::run(&["sleep", "600"], PIPES).await;
    for target in [Target::Program, Target::ForegroundGroup] {
        assert!(matches!(program.control.signal(Signal(65), target), Err(ControlError::Os { .. })));
    }
}
