//! SEC01: who asked must still be there when the answer is written.

use std::time::Duration;

use ptyard_core::Size;
use ptyard_terminal::Typed;
use ptyard_terminal::backend::{Io, TtyState};

use crate::stage::Stage;

/// A program in raw mode, in a group of its own, that is no line editor.
const ASKING: TtyState = TtyState {
    line_mode: false,
    echo: false,
    line_editor: false,
    flow_control: false,
    foreground_group: Some(20),
    program_in_foreground: false,
};

/// The answer to [`QUESTION`].
const ANSWER: &[u8] = b"\x1b[0n";

const QUESTION: &[u8] = b"\x1b[5n";

/// A program that asks while its terminal takes no input: the answer waits.
async fn asked(first: TtyState) -> Stage {
    let stage = Stage::new(Io::Tty(Size::DEFAULT)).await;
    stage.script.set_tty(first);
    stage.script.take_at_most(Some(0));
    stage.print(QUESTION).await;
    stage.settles().await;
    assert!(stage.script.input().is_empty());
    stage
}

/// Lets the terminal take input, and gives what it took.
async fn taken(stage: &Stage) -> Vec<u8> {
    stage.script.take_at_most(None);
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.script.input()
}

#[tokio::test(start_paused = true)]
async fn case_sec01_an_answer_that_had_to_wait_is_written_only_to_who_asked() {
    let shell = TtyState { foreground_group: Some(10), program_in_foreground: true, ..ASKING };
    let other_job = TtyState { foreground_group: Some(30), ..ASKING };
    for (asker, reader, is_written) in [
        (ASKING, ASKING, true),
        (ASKING, TtyState { line_mode: true, ..ASKING }, false),
        (ASKING, TtyState { line_editor: true, ..ASKING }, false),
        // The shell's own line editor need not be one that can be told: that it waited for the asker is enough.
        (ASKING, shell, false),
        (ASKING, other_job, true),
        (shell, shell, true),
        (shell, TtyState { line_editor: true, ..shell }, false),
    ] {
        let stage = asked(asker).await;
        stage.script.set_tty(reader);
        let expected = if is_written { ANSWER } else { b"" };
        assert_eq!(taken(&stage).await, expected, "{asker:?} then {reader:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn case_sec01_what_is_typed_behind_a_dropped_answer_is_typed() {
    let stage = asked(ASKING).await;
    let terminal = stage.terminal.clone();
    let typing = tokio::spawn(async move { terminal.type_in(Typed::raw(&b"typed"[..])).await.unwrap() });
    stage.settles().await;
    stage.script.set_tty(TtyState { line_editor: true, ..ASKING });
    assert_eq!(taken(&stage).await, b"typed");
    assert_eq!(typing.await.unwrap().taken, 5);
}

#[tokio::test(start_paused = true)]
async fn case_sec01_a_question_read_when_a_line_editor_reads_is_not_answered() {
    let stage = Stage::new(Io::Tty(Size::DEFAULT)).await;
    stage.script.set_tty(TtyState { line_editor: true, program_in_foreground: true, ..ASKING });
    stage.print(QUESTION).await;
    assert_eq!(taken(&stage).await, b"");
    // The next one, by a program that took the terminal since, is.
    stage.script.set_tty(ASKING);
    stage.print(QUESTION).await;
    assert_eq!(taken(&stage).await, ANSWER);
}
