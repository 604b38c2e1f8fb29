//! Typing, its limits, and its end.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ptyard_core::Exit;
use ptyard_terminal::backend::ControlError;

use crate::support::{PIPES, PIPES_WITH_STDIN, Program, TTY, within};

#[tokio::test]
async fn case_e02_the_end_of_input_reaches_a_program_with_a_line_begun() {
    let mut program = Program::run(&["cat"], TTY).await;
    program.write(b"abc").await;
    program.close().await.unwrap();
    let (output, exit) = program.finish().await;
    assert_eq!((output.as_str(), exit), ("abcabc", Exit::exited(0)));
}

#[tokio::test]
async fn case_e04_the_end_of_input_reaches_sort_on_a_tty_and_on_pipes() {
    for io in [TTY, PIPES_WITH_STDIN] {
        let mut program = Program::run(&["sort"], io).await;
        program.write(b"b\na\n").await;
        program.close().await.unwrap();
        assert_eq!(program.close().await, Err(ControlError::StdinClosed));
        let (output, exit) = program.finish().await;
        assert_eq!(exit, Exit::exited(0));
        assert!(output.replace('\r', "").ends_with("a\nb\n"), "{output:?}");
    }
}

#[tokio::test]
async fn case_e04_a_program_that_reads_raw_keys_has_no_end_of_input() {
    let mut program = Program::run(&["sh", "-c", "stty raw -echo; echo ready; cat"], TTY).await;
    program.read_until("ready").await;
    assert_eq!(program.close().await, Err(ControlError::RawMode));
    program.write(b"still open").await;
    program.read_until("still open").await;
}

#[tokio::test]
async fn the_first_bytes_are_taken_before_the_runtime_has_heard_of_any_room() {
    for io in [TTY, PIPES_WITH_STDIN] {
        let mut program = Program::run(&["cat"], io).await;
        let sink = program.sink.as_mut().unwrap();
        // A write whose deadline has passed is tried once, and has nothing else to go by.
        let taken = sink.poll_write(&mut Context::from_waker(Waker::noop()), b"hello\n");
        assert!(matches!(taken, Poll::Ready(Ok(6))), "{taken:?} {io:?}");
    }
}

#[tokio::test]
async fn case_e05_input_written_before_the_close_arrives_whole() {
    let mut program = Program::run(&["wc", "-c"], PIPES_WITH_STDIN).await;
    program.write(&vec![b'x'; 1_048_576]).await;
    program.close().await.unwrap();
    let (output, _) = program.finish().await;
    assert_eq!(output.trim(), "1048576");
}

#[tokio::test]
async fn case_h01_a_program_that_does_not_read_holds_nothing_up_and_can_be_ended() {
    let script = "stty raw -echo; echo ready; exec sleep 600";
    let mut program = Program::run(&["sh", "-c", script], TTY).await;
    program.read_until("ready").await;
    let megabyte = vec![b'x'; 1 << 20];
    let mut taken = 0;
    loop {
        let sink = program.sink.as_mut().unwrap();
        let write = poll_fn(|cx| Poll::Ready(sink.poll_write(cx, &megabyte[taken..]))).await;
        match write {
            Poll::Ready(n) => taken += n.unwrap(),
            // The kernel moves what was taken on in the background, so the first refusal may not be the last;
            // that it refuses at all is the point.
            Poll::Pending => break,
        }
    }
    assert!((1..200_000).contains(&taken), "{taken}");
    assert!(program.control.tty_state().is_some());
    assert_eq!(program.kill(Duration::from_secs(5)).await.survivors, Vec::<u32>::new());
}

#[tokio::test]
async fn case_h03_a_large_input_and_a_large_output_are_pumped_together() {
    for (io, program) in
        [(PIPES_WITH_STDIN, "echo go; cat"), (TTY, "stty raw -echo; echo go; head -c 3000000")]
    {
        let mut program = Program::run(&["sh", "-c", program], io).await;
        program.read_until("go").await;
        let input = vec![b'x'; 3_000_000];
        let (mut written, mut sink) = (0, program.sink.take().unwrap());
        let write = async {
            while written < input.len() {
                written += poll_fn(|cx| sink.poll_write(cx, &input[written..])).await.unwrap();
            }
            if io == PIPES_WITH_STDIN {
                poll_fn(|cx| sink.poll_close(cx)).await.unwrap();
            }
        };
        let (output, ()) = within("all of it", async { tokio::join!(program.read_to_end(), write) }).await;
        assert_eq!(output.trim_start_matches(['g', 'o', '\r', '\n']).len(), 3_000_000, "{io:?}");
    }
}

#[tokio::test]
async fn case_p08_what_is_typed_into_a_raw_tty_arrives_byte_for_byte() {
    let mut program =
        Program::run(&["sh", "-c", "stty raw -echo; echo ready; exec od -An -v -tx1 -N 256"], TTY).await;
    program.read_until("ready").await;
    let all: Vec<u8> = (0..=255).collect();
    program.write(&all).await;
    let (output, _) = program.finish().await;
    let typed: Vec<u8> = output
        .split_whitespace()
        .filter_map(|hex| u8::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 2))
        .collect();
    assert_eq!(typed, all);
}

#[tokio::test]
async fn writing_to_a_program_that_has_ended_is_a_broken_pipe() {
    for io in [TTY, PIPES_WITH_STDIN] {
        let mut program = Program::run(&["true"], io).await;
        program.exit().await;
        program.read_to_end().await;
        let sink = program.sink.as_mut().unwrap();
        let error = within("an answer", poll_fn(|cx| sink.poll_write(cx, b"x"))).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe, "{io:?}");
    }
}

#[tokio::test]
async fn case_w05_stdin_is_never_the_servers() {
    // The test's own stdin would block or give something; /dev/null ends at once.
    let program = Program::run(&["sh", "-c", "readlink /proc/self/fd/0; cat"], PIPES).await;
    assert!(program.sink.is_none());
    let (output, exit) = program.finish().await;
    assert_eq!((output.as_str(), exit), ("/dev/null\n", Exit::exited(0)));
}
