//! What was made at a vendor that has no room for marks: a list of our own, one file for each thing, named like it. It is
//! written before the thing is made and struck when the thing is known to be gone, so nothing is ever made that is not in it.
//! The first line of a file is whose the thing is; what a later server has to know of it stands behind.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptyard_core::TerminalId;

use super::http::CallError;

/// A list in a directory of a server's state; one without a directory remembers nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ledger(Option<Arc<Path>>);

impl Ledger {
    pub(crate) fn in_directory(directory: PathBuf) -> Self {
        Self(Some(directory.into()))
    }

    /// Writes down that `what` will be made for a terminal. It is on the disk when this is done. `what` is a plain name.
    pub(crate) async fn note(&self, what: &str, id: TerminalId) -> Result<(), CallError> {
        let Some(directory) = self.0.clone() else { return Ok(()) };
        let file = directory.join(what);
        blocking(move || {
            DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
            file.write_all(id.to_string().as_bytes())?;
            file.sync_all()?;
            File::open(&directory)?.sync_all()
        })
        .await
        .map_err(|error| unwritten("will be", &error))
    }

    /// Adds what a later server has to know to go on with it. It outlives this server, not the machine: where that is gone,
    /// so are its streams.
    #[cfg(any(feature = "cloudflare", feature = "daytona"))]
    pub(crate) async fn add(&self, what: &str, memo: &str) -> Result<(), CallError> {
        let Some(directory) = &self.0 else { return Ok(()) };
        let (file, memo) = (directory.join(what), format!("\n{memo}"));
        let adding = blocking(move || OpenOptions::new().append(true).open(file)?.write_all(memo.as_bytes()));
        adding.await.map_err(|error| unwritten("was", &error))
    }

    /// What was added, if anything was.
    #[cfg(any(feature = "cloudflare", feature = "daytona"))]
    pub(crate) async fn memo(&self, what: &str) -> io::Result<Option<String>> {
        let Some(directory) = &self.0 else { return Ok(None) };
        let file = directory.join(what);
        let text = blocking(move || fs::read_to_string(file)).await?;
        Ok(text.split_once('\n').map(|(_id, memo)| memo.trim_end().to_owned()))
    }

    /// Strikes what is gone. When that is lost, it is gone twice.
    pub(crate) async fn strike(&self, what: &str) {
        let Some(directory) = &self.0 else { return };
        let file = directory.join(what);
        if let Err(error) = blocking(move || fs::remove_file(file)).await
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(what, %error, "something that is gone stays on the list of what was made");
        }
    }

    /// All that is on the list, with whose it is. What cannot be read is nobody's.
    pub(crate) async fn all(&self) -> io::Result<Vec<(String, Option<TerminalId>)>> {
        let Some(directory) = self.0.clone() else { return Ok(Vec::new()) };
        blocking(move || {
            let entries = match fs::read_dir(&directory) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                entries => entries?,
            };
            let read = |entry: io::Result<fs::DirEntry>| {
                let entry = entry?;
                let text = fs::read_to_string(entry.path()).unwrap_or_default();
                let id = text.lines().next().and_then(|id| id.trim().parse().ok());
                Ok((entry.file_name().to_string_lossy().into_owned(), id))
            };
            entries.map(read).collect()
        })
        .await
    }
}

fn unwritten(when: &str, error: &io::Error) -> CallError {
    CallError::NotSent(format!("it cannot be written down what {when} made: {error}"))
}

async fn blocking<T: Send + 'static>(what: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(what).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_noted_is_there_until_it_is_struck() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::in_directory(directory.path().join("made"));
        assert_eq!(ledger.all().await.unwrap(), []);
        let id = TerminalId::from_bits(7);
        ledger.note("one", id).await.unwrap();
        ledger.note("two", id).await.unwrap();
        #[cfg(any(feature = "cloudflare", feature = "daytona"))]
        {
            assert_eq!(ledger.memo("two").await.unwrap(), None);
            ledger.add("two", "word 7").await.unwrap();
            assert_eq!(ledger.memo("two").await.unwrap().as_deref(), Some("word 7"));
            assert!(ledger.add("nobody's", "word").await.is_err());
        }
        ledger.strike("one").await;
        ledger.strike("one").await;
        assert_eq!(ledger.all().await.unwrap(), [("two".to_owned(), Some(id))]);
        let nobodys = Ledger::default();
        nobodys.note("one", id).await.unwrap();
        assert_eq!(nobodys.all().await.unwrap(), []);
    }
}
