//! One channel to the carrier there: a client's process, and what is on its way.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::super::frames;

/// How long a channel may take to end when it is left.
const LEAVE_LIMIT: Duration = Duration::from_secs(3);

/// Most that is read of what a client says about a failure, in bytes.
const MOST_SAID: u64 = 8 << 10;

/// A channel.
pub(super) struct Link {
    client: Child,
    pub(super) mouth: ChildStdin,
    pub(super) ear: ChildStdout,
    pub(super) errors: Option<ChildStderr>,
    /// What came and is no whole frame yet.
    pub(super) come: Vec<u8>,
    /// What is to be said.
    pub(super) out: Vec<u8>,
}

impl Link {
    pub(super) fn open(client: &[String], command: &str, errors: Stdio) -> io::Result<Self> {
        let [program, arguments @ ..] = client else { return Err(io::Error::other("the client is missing")) };
        let mut client = Command::new(program);
        client.args(arguments).arg(command).kill_on_drop(true);
        let mut client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors).spawn()?;
        let (Some(mouth), Some(ear)) = (client.stdin.take(), client.stdout.take()) else {
            return Err(io::Error::other("the client has no streams"));
        };
        let errors = client.stderr.take();
        Ok(Self { client, mouth, ear, errors, come: Vec::new(), out: Vec::new() })
    }

    /// Lets the carrier there leave; whether it heard of it.
    pub(super) async fn leave(mut self) -> bool {
        frames::leave(&mut self.out);
        let leaving = async {
            self.mouth.write_all(&self.out).await?;
            drop(self.mouth);
            self.client.wait().await
        };
        matches!(timeout(LEAVE_LIMIT, leaving).await, Ok(Ok(status)) if status.success())
    }
}

/// What a client says about a failure, as far as it is read: it never stops at a full pipe.
pub(super) async fn complaints(errors: Option<ChildStderr>) -> Vec<u8> {
    let mut said = Vec::new();
    if let Some(mut errors) = errors {
        let _broken = (&mut errors).take(MOST_SAID).read_to_end(&mut said).await;
        let _broken = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
    }
    said
}
