//! What a real engine does rarely, played: bytes in the header's segment, pieces cut anywhere, an end before the last
//! bytes, streams that break.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use ptyard_backends::docker::{Address, Docker};
use ptyard_core::{Cause, ErrorCode, Exit, TerminalId};
use ptyard_terminal::backend::{Backend, Io, Placing, StartError, StartSpec, Started, Stdin};
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
    cutter: Cutter,
}

/// Breaks all connections at once when so many messages have passed, in either direction.
#[derive(Clone)]
struct Cutter {
    at: usize,
    afterwards: Afterwards,
    passed: Arc<AtomicUsize>,
    cut: watch::Sender<bool>,
}

/// What becomes of an engine whose connections broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Afterwards {
    /// It answers again.
    Back,
    /// It is not there any more.
    Gone,
}

impl Cutter {
    fn after(at: usize, afterwards: Afterwards) -> Self {
        Self { at, afterwards, passed: Arc::default(), cut: watch::Sender::new(false) }
    }

    /// A message has passed. Does not return when it was the last one.
    async fn passed(&self) {
        if self.passed.fetch_add(1, Ordering::Relaxed) + 1 == self.at {
            self.cut.send_replace(true);
            std::future::pending::<()>().await;
        }
    }

    fn has_cut(&self) -> bool {
        *self.cut.borrow()
    }
}

const UPGRADE: &[u8] = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

impl Engine {
    fn playing(acts: impl IntoIterator<Item = Act>) -> Self {
        let acts = Arc::new(Mutex::new(acts.into_iter().collect()));
        Self {
            acts,
            starts: Arc::default(),
            told: watch::channel((None, true)).0,
            answers: true,
            cutter: Cutter::after(usize::MAX, Afterwards::Back),
        }
    }

    async fn serve(self, wire: UnixStream) {
        let cutter = self.cutter.clone();
        let mut cut = cutter.cut.subscribe();
        // Connections from after the cut stay.
        let is_broken = async {
            match cut.changed().await {
                Ok(()) => {}
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.answer(wire) => {}
            () = is_broken => {}
        }
    }

    async fn answer(self, mut wire: UnixStream) {
        let mut request = Vec::new();
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            if wire.read_buf(&mut request).await.unwrap_or(0) == 0 {
                return;
            }
        }
        self.cutter.passed().await;
        let cutter = self.cutter.clone();
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
        cutter.passed().await;
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
            self.cutter.passed().await;
        }
    }

    async fn tell(self, mut wire: UnixStream) {
        let mut told = self.told.subscribe();
        let _gone = wire.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n").await;
        self.cutter.passed().await;
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
                let Cutter { afterwards, .. } = engine.cutter;
                if afterwards == Afterwards::Gone && engine.cutter.has_cut() {
                    continue;
                }
                tokio::spawn(engine.clone().serve(wire));
            }
        });
        let docker = Arc::new(Docker::new(Address::Unix(socket), crate::carrier()));
        let spec = StartSpec {
            id: TerminalId::from_bits(5),
            argv: vec!["program".to_owned()],
            cwd: Default::default(),
            env: Default::default(),
            io: Io::Pipes(Stdin::Null),
            ceilings: Default::default(),
            title: None,
            placing: Placing::Exact,
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

/// The whole output and the end.
pub(crate) async fn finish(program: &mut Started) -> (String, Exit) {
    let Started { source, control, .. } = program;
    let (mut output, mut room, mut is_over) = (Vec::new(), [0; 5], false);
    let exit = poll_fn(|cx| {
        while !is_over {
            match source.poll_read(cx, &mut room) {
                Poll::Ready(Ok(n @ 1..)) => output.extend_from_slice(&room[..n]),
                Poll::Ready(_) => is_over = true,
                Poll::Pending => break,
            }
        }
        let exit = control.poll_exit(cx);
        if is_over { exit } else { Poll::Pending }
    });
    let exit = soon("the end", exit).await;
    (String::from_utf8(output).unwrap(), exit)
}

#[tokio::test]
async fn d1_bytes_in_the_segment_of_the_header_are_output() {
    let printed = [piece(1, "out\n"), piece(2, "err\n")].concat();
    for cut in 0..printed.len() {
        let (first, second) = printed.split_at(cut);
        let acts = [Act::Print(first.to_vec()), Act::Print(second.to_vec()), Act::End(3), Act::Close];
        let mut program = Engine::playing(acts).start().await.unwrap();
        assert_eq!(finish(&mut program).await, ("out\nerr\n".to_owned(), Exit::exited(3)), "{cut}");
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
    assert_eq!(finish(&mut program).await, ("first last".to_owned(), Exit::exited(0)));
}

#[tokio::test]
async fn a_stream_that_breaks_with_the_engine_is_lost_and_no_exit_code() {
    let mut cut = piece(1, "abcdef");
    cut.truncate(11);
    let mut program = Engine::playing([Act::Print(cut), Act::Silence, Act::Close]).start().await.unwrap();
    let (output, exit) = finish(&mut program).await;
    assert_eq!((output.as_str(), exit.cause), ("abc", Cause::Lost));
}

#[tokio::test]
async fn d3_a_start_that_is_not_answered_is_not_tried_again() {
    let engine = Engine { answers: false, ..Engine::playing([]) };
    let error = engine.start().await.err().unwrap();
    assert_eq!(error.code, ErrorCode::BackendUnreachable, "{error}");
    assert_eq!(*engine.starts.lock().unwrap(), 1);
}

/// How a short conversation went whose connections broke after so many messages; `None` when it had fewer.
async fn cut_after(messages: usize, afterwards: Afterwards) -> Option<()> {
    let acts = [
        Act::Print(piece(1, "first ")),
        Act::Pause(Duration::from_millis(20)),
        Act::Print(piece(1, "last")),
        Act::End(3),
        Act::Close,
    ];
    let cutter = Cutter::after(messages, afterwards);
    let engine = Engine { cutter: cutter.clone(), ..Engine::playing(acts) };
    let started = engine.start().await;
    match started {
        Ok(mut program) => {
            let (output, exit) = finish(&mut program).await;
            let (printed, told) =
                output.split_once("\r\n[ptyard: ").map_or((output.as_str(), false), |(all, _)| (all, true));
            assert!("first last".starts_with(printed), "{messages} {afterwards:?}: {output:?}");
            match exit.code {
                Some(code) => {
                    assert_eq!(code, 3, "{messages} {afterwards:?}");
                    assert!(told || printed == "first last", "{messages} {afterwards:?}: {output:?}");
                }
                None => assert_eq!(exit, Exit::lost(), "{messages} {afterwards:?}"),
            }
        }
        Err(error) => {
            assert!(cutter.has_cut(), "{error}");
            assert_eq!(error.code, ErrorCode::BackendUnreachable, "{messages} {afterwards:?}: {error}");
        }
    }
    assert!(*engine.starts.lock().unwrap() <= 1, "{messages} {afterwards:?}: it was started twice");
    cutter.has_cut().then_some(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_04_connections_that_break_after_any_message_are_told_as_what_they_are() {
    for afterwards in [Afterwards::Back, Afterwards::Gone] {
        let mut messages = 0;
        let mut is_longer = true;
        while is_longer {
            let some: Vec<_> = (1..=8).map(|n| tokio::spawn(cut_after(messages + n, afterwards))).collect();
            messages += 8;
            for one in some {
                is_longer &= one.await.unwrap().is_some();
            }
        }
        // A look, the making, the watch, the start, its pieces and its end, each with its answer.
        assert!(messages > 16, "{messages}");
    }
}
