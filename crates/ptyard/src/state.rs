//! Where the state directory is.

use std::env;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ptyard_core::ErrorCode;
use ptyard_terminal::{Outlives, replace_file};

use crate::failure::Failure;

/// The state directory, absolute, and the names in it that this program uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State(PathBuf);

impl State {
    /// The directory given with `--state`, else `$PTYARD_STATE`, else `$XDG_STATE_HOME/ptyard`, else
    /// `~/.local/state/ptyard`. Nothing is created yet.
    pub(crate) fn locate(given: Option<&Path>) -> Result<Self, Failure> {
        // Run with no environment, as by cron, there is still the account's home.
        let home = || env::home_dir().map(PathBuf::into_os_string);
        let variable = |name: &str| env::var_os(name).or_else(|| if name == "HOME" { home() } else { None });
        let chosen = choose(given, variable).ok_or_else(|| {
            Failure::usage(
                "no state directory: HOME is not set, and the account has no home",
                "give one with `--state DIR` or `PTYARD_STATE`",
            )
        })?;
        std::path::absolute(&chosen).map(Self).map_err(|error| {
            Failure::new(ErrorCode::StateUnwritable, format!("{} cannot be used: {error}", chosen.display()))
        })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.0
    }

    /// The directory, when it is not the one that a program without a word about it finds.
    pub(crate) fn other_than_usual(&self) -> Option<&Path> {
        let variable = |name: &str| if name == "PTYARD_STATE" { None } else { env::var_os(name) };
        let usual = choose(None, variable).and_then(|usual| std::path::absolute(usual).ok());
        (usual.as_ref() != Some(&self.0)).then_some(&self.0)
    }

    /// The socket the server answers on.
    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("ptyard.sock")
    }

    /// What a server in the background says on stderr.
    pub(crate) fn server_log(&self) -> PathBuf {
        self.0.join("server.log")
    }

    /// Locked by whoever starts a server, until it listens.
    pub(crate) fn start_lock(&self) -> PathBuf {
        self.0.join("start.lock")
    }

    /// Locked by the server as long as it lives; names its process id.
    pub(crate) fn server_lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// The mark of this state directory, which stands on what its servers make elsewhere: letters and digits, drawn once.
    pub(crate) fn mark(&self) -> std::io::Result<String> {
        let file = self.0.join("mark");
        match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            mark => return mark,
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(std::io::Error::other)?;
        let mark: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        replace_file(&file, mark.as_bytes(), Outlives::Machine)?;
        File::open(&self.0)?.sync_all()?;
        Ok(mark)
    }

    /// Makes the directory (0700) if it is missing, and refuses one of another user.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        let unwritable = |error: std::io::Error| {
            Failure::new(ErrorCode::StateUnwritable, format!("state directory {}: {error}", self.0.display()))
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(unwritable)?;
        let owner = std::fs::metadata(&self.0).map_err(unwritable)?.uid();
        if owner != rustix::process::geteuid().as_raw() {
            let message = format!("state directory {} belongs to user {owner}", self.0.display());
            return Err(Failure::new(ErrorCode::StateForeign, message));
        }
        Ok(())
    }

    /// Opens a file of the directory for appending, 0600.
    pub(crate) fn open_private(&self, path: &Path) -> Result<File, Failure> {
        let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        opened
            .map_err(|error| Failure::new(ErrorCode::StateUnwritable, format!("{}: {error}", path.display())))
    }
}

fn choose(given: Option<&Path>, var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(dir) = given {
        return Some(dir.to_owned());
    }
    set("PTYARD_STATE")
        // The base directory specification says that a relative path is to be ignored.
        .or_else(|| set("XDG_STATE_HOME").filter(|dir| dir.is_absolute()).map(|dir| dir.join("ptyard")))
        .or_else(|| set("HOME").map(|home| home.join(".local/state/ptyard")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(given: Option<&str>, vars: &[(&str, &str)]) -> Option<String> {
        let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        choose(given.map(Path::new), var).map(|path| path.display().to_string())
    }

    #[test]
    fn the_flag_beats_ptyard_state_beats_xdg_beats_home() {
        let all = [("PTYARD_STATE", "/p"), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(chosen(Some("/s"), &all).unwrap(), "/s");
        assert_eq!(chosen(None, &all).unwrap(), "/p");
        assert_eq!(chosen(None, &all[1..]).unwrap(), "/x/ptyard");
        assert_eq!(chosen(None, &all[2..]).unwrap(), "/h/.local/state/ptyard");
        assert_eq!(chosen(None, &[]), None);
    }

    #[test]
    fn empty_and_relative_variables_count_as_unset() {
        let vars = [("PTYARD_STATE", ""), ("XDG_STATE_HOME", "rel"), ("HOME", "/h")];
        assert_eq!(chosen(None, &vars).unwrap(), "/h/.local/state/ptyard");
    }
}
