//! The process that carries a far program's streams.
//!
//! See `shared::carried`. It starts the client, passes on what comes of it, and takes the far shell's last word out.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::lasting;
use crate::shared::carried::{REST_LIMIT, lost};
use crate::shared::greeting::Ending;

/// Bytes read at a time.
const ROOM: usize = 64 << 10;

/// What becomes of the program when its connection breaks, as the first argument says it.
pub(super) const ENDS: &str = "ends";
pub(super) const LASTS: &str = "lasts";

/// Carries the streams of the client that `argv` starts, until it is over. `argv` is what becomes of a program whose
/// connection breaks, the word of the far shell, what `lasting` needs besides, and the client with its arguments. What
/// this gives is the status to exit with.
pub(crate) fn carry(argv: &[String]) -> u8 {
    let carried = make_transparent().and_then(|()| match argv {
        [kind, rest @ ..] if kind == LASTS => lasting::carry(rest),
        [kind, rest @ ..] if kind == ENDS => ending(rest),
        _ => Err(io::Error::other("what becomes of the program is missing")),
    });
    match carried {
        Ok(Some(code)) => code,
        Ok(None) => lost(),
        Err(error) => {
            // Heard by whoever waits for the far shell to greet.
            let _nobody = writeln!(io::stderr(), "{error}");
            lost()
        }
    }
}

/// Makes our tty so from the first moment on: the client would only some time after it connected, or has none.
fn make_transparent() -> io::Result<()> {
    if let Ok(mut modes) = tcgetattr(io::stdin()) {
        Termios::make_raw(&mut modes);
        tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
    }
    Ok(())
}

fn ending(argv: &[String]) -> io::Result<Option<u8>> {
    let [word, program, arguments @ ..] = argv else {
        return Err(io::Error::other("the word or the client is missing"));
    };
    let mut client = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn()?;
    let code = pump(&mut client, Ending::of(word));
    // It has ended, or holds a channel that nobody listens to.
    let _ended = client.kill();
    let _reaped = client.wait();
    code
}

/// Writes everything, also to what does not block: clients make their streams so, and ours are the same.
pub(super) fn write_all(mut out: impl Write + AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(&out, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                poll(&mut [PollFd::new(&out, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    out.flush()
}

/// Passes output on until it ends; the code that was said.
fn pump(client: &mut Child, mut ending: Ending) -> io::Result<Option<u8>> {
    let mut output = client.stdout.take().ok_or_else(|| io::Error::other("the client has no output"))?;
    // Of a bounded number of pieces: while our output is not taken, the client's is not read.
    let (pieces, received) = mpsc::sync_channel::<Vec<u8>>(4);
    std::thread::spawn(move || {
        let mut room = vec![0; ROOM];
        while let Ok(read @ 1..) = output.read(&mut room) {
            if pieces.send(room[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    let (mut stdout, mut code, mut passed) = (io::stdout().lock(), None, Vec::new());
    loop {
        let piece = match code {
            None => received.recv().ok(),
            Some(_) => received.recv_timeout(REST_LIMIT).ok(),
        };
        passed.clear();
        match &piece {
            Some(piece) => code = ending.hear(piece, &mut passed).or(code),
            None => passed.append(&mut ending.rest()),
        }
        write_all(&mut stdout, &passed)?;
        if piece.is_none() {
            return Ok(code.and_then(|code| u8::try_from(code).ok()));
        }
    }
}
