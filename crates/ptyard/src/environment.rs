//! Which variables of the caller a program is started with.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::io::{self, PipeReader, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

use ptyard_server::Ground;
use rustix::io::FdFlags;

use crate::failure::Failure;

/// Variables that say who and where the caller is and how its tools are found. Nothing else of the caller's
/// environment reaches a program unless `--env` names it: that is where keys and tokens live.
const STATED: &[&str] = &[
    "COLORTERM",
    "CONDA_PREFIX",
    "EDITOR",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NVM_BIN",
    "NVM_DIR",
    "PAGER",
    "PATH",
    "PYENV_ROOT",
    "SHELL",
    "SSH_AUTH_SOCK",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "VISUAL",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Whether `name` is one of the stated variables.
pub(crate) fn is_stated(name: &str) -> bool {
    STATED.binary_search(&name).is_ok() || name.starts_with("LC_")
}

/// The stated variables of this process. Values that are not UTF-8 are left out.
pub(crate) fn of_caller() -> BTreeMap<String, String> {
    env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_stated(name))
        .collect()
}

/// What a server needs to run at all, and where its places elsewhere are: addresses and paths, no keys.
const OF_PLACES: &[&str] = &[
    "CAO_HOME_DIR",
    "DOCKER_CERT_PATH",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
    "LD_LIBRARY_PATH",
    "RUST_BACKTRACE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMUX_TMPDIR",
];

/// What the variables of vendors of sandboxes begin with. A server has them from a pipe: keys are among them.
const OF_VENDORS: &[&str] = &["BL_", "CLOUDFLARE_SANDBOX_", "DAYTONA_", "E2B_", "MODAL_"];

/// What a server was given besides its environment.
static GIVEN: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// What a place elsewhere is told of a variable.
pub(crate) fn variable(name: &str) -> Option<String> {
    let given = GIVEN.get().and_then(|given| given.get(name).cloned());
    given.or_else(|| env::var(name).ok())
}

fn is_a_vendors(name: &str) -> bool {
    OF_VENDORS.iter().any(|start| name.starts_with(start))
}

/// Whether a server keeps `name`. Every program of the server's user can read the server's environment in `/proc`, so it
/// holds no more than it needs.
fn is_kept_by_a_server(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let needed = is_stated(name) && name != "SSH_AUTH_SOCK";
    needed || name.starts_with("PTYARD_") || OF_PLACES.contains(&name)
}

/// Has a server begin in an environment without whatever it does not need: a variable that was only removed would still
/// stand in `/proc`. Returns in the server itself, and with the reason where that cannot be had.
///
/// In the background the server is another process than the one that was started, and that one ends: whoever started it
/// has no server among its descendants. Hosts of MCP servers end all of those when they leave.
pub(crate) fn leave_caller(ground: Ground) -> io::Result<()> {
    if ground == Ground::Foreground && env::vars_os().all(|(name, _)| is_kept_by_a_server(&name)) {
        return Ok(());
    }
    let given = give()?;
    let mut args = env::args_os();
    let mut server = Command::new(env::current_exe()?);
    if let Some(name) = args.next() {
        server.arg0(name);
    }
    server.args(args).arg("--given").arg(given.as_raw_fd().to_string());
    server.env_clear().envs(env::vars_os().filter(|(name, _)| is_kept_by_a_server(name)));
    match ground {
        Ground::Foreground => Err(server.exec()),
        Ground::Background => {
            let _it_goes_on = server.spawn()?;
            std::process::exit(0);
        }
    }
}

/// The variables of vendors, in a pipe that the next program finds open.
fn give() -> io::Result<PipeReader> {
    let of_vendors: BTreeMap<String, String> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_a_vendors(name))
        .collect();
    let (reader, mut writer) = io::pipe()?;
    // More than a pipe takes is refused: nobody reads yet.
    rustix::io::ioctl_fionbio(&writer, true)?;
    writer.write_all(&serde_json::to_vec(&of_vendors)?)?;
    rustix::io::fcntl_setfd(&reader, FdFlags::empty())?;
    Ok(reader)
}

/// Takes what [`leave_caller`] gave.
///
/// # Errors
/// When there is nothing of the kind.
pub(crate) fn take_given(number: RawFd) -> io::Result<()> {
    let pipe = ptyard_terminal::local::inherited(number)?;
    let given = serde_json::from_reader(pipe)?;
    GIVEN.get_or_init(|| given);
    Ok(())
}

/// One `--env`: `NAME=VALUE`, or `NAME` to take the caller's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnvArg {
    name: String,
    value: Option<String>,
}

impl std::str::FromStr for EnvArg {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let (name, value) = match s.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (s, None),
        };
        if name.is_empty() {
            return Err("a variable needs a name: NAME=VALUE, or NAME to take your own value".to_owned());
        }
        Ok(Self { name: name.to_owned(), value })
    }
}

/// The variables that `--env` asked for, the last one of a name counting.
pub(crate) fn given(args: &[EnvArg]) -> Result<BTreeMap<String, String>, Failure> {
    args.iter()
        .map(|arg| {
            let value = match &arg.value {
                Some(value) => value.clone(),
                None => env::var(&arg.name).map_err(|error| unusable(&arg.name, &error))?,
            };
            Ok((arg.name.clone(), value))
        })
        .collect()
}

fn unusable(name: &str, error: &env::VarError) -> Failure {
    let why = match error {
        env::VarError::NotPresent => "is not set in your environment",
        env::VarError::NotUnicode(_) => "is not UTF-8",
    };
    Failure::usage(format!("--env {name}: {name} {why}"), format!("set it, or give `--env {name}=VALUE`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_names_are_sorted_for_the_search_and_hold_no_secrets() {
        assert!(STATED.is_sorted());
        for name in ["PATH", "LC_ALL", "LC_TIME", "VIRTUAL_ENV", "SSH_AUTH_SOCK"] {
            assert!(is_stated(name), "{name}");
        }
        for name in ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "PTYARD_STATE", "TERM", "LCX"] {
            assert!(!is_stated(name), "{name}");
        }
    }

    #[test]
    fn an_env_argument_splits_at_the_first_equals_sign() {
        let arg: EnvArg = "A=b=c".parse().unwrap();
        assert_eq!(arg, EnvArg { name: "A".into(), value: Some("b=c".into()) });
        assert_eq!("A=".parse::<EnvArg>().unwrap().value.as_deref(), Some(""));
        assert_eq!("A".parse::<EnvArg>().unwrap().value, None);
        assert!("=b".parse::<EnvArg>().is_err() && "".parse::<EnvArg>().is_err());
    }

    #[test]
    fn a_name_without_a_value_takes_the_callers() {
        let args = ["PATH".parse().unwrap(), "A=1".parse().unwrap(), "A=2".parse().unwrap()];
        let env = given(&args).unwrap();
        assert_eq!(env["PATH"], env::var("PATH").unwrap());
        assert_eq!(env["A"], "2");
        let failure = given(&["PTYARD_NOT_SET_ANYWHERE".parse().unwrap()]).unwrap_err();
        assert_eq!(failure.status(), crate::failure::status::USAGE);
    }
}
