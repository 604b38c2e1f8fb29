//! Room for controllers in a cgroup: they can be handed down only by one that no process lives in.

use std::fs;
use std::io;
use std::path::Path;

/// The cgroup that our own processes go to, below the one that they were found in. Not called as the directories of
/// servers are: nobody clears it away.
pub(super) const ASIDE: &str = "ptyard.aside";

/// How often processes that came while others were moved are moved as well.
const ATTEMPTS: u32 = 8;

/// Moves ours out of the way in `own`, into a cgroup below it. Does nothing where nobody lives, or in the root, to which the
/// rule does not apply.
///
/// # Errors
/// When others live there too: they are not ours to move. Handing controllers down beside them must not even be tried:
/// the kernel takes it for a wish for threaded cgroups with some of them, and then programs can be put into none.
pub(super) fn step(own: &Path) -> io::Result<()> {
    let is_root = !own.join("cgroup.type").exists();
    if is_root {
        return Ok(());
    }
    let ours = program("self")?;
    for _ in 0..ATTEMPTS {
        let living = fs::read_to_string(own.join("cgroup.procs"))?;
        if living.trim().is_empty() {
            return Ok(());
        }
        for pid in living.lines() {
            match program(pid) {
                Ok(program) if program == ours => {}
                // It ended meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound && pid != "0" => continue,
                _ => return Err(io::Error::new(io::ErrorKind::ResourceBusy, others(own, pid))),
            }
            let aside = own.join(ASIDE);
            match fs::create_dir(&aside) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            match fs::write(aside.join("cgroup.procs"), pid) {
                // It ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                moved => moved?,
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("processes keep coming to {}", own.display())))
}

/// The path of the program that a process runs, also when an upgrade put another one there.
fn program(pid: &str) -> io::Result<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe"))?.to_string_lossy().into_owned();
    Ok(path.strip_suffix(" (deleted)").map_or(path.clone(), str::to_owned))
}

fn others(own: &Path, pid: &str) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!(
        "other processes live in {} beside the server, such as {} ({pid}); start the server in a cgroup of its own, for \
         example with `systemd-run --user --scope -p Delegate=yes ptyard serve`",
        own.display(),
        if name.is_empty() { "one that cannot be seen" } else { name.trim() },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that looks like a cgroup these processes live in.
    fn cgroup(pids: &str) -> tempfile::TempDir {
        let own = tempfile::tempdir().unwrap();
        fs::write(own.path().join("cgroup.type"), "domain\n").unwrap();
        fs::write(own.path().join("cgroup.procs"), pids).unwrap();
        own
    }

    #[test]
    fn nobody_has_to_move_in_the_root_or_where_nobody_lives() {
        step(cgroup("").path()).unwrap();
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("cgroup.procs"), "1\n2\n").unwrap();
        step(root.path()).unwrap();
        assert!(!root.path().join(ASIDE).exists());
    }

    #[test]
    fn only_processes_of_this_program_are_moved() {
        let us = std::process::id();
        // Nothing acts on what is written here, so that we never seem to be gone.
        let own = cgroup(&format!("{us}\n"));
        assert!(step(own.path()).unwrap_err().to_string().starts_with("processes keep coming"));
        let moved = fs::read_to_string(own.path().join(ASIDE).join("cgroup.procs")).unwrap();
        assert_eq!(moved, us.to_string());

        let mut other = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let own = cgroup(&format!("{}\n", other.id()));
        let refused = step(own.path()).unwrap_err().to_string();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(refused.contains(&format!("such as sleep ({})", other.id())), "{refused}");
        assert!(!own.path().join(ASIDE).exists());
        assert!(step(cgroup("0\n").path()).unwrap_err().to_string().contains("cannot be seen"));
    }
}
