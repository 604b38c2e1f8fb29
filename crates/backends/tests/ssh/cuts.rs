//! A network that breaks, whenever it does.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use ptyard_core::{ErrorCode, Exit};
use ptyard_terminal::backend::{Backend, Io, Placing, StartSpec, Started, Stdin};
use ptyard_testkit::places::ssh::{HOST, SshServer};
use ptyard_testkit::{any_id, soon, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::configured;

/// Between us and the server. It breaks all connections when so many pieces have passed, in either direction, and passes
/// on whatever comes afterwards.
struct Network {
    port: u16,
    cut: watch::Sender<bool>,
}

impl Network {
    async fn before(server: &SshServer, pieces: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, target) = (listener.local_addr().unwrap().port(), server.port());
        let (cut, passed) = (watch::Sender::new(false), Arc::new(AtomicUsize::new(0)));
        let cutter = cut.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (cutter, passed) = (cutter.clone(), Arc::clone(&passed));
                tokio::spawn(async move {
                    let mut broken = cutter.subscribe();
                    let Ok(far) = TcpStream::connect(("127.0.0.1", target)).await else { return };
                    let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
                    let count = || {
                        if passed.fetch_add(1, Ordering::Relaxed) + 1 == pieces {
                            cutter.send_replace(true);
                        }
                    };
                    tokio::select! {
                        () = pass(from_near, to_far, count) => {}
                        () = pass(from_far, to_near, count) => {}
                        _broken = broken.changed() => {}
                    }
                });
            }
        });
        Self { port, cut }
    }

    fn has_cut(&self) -> bool {
        *self.cut.borrow()
    }
}

async fn pass(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Unpin, count: impl Fn()) {
    let mut room = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut room).await {
        if to.write_all(&room[..read]).await.is_err() {
            return;
        }
        count();
    }
}

/// What came until the end, and the end. `go` is typed once something has come.
async fn converse(program: &mut Started) -> (String, Exit) {
    let Started { source, sink, control, .. } = program;
    let (mut output, mut room, mut is_over, mut left) = (Vec::new(), [0; 64], false, &b"go\n"[..]);
    let exit = poll_fn(|cx| {
        while !is_over {
            match source.poll_read(cx, &mut room) {
                Poll::Ready(Ok(n @ 1..)) => output.extend_from_slice(&room[..n]),
                Poll::Ready(_) => is_over = true,
                Poll::Pending => break,
            }
        }
        while !output.is_empty() && !left.is_empty() {
            match sink.as_mut().unwrap().poll_write(cx, left) {
                Poll::Ready(Ok(written)) => left = &left[written..],
                // Nobody reads it any more.
                Poll::Ready(Err(_)) => left = b"",
                Poll::Pending => break,
            }
        }
        let exit = control.poll_exit(cx);
        if is_over { exit } else { Poll::Pending }
    });
    let exit = soon("the end", exit).await;
    (String::from_utf8(output).unwrap(), exit)
}

/// Processes of this machine with this among their arguments.
fn living(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap();
    let shows = |path: std::path::PathBuf| {
        std::fs::read(path.join("cmdline"))
            .is_ok_and(|line| line.split(|&byte| byte == 0).any(|word| word == mark.as_bytes()))
    };
    all.flatten().filter(|entry| shows(entry.path())).count()
}

/// A short conversation over a network that breaks after so many pieces; whether it had as many.
async fn cut_after(server: &SshServer, pieces: usize) -> bool {
    let network = Network::before(server, pieces).await;
    let backend = Arc::new(configured(server.configuration_through(network.port))).at(HOST).unwrap();
    let id = any_id();
    let mark = format!("cut-{id}");
    // Nothing ends it but its own end, or whoever ends it.
    let script = "trap '' HUP; echo first; read -r x || sleep 600; echo last-$x; exit 3";
    let spec = StartSpec {
        id,
        argv: ["sh", "-c", script, &mark].map(str::to_owned).to_vec(),
        cwd: "/".into(),
        env: [("PTYARD_TERMINAL".to_owned(), id.to_string())].into(),
        io: Io::Pipes(Stdin::Pipe),
        ceilings: Default::default(),
        title: None,
        placing: Placing::Exact,
    };
    match soon("the start", backend.start(spec)).await {
        Ok(mut program) => {
            let (output, exit) = converse(&mut program).await;
            let whole = "first\nlast-go\n";
            assert!(whole.starts_with(&output), "{pieces}: {output:?}");
            if exit.code.is_some() {
                assert_eq!((output.as_str(), &exit), (whole, &Exit::exited(3)), "{pieces}");
            } else {
                assert_eq!(exit, Exit::lost(), "{pieces}");
                assert!(network.has_cut(), "{pieces}: nothing broke");
            }
        }
        Err(error) => {
            assert!(network.has_cut(), "{pieces}: {error}");
            assert_eq!(error.code, ErrorCode::BackendUnreachable, "{pieces}: {error}");
        }
    }
    until("nothing is left there", || living(&mark) == 0).await;
    network.has_cut()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_04_a_network_that_breaks_after_any_piece_is_told_as_what_it_is() {
    let Some(server) = SshServer::start() else { return };
    let server = Arc::new(server);
    let (mut pieces, mut is_longer) = (0, true);
    while is_longer {
        let one = |n| {
            let server = Arc::clone(&server);
            tokio::spawn(async move { cut_after(&server, n).await })
        };
        let some: Vec<_> = (pieces + 1..=pieces + 8).map(one).collect();
        pieces += 8;
        for one in some {
            is_longer &= one.await.unwrap();
        }
    }
    // Keys, login, channel and the conversation itself.
    assert!(pieces > 16, "{pieces}");
}
