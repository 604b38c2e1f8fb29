//! This machine's own backend, for programs that run here and carriers of those that do not.

use std::sync::Arc;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Backend, StartError};
use ptyard_terminal::local::LocalBackend;
use tokio::sync::OnceCell;

use super::start_error;

/// What it was given to stand on, else what is made for the first who asks.
#[derive(Clone, Default)]
pub(crate) struct Here(Arc<OnceCell<Arc<dyn Backend>>>);

impl Here {
    pub(crate) fn stand_on(&self, local: &Arc<dyn Backend>) {
        // One that was there before has programs.
        let _was_there = self.0.set(Arc::clone(local));
    }

    pub(crate) async fn backend(&self) -> Result<&dyn Backend, StartError> {
        let own = async || LocalBackend::new().map(|local| Arc::new(local) as Arc<dyn Backend>);
        let local = self.0.get_or_try_init(own).await.map_err(|error| {
            start_error(ErrorCode::SpawnFailed, format!("programs cannot be kept together here: {error}"))
        })?;
        Ok(local.as_ref())
    }
}
