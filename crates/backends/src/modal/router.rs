//! The machine on which a sandbox runs.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ptyard_modal_wire::Call;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tonic::Streaming;

use super::access::Access;
use super::api::Api;
use super::link::{Link, bearer};
use crate::remote::http::{Again, CallError, call};

/// A machine, for what runs on it of one sandbox. Its token is replaced before its end, and once more when it is
/// refused all the same.
#[derive(Clone)]
pub(super) struct Router {
    link: Link,
    api: Api,
    task: Arc<str>,
    /// The token; empty while a new one is on its way.
    access: Arc<Mutex<Arc<OnceCell<Access>>>>,
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("task", &self.task).finish_non_exhaustive()
    }
}

impl Router {
    /// The machine of a task. It is asked for nothing yet.
    pub(super) async fn of(api: &Api, task: String) -> Result<Self, CallError> {
        let (url, access) = api.access(&task).await?;
        api.settings().check(&url).map_err(CallError::NotSent)?;
        let link = Link::new(&url, api.settings().authorities.as_deref())?;
        let access = Arc::new(OnceCell::new_with(Some(access)));
        Ok(Self { link, api: api.clone(), task: task.into(), access: Arc::new(Mutex::new(access)) })
    }

    pub(super) fn task(&self) -> String {
        self.task.to_string()
    }

    pub(super) fn api(&self) -> &Api {
        &self.api
    }

    fn current(&self) -> Arc<OnceCell<Access>> {
        Arc::clone(&self.access.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes sure that the next token is not this one.
    fn give_up(&self, old: &Access) {
        let mut current = self.access.lock().unwrap_or_else(PoisonError::into_inner);
        if current.get() == Some(old) {
            *current = Arc::default();
        }
    }

    /// A token that is good as far as it is known. Whoever needs a new one at the same time waits for the same one.
    async fn access(&self) -> Result<Access, CallError> {
        if let Some(known) = self.current().get() {
            if !known.is_due(Instant::now()) {
                return Ok(known.clone());
            }
            self.give_up(known);
        }
        let fetching = async || self.api.access(&self.task).await.map(|(_url, access)| access);
        self.current().get_or_try_init(fetching).await.cloned()
    }

    /// A token that is not this one, which was refused.
    async fn renewed(&self, old: &Access) -> Result<Access, CallError> {
        self.give_up(old);
        self.access().await
    }

    /// One call, once; with a new token once more when the first is refused.
    pub(super) async fn ask_once<C: Call + Clone>(
        &self,
        request: &C,
        limit: Duration,
    ) -> Result<C::Answer, CallError> {
        let access = self.access().await?;
        match self.link.ask(request, bearer(&access.jwt)?, limit).await {
            Err(error) if error.is_unauthenticated() => {
                let access = self.renewed(&access).await?;
                self.link.ask(request, bearer(&access.jwt)?, limit).await
            }
            asked => asked,
        }
    }

    /// One call. All that there are here may be made again: ids and offsets tell that they are the same.
    pub(super) async fn ask<C: Call + Clone>(
        &self,
        request: &C,
        limit: Duration,
    ) -> Result<C::Answer, CallError> {
        call(Again::Always, || self.ask_once(request, limit)).await
    }

    /// Opens a stream, once; with a new token once more when the first is refused.
    pub(super) async fn open<C: Call + Clone>(
        &self,
        request: &C,
        limit: Duration,
    ) -> Result<Streaming<C::Answer>, CallError> {
        let access = self.access().await?;
        match self.link.open(request, bearer(&access.jwt)?, limit).await {
            Err(error) if error.is_unauthenticated() => {
                let access = self.renewed(&access).await?;
                self.link.open(request, bearer(&access.jwt)?, limit).await
            }
            opened => opened,
        }
    }
}
