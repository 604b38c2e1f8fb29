//! `ptyard doctor`.

use std::fmt::Display;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptyard_terminal::local::{Containment, LocalBackend};
use rustix::fs::{Access, access, statvfs};
use rustix::process::{PidfdFlags, Resource, getpid, getrlimit, pidfd_open};
use serde::Serialize;

use super::Place;
use crate::client::{Client, ClientError};
use crate::failure::{Failure, status};
use crate::places;
use crate::print::printable;
use crate::state::State;

/// Descriptors under which a server cannot keep its 64 and more terminals with viewers.
const FEW_DESCRIPTORS: u64 = 1024;
/// Free bytes under which output logs soon stop.
const LITTLE_SPACE: u64 = 256 << 20;

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// As it should be.
    Good,
    /// It works, with less.
    Note,
    /// It does not work.
    Problem,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Check {
    name: &'static str,
    level: Level,
    message: String,
}

#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
}

/// Starts no server and changes nothing. With `backend` it looks at that place only, which is a problem then when it
/// cannot be used.
pub(super) async fn doctor(place: &Place, backend: Option<&str>) -> Result<u8, Failure> {
    let checks = match backend {
        Some(backend) => vec![asked_for(place, backend).await],
        None => everything(place).await,
    };
    let report = Report { ok: checks.iter().all(|check| check.level != Level::Problem), checks };
    place.show(&report, text)?;
    Ok(if report.ok { status::DONE } else { status::FAILED })
}

async fn everything(place: &Place) -> Vec<Check> {
    vec![
        state_directory(&place.state),
        server(&place.state).await,
        pidfd(),
        close_range(),
        cgroup(),
        descriptors(),
        terminals(),
        space(&place.state),
        providers(place).await,
        docker().await,
        tmux().await,
        ssh().await,
        e2b().await,
        herdr(&place.state).await,
        daytona().await,
        modal().await,
        cloudflare().await,
        blaxel().await,
    ]
}

/// The place that somebody asked for.
async fn asked_for(place: &Place, backend: &str) -> Check {
    const NAME: &str = "backend";
    let check = match backend.split(':').next().unwrap_or_default() {
        "docker" => docker().await,
        "tmux" => tmux().await,
        "ssh" => ssh().await,
        "e2b" => e2b().await,
        "herdr" => herdr(&place.state).await,
        "daytona" => daytona().await,
        "modal" => modal().await,
        "cloudflare" => cloudflare().await,
        "blaxel" => blaxel().await,
        "local" => return good(NAME, "local is this machine"),
        other => return problem(NAME, format!("{other}: there is no such backend")),
    };
    match check.level {
        Level::Note => Check { level: Level::Problem, ..check },
        Level::Good | Level::Problem => check,
    }
}

fn text(report: &Report) -> String {
    let line = |check: &Check| {
        let mark = match check.level {
            Level::Good => "ok     ",
            Level::Note => "note   ",
            Level::Problem => "PROBLEM",
        };
        format!("{mark}  {}: {}\n", check.name, printable(&check.message))
    };
    report.checks.iter().map(line).collect()
}

fn good(name: &'static str, message: impl Into<String>) -> Check {
    Check { name, level: Level::Good, message: message.into() }
}

fn note(name: &'static str, message: impl Into<String>) -> Check {
    Check { name, level: Level::Note, message: message.into() }
}

fn problem(name: &'static str, message: impl Into<String>) -> Check {
    Check { name, level: Level::Problem, message: message.into() }
}

fn state_directory(state: &State) -> Check {
    const NAME: &str = "state directory";
    let dir = state.dir().display();
    let Ok(found) = fs::metadata(state.dir()) else {
        return match existing_parent(state.dir()) {
            Some(parent) if access(&parent, Access::WRITE_OK).is_ok() => {
                good(NAME, format!("{dir} does not exist yet; the first command makes it"))
            }
            _ => problem(NAME, format!("{dir} does not exist and cannot be made; give another with --state")),
        };
    };
    let mode = found.mode() & 0o777;
    if found.uid() != rustix::process::geteuid().as_raw() {
        problem(NAME, format!("{dir} belongs to user {}, not to you", found.uid()))
    } else if !found.is_dir() || access(state.dir(), Access::WRITE_OK).is_err() {
        problem(NAME, format!("{dir} is not a directory that can be written"))
    } else if mode & 0o077 != 0 {
        problem(NAME, format!("{dir} is open to others (mode {mode:o}); `chmod 700` it"))
    } else {
        good(NAME, format!("{dir} is yours and private"))
    }
}

fn existing_parent(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|parent| parent.exists()).map(Path::to_owned)
}

async fn server(state: &State) -> Check {
    const NAME: &str = "server";
    match Client::connect(&state.socket()).await {
        Ok(client) => {
            let version = client.version();
            good(NAME, format!("version {} runs, pid {}", version.version, version.pid))
        }
        Err(error) if error.is_no_listener() => good(NAME, "none runs; the first command starts one"),
        Err(error @ ClientError::Incompatible { .. }) => {
            problem(NAME, format!("{error}; `ptyard stop` ends it"))
        }
        Err(error) => problem(NAME, error.to_string()),
    }
}

fn pidfd() -> Check {
    const NAME: &str = "pidfd";
    match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(_) => good(NAME, "the kernel tells when a process ends"),
        Err(error) => problem(NAME, format!("pidfd_open: {error}; Linux 5.3 or newer is needed")),
    }
}

fn close_range() -> Check {
    const NAME: &str = "close_range";
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    match kernel_version(&release) {
        Some(version) if version >= (5, 9) => good(NAME, format!("Linux {release} has it")),
        _ => note(NAME, format!("Linux {release} is older than 5.9: descriptors are closed one by one")),
    }
}

fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Asks the backend itself, which makes a cgroup and removes it again: permission to move processes depends on more
/// than modes.
fn cgroup() -> Check {
    const NAME: &str = "process trees";
    match LocalBackend::new().map(|backend| backend.containment()) {
        Ok(Containment::Cgroup) => good(NAME, "kept together in cgroups"),
        Ok(Containment::Walk) => note(
            NAME,
            "no cgroup (version 2) can be written here: they are found by looking at all processes",
        ),
        Err(error) => problem(NAME, format!("programs cannot be kept together: {error}")),
    }
}

fn descriptors() -> Check {
    const NAME: &str = "open files";
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < FEW_DESCRIPTORS => {
            note(NAME, format!("limit {limit} is low: a terminal needs about 6, a viewer 1; see `ulimit -n`"))
        }
        Some(limit) => good(NAME, format!("limit {limit}")),
        None => good(NAME, "no limit"),
    }
}

fn terminals() -> Check {
    const NAME: &str = "pseudo terminals";
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let (Some(max), Some(used)) = (number("/proc/sys/kernel/pty/max"), number("/proc/sys/kernel/pty/nr"))
    else {
        return note(NAME, "the kernel does not say how many there can be");
    };
    let message = format!("{used} of {max} in use");
    if used >= max { problem(NAME, message) } else { good(NAME, message) }
}

fn space(state: &State) -> Check {
    const NAME: &str = "disk space";
    let Some(disk) = existing_parent(state.dir()).and_then(|dir| statvfs(dir).ok()) else {
        return note(NAME, "the file system does not say");
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let message = format!("{} MiB free", free >> 20);
    if free < LITTLE_SPACE {
        note(NAME, message + ": output waits when it is used up")
    } else {
        good(NAME, message)
    }
}

/// How long a place may take to say that it is there; one across the world takes longer than one at home.
const PLACE_LIMIT: Duration = Duration::from_secs(5);

/// Whether a place elsewhere can be used. None has to be.
async fn elsewhere<E: Display>(
    name: &'static str,
    version: impl Future<Output = Result<String, E>>,
) -> Check {
    match tokio::time::timeout(PLACE_LIMIT, version).await {
        Ok(Ok(version)) => good(name, version),
        Ok(Err(why)) => note(name, why.to_string()),
        Err(_) => note(name, "it does not answer"),
    }
}

async fn providers(place: &Place) -> Check {
    const NAME: &str = "providers";
    let known = super::provider::known(place).await;
    let problems: Vec<&str> = known.iter().filter_map(|provider| provider.problem.as_deref()).collect();
    if problems.is_empty() {
        return good(NAME, format!("{} are known", known.len()));
    }
    note(NAME, format!("not used: {}; `ptyard provider check FILE` tells more", problems.join("; ")))
}

async fn docker() -> Check {
    elsewhere("docker", async {
        let docker = places::docker().map_err(|error| error.to_string())?;
        docker.version().await.map_err(|error| error.to_string())
    })
    .await
}

async fn tmux() -> Check {
    elsewhere("tmux", places::tmux().version()).await
}

async fn ssh() -> Check {
    elsewhere("ssh", places::ssh().version()).await
}

async fn herdr(state: &State) -> Check {
    elsewhere("herdr", places::herdr(state).version()).await
}

/// Nothing is asked of the vendor by who has no key for it.
async fn e2b() -> Check {
    elsewhere("e2b", places::e2b().version()).await
}

/// Likewise.
async fn daytona() -> Check {
    elsewhere("daytona", places::daytona().version()).await
}

/// Nothing is asked of the vendor by who has no token for it.
async fn modal() -> Check {
    elsewhere("modal", places::modal().version()).await
}

/// Nothing is asked of the vendor by who has no key for it.
async fn blaxel() -> Check {
    elsewhere("blaxel", places::blaxel().version()).await
}

/// Nothing is asked of the vendor by who has no bridge to it.
async fn cloudflare() -> Check {
    elsewhere("cloudflare", places::cloudflare().version()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_versions_compare_as_numbers() {
        assert_eq!(kernel_version("6.1.0-18-amd64"), Some((6, 1)));
        assert_eq!(kernel_version("5.10.0"), Some((5, 10)));
        assert!(kernel_version("5.10.0") > kernel_version("5.9"));
        assert_eq!(kernel_version("weird"), None);
    }
}
