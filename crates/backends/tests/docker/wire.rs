//! What a real engine does rarely, played: bytes in the header's segment, pieces cut anywhere, an end before the last
//! bytes, streams that break.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use ptyard_backends::docker::{Address, Docker};
use ptyard_core::{Cause, ErrorCode, Exit, TerminalId};
use ptyard_terminal::backend::{Backend, Io, StartError, StartSpec, Started, Stdin};
use ptyard_testkit::soon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

/// What happens after the program was started.
#[derive(Debug, Clone)]
enum Act {
    /// These bytes come, in a segment of their own; the first ones with the header.
    Print(Vec<u8>),
    /// The end is told.
    End(i32),
    /// Time passes.
    Pause(Duration),
    /// The program's stream ends here.
    Close,
    /// Nothing more is told of the container.
    Silence,
}

/// An engine with one container and one program.
#[derive(Clone)]
struct Engine {
    acts: Arc<Mutex<VecDeque<Act>>>,
    starts: Arc<Mutex<u32>>,
    /// The end that was told, and whether anything is told at all.
    told: watch::Sender<(Option<i32>, bool)>,
    /// Whether a start is answered.
    answers: bool,
}

const UPGRADE: &[u8] = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

impl Engine {
    fn playing(acts: impl IntoIterator<Item = Act>) -> Self {
        let acts = Arc::new(Mutex::new(acts.into_iter().collect()));
        Self { acts, starts: Arc::default(), told: watch::channel((None, true)).0, answers: true }
    }

    async fn serve(self, mut wire: UnixStream) {
        let mut request = Vec::new();
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            if wire.read_buf(&mut request).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        match path.as_str() {
            "/containers/c/json" => answer(&mut wire, r#"{"Id":"c","State":{"Running":true}}"#).await,
            "/containers/c/exec" => {
                let mut body = request;
                // The look inside is the only one as root.
                while !body.ends_with('}') {
                    let mut more = [0; 65536];
                    let read = wire.read(&mut more).await.unwrap_or(0);
                    if read == 0 {
                        return;
                    }
                    body += &String::from_utf8_lossy(&more[..read]);
                }
                let id = if body.contains(r#""User":"0""#) { "look" } else { "program" };
                answer(&mut wire, &format!(r#"{{"Id":"{id}"}}"#)).await;
            }
            "/exec/look/start" => {
                let _gone = wire.write_all(&[UPGRADE, b"found 0\r\nleft \r\n"].concat()).await;
            }
            "/exec/look/json" => answer(&mut wire, r#"{"Running":false,"ExitCode":0,"Pid":8}"#).await,
            "/exec/program/json" => {
                let state = match self.told.borrow().0 {
                    Some(code) => format!(r#"{{"Running":false,"ExitCode":{code},"Pid":7}}"#),
                    None => r#"{"Running":true,"ExitCode":null,"Pid":7}"#.to_owned(),
                };
                answer(&mut wire, &state).await;
            }
            "/exec/program/start" => self.play(wire).await,
            path if path.starts_with("/events") => self.tell(wire).await,
            other => panic!("nobody should ask for {other}"),
        }
    }

    async fn play(self, mut wire: UnixStream) {
        *self.starts.lock().unwrap() += 1;
        if !self.answers {
            return;
        }
        let mut segment = UPGRADE.to_vec();
        loop {
            let act = self.acts.lock().unwrap().pop_front();
            match act {
                Some(Act::Print(bytes)) => segment.extend(bytes),
                Some(Act::End(code)) => self.told.send_modify(|told| told.0 = Some(code)),
                Some(Act::Pause(time)) => tokio::time::sleep(time).await,
                Some(Act::Silence) => self.told.send_modify(|told| told.1 = false),
                Some(Act::Close) => return,
                None => std::future::pending().await,
            }
            let _gone = wire.write_all(&std::mem::take(&mut segment)).await;
            tokio::task::yield_now().await;
        }
    }

    async fn tell(self, mut wire: UnixStream) {
        let mut told = self.told.subscribe();
        let _gone = wire.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n").await;
        let (code, is_heard) = *told.wait_for(|(code, is_heard)| code.is_some() || !is_heard).await.unwrap();
        if let (Some(code), true) = (code, is_heard) {
            let event = format!(
                r#"{{"Action":"exec_die","Actor":{{"Attributes":{{"execID":"program","exitCode":"{code}"}}}}}}"#
            );
            // Split, as everything may be.
            let (first, second) = event.split_at(30);
            let _gone = wire.write_all(first.as_bytes()).await;
            let _gone = wire.write_all(second.as_bytes()).await;
        }
    }

    async fn start(&self) -> Result<Started, StartError> {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let engine = self.clone();
        tokio::spawn(async move {
            let _kept = directory;
            while let Ok((wire, _)) = listener.accept().await {
                tokio::spawn(engine.clone().serve(wire));
            }
        });
        let docker = Arc::new(Docker::new(Address::Unix(socket)));
        let spec = StartSpec {
            id: TerminalId::from_bits(5),
            argv: vec!["program".to_owned()],
            cwd: Default::default(),
            env: Default::default(),
            io: Io::Pipes(Stdin::Null),
            ceilings: Default::default(),
            title: None,
        };
        soon("the start", docker.at("container=c").unwrap().start(spec)).await
    }
}

async fn answer(wire: &mut UnixStream, body: &str) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let _gone = wire.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await;
}

fn piece(stream: u8, bytes: &str) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&[stream, 0, 0, 0], length.as_slice(), bytes.as_bytes()].concat()
}

/// The whole output, whether it ended in order, and the end.
async fn finish(program: &mut Started) -> (String, bool, Exit) {
    let Started { source, control, .. } = program;
    let (mut output, mut room, mut end) = (Vec::new(), [0; 5], None);
    let exit = poll_fn(|cx| {
        while end.is_none() {
            match source.poll_read(cx, &mut room) {
                Poll::Ready(Ok(0)) => end = Some(true),
                Poll::Ready(Ok(n)) => output.extend_from_slice(&room[..n]),
                Poll::Ready(Err(_)) => end = Some(false),
                Poll::Pending => break,
            }
        }
        let exit = control.poll_exit(cx);
        if end.is_some() { exit } else { Poll::Pending }
    });
    let exit = soon("the end", exit).await;
    (String::from_utf8(output).unwrap(), end == Some(true), exit)
}

#[tokio::test]
async fn d1_bytes_in_the_segment_of_the_header_are_output() {
    let printed = [piece(1, "out\n"), piece(2, "err\n")].concat();
    for cut in 0..printed.len() {
        let (first, second) = printed.split_at(cut);
        let acts = [Act::Print(first.to_vec()), Act::Print(second.to_vec()), Act::End(3), Act::Close];
        let mut program = Engine::playing(acts).start().await.unwrap();
        assert_eq!(finish(&mut program).await, ("out\nerr\n".to_owned(), true, Exit::exited(3)), "{cut}");
    }
}

#[tokio::test]
async fn r12_an_end_that_is_told_early_does_not_cut_the_output() {
    let acts = [
        Act::Print(piece(1, "first ")),
        Act::End(0),
        Act::Pause(Duration::from_millis(100)),
        Act::Print(piece(1, "last")),
        Act::Close,
    ];
    let mut program = Engine::playing(acts).start().await.unwrap();
    let exit = soon("the early end", poll_fn(|cx| program.control.poll_exit(cx))).await;
    assert_eq!(exit, Exit::exited(0));
    assert_eq!(finish(&mut program).await, ("first last".to_owned(), true, Exit::exited(0)));
}

#[tokio::test]
async fn a_stream_that_breaks_with_the_engine_is_lost_and_no_exit_code() {
    let mut cut = piece(1, "abcdef");
    cut.truncate(11);
    let mut program = Engine::playing([Act::Print(cut), Act::Silence, Act::Close]).start().await.unwrap();
    let (output, in_order, exit) = finish(&mut program).await;
    assert_eq!((output.as_str(), in_order, exit.cause), ("abc", false, Cause::Lost));
}

#[tokio::test]
async fn d3_a_start_that_is_not_answered_is_not_tried_again() {
    let engine = Engine { answers: false, ..Engine::playing([]) };
    let error = engine.start().await.err().unwrap();
    assert_eq!(error.code, ErrorCode::BackendUnreachable, "{error}");
    assert_eq!(*engine.starts.lock().unwrap(), 1);
}
