//! tmux, on a server of its own, with `pipe-pane` as its log.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::Command;

use crate::Outcome;

/// How often the log's length is looked at. Its writer gives no sign of its own that all is there.
const LOOK: Duration = Duration::from_millis(2);

/// A drain that makes no progress for this long has failed.
const STALLED: Duration = Duration::from_secs(30);

/// Whether there is a tmux.
pub(crate) async fn is_here() -> bool {
    Command::new("tmux").arg("-V").stdout(Stdio::null()).status().await.is_ok_and(|status| status.success())
}

/// Seconds from the start of `cat corpus` until `pipe-pane`'s log has all `expected` bytes. `pipe-pane` passes on what
/// it read from the terminal as it was, so the log's length is known.
pub(crate) async fn drain(corpus: &Path, expected: u64) -> Outcome<f64> {
    let dir = tempfile::tempdir()?;
    let [socket, go, log] = ["socket", "go", "log"].map(|name| dir.path().join(name));
    rustix::fs::mkfifoat(rustix::fs::CWD, &go, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
    let tmux = |args: &[&str]| {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(args);
        command.env_remove("TMUX").stdin(Stdio::null());
        command
    };
    let program = format!("cat '{}' >/dev/null; cat '{}'; exec sleep 60", go.display(), corpus.display());
    succeed(tmux(&["new-session", "-d", "-x", "80", "-y", "24", &program])).await?;
    succeed(tmux(&["pipe-pane", "-o", &format!("cat > '{}'", log.display())])).await?;
    let gate = tokio::fs::OpenOptions::new().write(true).open(&go).await?;
    let started = Instant::now();
    drop(gate);
    let outcome = grow_to(&log, expected).await;
    let took = started.elapsed().as_secs_f64();
    succeed(tmux(&["kill-server"])).await?;
    outcome?;
    Ok(took)
}

/// Ends the server whose socket is under this `TMUX_TMPDIR`, if there is one.
pub(crate) async fn end(directory: &Path) -> Outcome<()> {
    let mut command = Command::new("tmux");
    command.env("TMUX_TMPDIR", directory).env_remove("TMUX").arg("kill-server");
    let _gone = command.stdin(Stdio::null()).stderr(Stdio::null()).status().await?;
    Ok(())
}

async fn grow_to(log: &Path, expected: u64) -> Outcome<()> {
    let (mut seen, mut moved) = (0, Instant::now());
    loop {
        let length = std::fs::metadata(log).map_or(0, |log| log.len());
        if length >= expected {
            return Ok(());
        }
        if length > seen {
            (seen, moved) = (length, Instant::now());
        } else if moved.elapsed() > STALLED {
            return Err(format!("tmux stopped at {length} of {expected} bytes").into());
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn succeed(mut command: Command) -> Outcome<()> {
    let status = command.status().await?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}
