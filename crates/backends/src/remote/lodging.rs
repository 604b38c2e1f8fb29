//! A sandbox in which a program runs, and looking after its processes there.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use ptyard_core::{ErrorCode, Size, TerminalId};
use ptyard_terminal::backend::{KillReport, Signal, StartError, StartSpec, Target};

use super::http::{Again, CallError, call};
use crate::shared::{look_after, start_error};

/// How long a script may take, beyond the grace that is given to processes.
const SCRIPT_LIMIT: Duration = Duration::from_secs(20);

/// How long looking whether a program can be started may take: a sandbox that was just made is slow.
const LOOK_LIMIT: Duration = Duration::from_secs(30);

/// Looks whether a program can be started, and says why not by its code. What it looks for is told in variables.
const LOOK: &str = r#"
cd "${PTYARD_LOOK_IN:-.}" 2>/dev/null || exit 101
case $PTYARD_LOOK_FOR in
  */*) [ -e "$PTYARD_LOOK_FOR" ] || exit 102; [ -x "$PTYARD_LOOK_FOR" ] || exit 103 ;;
  *) command -v -- "$PTYARD_LOOK_FOR" >/dev/null || exit 102 ;;
esac
"#;

/// Sends signal `$2` to process `$1`, or, when `$3` is `group`, to the group in the foreground of its tty; without a tty
/// to the group that it leads.
const SIGNAL: &str = r#"
{ IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || exit 0
pid=$1 signal=$2 whom=$3
set -- ${line##*)}
[ "$whom" = group ] || { kill -"$signal" "$pid"; exit; }
if [ "$6" -gt 0 ]; then kill -"$signal" "-$6"
elif [ "$3" = "$pid" ]; then kill -"$signal" "-$pid"
else kill -"$signal" "$pid"; fi
"#;

/// Whose a sandbox is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Made for the one program, and removed with it.
    Ours,
    /// Somebody else's: it was there and stays.
    Theirs,
}

/// A script of ours: its output and code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) output: String,
    pub(crate) code: Option<i32>,
}

/// A program in a sandbox, as its vendor knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lodger {
    pub(crate) id: TerminalId,
    pub(crate) pid: u32,
}

impl Lodger {
    /// A program whose process id nobody tells.
    #[cfg(any(feature = "cloudflare", feature = "daytona", feature = "e2b", feature = "modal"))]
    pub(crate) const fn unknown(id: TerminalId) -> Self {
        Self { id, pid: 0 }
    }

    #[cfg(any(feature = "cloudflare", feature = "daytona", feature = "e2b"))]
    pub(crate) const fn is_known(self) -> bool {
        self.pid != 0
    }
}

/// A sandbox with a program: what a vendor can do with it, and what follows from that.
pub(crate) trait Lodging: Clone + Send + Sync + 'static {
    /// How often the sandbox is to be told that it is wanted; `None` where it does not ask.
    const RENEW_EVERY: Option<Duration>;

    /// Whose it is.
    fn whose(&self) -> Whose;

    /// Its name, for the log.
    fn name(&self) -> &str;

    /// Runs a script of ours to its end with `sh -c`. What it is told in variables stands on no command line. Beyond the
    /// limit it may be waited for no longer.
    fn run(
        &self,
        script: &str,
        arguments: &[&str],
        env: &BTreeMap<String, String>,
        limit: Duration,
    ) -> impl Future<Output = Result<Ran, CallError>> + Send;

    /// Changes the size of a program's tty.
    fn resize(&self, lodger: Lodger, size: Size) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Makes sure that the sandbox lives on for a while.
    fn renew(&self) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Removes the sandbox with all that is in it. One that is gone already is well.
    fn remove(&self) -> impl Future<Output = Result<(), CallError>> + Send;

    /// Lets go of what the vendor keeps of a program besides its processes.
    fn forget(&self, _id: TerminalId) -> impl Future<Output = Result<(), CallError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Whether all of it goes with the program.
    fn is_own(&self) -> bool {
        self.whose() == Whose::Ours
    }

    /// How many processes of a program live.
    fn count(&self, id: TerminalId) -> impl Future<Output = Result<u32, CallError>> + Send {
        async move { Ok(self.look_after(id, &["count"], SCRIPT_LIMIT).await?.found) }
    }

    /// Asks all of a program to leave, and ends who stays.
    fn kill(
        &self,
        id: TerminalId,
        grace: Duration,
    ) -> impl Future<Output = Result<KillReport, CallError>> + Send {
        async move {
            let tenths = look_after::tenths(grace);
            // Twice is as good as once, and not at all would leave them for good.
            let order = ["kill", &tenths];
            call(Again::Always, || self.look_after(id, &order, grace + SCRIPT_LIMIT)).await
        }
    }

    /// Runs the script that looks after processes.
    fn look_after(
        &self,
        id: TerminalId,
        what: &[&str],
        limit: Duration,
    ) -> impl Future<Output = Result<KillReport, CallError>> + Send {
        let mark = look_after::mark(id);
        let what: Vec<String> = what.iter().map(|&word| word.to_owned()).collect();
        async move {
            let arguments: Vec<&str> =
                [mark.as_str()].into_iter().chain(what.iter().map(String::as_str)).collect();
            let ran = self.run(look_after::SCRIPT, &arguments, &BTreeMap::new(), limit).await?;
            Ok(look_after::report(&ran.output))
        }
    }

    /// Sends a signal.
    fn signal(
        &self,
        lodger: Lodger,
        signal: Signal,
        target: Target,
    ) -> impl Future<Output = Result<(), CallError>> + Send {
        async move {
            let (pid, signal) = (lodger.pid.to_string(), signal.0.to_string());
            let arguments = [pid.as_str(), signal.as_str(), look_after::whom(target)];
            let ran = self.run(SIGNAL, &arguments, &BTreeMap::new(), SCRIPT_LIMIT).await?;
            match ran.code {
                Some(0) => Ok(()),
                _ => Err(CallError::garbled(ran.output.trim())),
            }
        }
    }

    /// Leaves nothing of a program: in a sandbox of its own nothing at all.
    fn leave(&self, id: TerminalId) -> impl Future<Output = ()> + Send {
        async move {
            let left = match self.whose() {
                Whose::Ours => self.remove().await,
                Whose::Theirs => {
                    let killed = self.kill(id, Duration::ZERO).await.map(drop);
                    self.forget(id).await.and(killed)
                }
            };
            match left {
                Err(error) if !error.is_not_found() => {
                    let sandbox = self.name();
                    tracing::warn!(terminal = %id, sandbox, %error, "something may be left in a sandbox");
                }
                _ => {}
            }
        }
    }

    /// Looks whether the directory and the program are there, for vendors whose own shell would only say so in the
    /// program's output.
    #[cfg_attr(
        not(any(feature = "e2b", feature = "modal")),
        expect(dead_code, reason = "some vendors tell it themselves")
    )]
    fn look(&self, spec: &StartSpec) -> impl Future<Output = Result<(), StartError>> + Send {
        let (program, cwd) = (spec.argv.first().cloned().unwrap_or_default(), spec.cwd.display().to_string());
        let mut env: BTreeMap<String, String> = BTreeMap::new();
        if let Some(path) = spec.env.get("PATH") {
            env.insert("PATH".to_owned(), path.clone());
        }
        env.insert("PTYARD_LOOK_IN".to_owned(), cwd.clone());
        env.insert("PTYARD_LOOK_FOR".to_owned(), program.clone());
        async move {
            let ran = self.run(LOOK, &[], &env, LOOK_LIMIT).await;
            let ran = ran.map_err(|error| error.of_start("the sandbox"))?;
            let (code, message) = match ran.code {
                Some(101) => (ErrorCode::CwdNotFound, format!("{cwd}: it cannot be entered there")),
                Some(102) => (ErrorCode::ProgramNotFound, format!("{program}: not found there")),
                Some(103) => {
                    (ErrorCode::ProgramNotExecutable, format!("{program}: it cannot be executed there"))
                }
                _ => return Ok(()),
            };
            Err(start_error(code, message))
        }
    }
}

/// A sandbox that nothing may be left in unless the start succeeds.
pub(crate) struct Guarded<L: Lodging> {
    lodging: Option<L>,
    id: TerminalId,
}

impl<L: Lodging> Guarded<L> {
    /// Leaves nothing when it is dropped.
    pub(crate) const fn new(lodging: L, id: TerminalId) -> Self {
        Self { lodging: Some(lodging), id }
    }

    /// The start succeeded.
    pub(crate) fn keep(mut self) {
        self.lodging = None;
    }
}

impl<L: Lodging> Drop for Guarded<L> {
    fn drop(&mut self) {
        if let Some(lodging) = self.lodging.take() {
            let id = self.id;
            tokio::spawn(async move { lodging.leave(id).await });
        }
    }
}
