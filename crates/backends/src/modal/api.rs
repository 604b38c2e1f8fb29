//! The vendor's own service: sandboxes are made, found and removed, and the way to their machines is told.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use ptyard_core::TerminalId;
use ptyard_modal_wire::Call;
use ptyard_modal_wire::control::{
    AppGetOrCreateRequest, ClientHelloRequest, DeploymentNamespace, EnvironmentGetOrCreateRequest,
    GenericResult, GenericStatus, Image, ImageGetOrCreateRequest, ImageJoinStreamingRequest, NetworkAccess,
    NetworkAccessType, ObjectCreationType, Resources, Sandbox, SandboxCreateRequest,
    SandboxGetFromNameRequest, SandboxGetTaskIdRequest, SandboxTerminateRequest, SandboxWaitRequest,
    TaskGetCommandRouterAccessRequest,
};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tonic::metadata::{MetadataMap, MetadataValue};

use super::access::Access;
use super::exec::random_id;
use super::link::{Link, of_status, sensitive};
use super::settings::{Settings, Token};
use crate::remote::http::{Again, CallError, call};

/// The longest that a sandbox of ours can live: the longest the vendor allows.
const LIFE: Duration = Duration::from_secs(24 * 3600);

/// How long a sandbox of ours lives on when nothing runs in it: one whose start was not finished ends by itself.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// How long building an image may take, the first time that it is used.
const IMAGE_LIMIT: Duration = Duration::from_secs(10 * 60);

/// How long the vendor may take to find a machine for a sandbox.
const PLACE_LIMIT: Duration = Duration::from_secs(120);

/// How long an answer is held back at most that is awaited.
const HELD: Duration = Duration::from_secs(25);

/// The pause when an answer that could be held back was not.
const PAUSE: Duration = Duration::from_millis(500);

/// How long any other call may take.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(20);

/// The client whose wire is spoken: the vendor asks for a version, and refuses those that are too old.
const CLIENT_VERSION: &str = "1.6.4";
const CLIENT_TYPE: &str = "1";

/// What can be done at the vendor, with a token.
#[derive(Clone)]
pub(super) struct Api {
    link: Link,
    settings: Arc<Settings>,
    token: Token,
    app: Arc<OnceCell<String>>,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("server", &self.settings.server).finish_non_exhaustive()
    }
}

/// The id of a sandbox, as the vendor names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SandboxId(pub(super) String);

/// The name that a sandbox made for this terminal has.
pub(super) fn name_of(id: TerminalId) -> String {
    format!("ptyard-{id}")
}

impl Api {
    pub(super) fn new(settings: Settings, token: Token) -> Result<Self, CallError> {
        let link = Link::new(&settings.server, settings.authorities.as_deref())?;
        Ok(Self { link, settings: Arc::new(settings), token, app: Arc::default() })
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    fn metadata(&self, key: &str, attempt: u32) -> Result<MetadataMap, CallError> {
        let now = wall().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut metadata = MetadataMap::new();
        metadata.insert("x-modal-client-version", MetadataValue::from_static(CLIENT_VERSION));
        metadata.insert("x-modal-client-type", MetadataValue::from_static(CLIENT_TYPE));
        metadata.insert("x-modal-token-id", sensitive(self.token.id.expose())?);
        metadata.insert("x-modal-token-secret", sensitive(self.token.secret.expose())?);
        metadata.insert("x-idempotency-key", sensitive(key)?);
        metadata.insert("x-retry-attempt", attempt.into());
        metadata.insert("x-modal-timestamp", sensitive(&format!("{:.6}", now.as_secs_f64()))?);
        Ok(metadata)
    }

    /// One call. It may be made again whatever became of it: by its key the vendor knows that it is the same.
    async fn ask<C: Call + Clone>(&self, request: C, limit: Duration) -> Result<C::Answer, CallError> {
        let (key, attempt) = (random_id()?, AtomicU32::new(0));
        call(Again::Always, || async {
            let metadata = self.metadata(&key, attempt.fetch_add(1, Ordering::Relaxed))?;
            self.link.ask(&request, metadata, limit).await
        })
        .await
    }

    /// Whether the vendor takes the token: a question that changes nothing.
    pub(super) async fn hello(&self) -> Result<(), CallError> {
        self.ask(ClientHelloRequest {}, CALL_LIMIT).await.map(drop)
    }

    async fn app(&self) -> Result<&str, CallError> {
        let app = self.app.get_or_try_init(|| async {
            let request = AppGetOrCreateRequest {
                app_name: self.settings.app.clone(),
                environment_name: self.settings.environment.clone(),
                object_creation_type: ObjectCreationType::CreateIfMissing.into(),
            };
            self.ask(request, CALL_LIMIT).await.map(|answer| answer.app_id)
        });
        app.await.map(String::as_str)
    }

    /// Makes a sandbox. One that was made although no answer came ends by itself when it is idle.
    pub(super) async fn make(&self, image: &str, id: TerminalId) -> Result<SandboxId, CallError> {
        let image_id = match image.starts_with("im-") {
            true => image.to_owned(),
            false => self.image(image).await?,
        };
        let seconds = |duration: Duration| u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
        let definition = Sandbox {
            // Programs come later; until then somebody has to be there.
            entrypoint_args: vec!["sleep".to_owned(), "infinity".to_owned()],
            image_id,
            resources: Some(Resources::default()),
            timeout_secs: seconds(LIFE),
            network_access: Some(NetworkAccess { network_access_type: NetworkAccessType::Open.into() }),
            name: Some(name_of(id)),
            idle_timeout_secs: Some(seconds(IDLE)),
            ..Sandbox::default()
        };
        let request = SandboxCreateRequest {
            app_id: self.app().await?.to_owned(),
            definition: Some(definition),
            environment_name: self.settings.environment.clone(),
        };
        Ok(SandboxId(self.ask(request, CALL_LIMIT).await?.sandbox_id))
    }

    /// The image that a registry knows by this name; the vendor builds its own from it when it is new.
    async fn image(&self, tag: &str) -> Result<String, CallError> {
        let environment =
            EnvironmentGetOrCreateRequest { deployment_name: self.settings.environment.clone() };
        let environment = self.ask(environment, CALL_LIMIT).await?;
        let settings = environment.metadata.and_then(|metadata| metadata.settings).unwrap_or_default();
        let request = ImageGetOrCreateRequest {
            image: Some(Image { dockerfile_commands: vec![format!("FROM {tag}")] }),
            app_id: self.app().await?.to_owned(),
            namespace: DeploymentNamespace::Workspace.into(),
            builder_version: settings.image_builder_version,
        };
        let image = self.ask(request, CALL_LIMIT).await?;
        let mut result = image.result.filter(is_known);
        if result.is_none() {
            let building = tokio::time::timeout(IMAGE_LIMIT, self.built(&image.image_id)).await;
            result =
                Some(building.map_err(|_| CallError::too_late("the image was not built", IMAGE_LIMIT))??);
        }
        match result {
            Some(GenericResult { status, exception, .. }) if status != i32::from(GenericStatus::Success) => {
                let why = if exception.is_empty() { "it cannot be built".to_owned() } else { exception };
                Err(CallError::garbled(format!("the image {tag}: {why}")))
            }
            _ => Ok(image.image_id),
        }
    }

    /// Waits for an image to be built.
    async fn built(&self, image: &str) -> Result<GenericResult, CallError> {
        let mut request = ImageJoinStreamingRequest {
            image_id: image.to_owned(),
            timeout: HELD.as_secs_f32(),
            last_entry_id: String::new(),
        };
        loop {
            let opening = || async {
                let metadata = self.metadata(&random_id()?, 0)?;
                self.link.open(&request, metadata, CALL_LIMIT).await
            };
            let mut news = call(Again::Always, opening).await?;
            while let Ok(Some(piece)) = news.message().await {
                if let Some(result) = piece.result.filter(is_known) {
                    return Ok(result);
                }
                if !piece.entry_id.is_empty() {
                    request.last_entry_id = piece.entry_id;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The sandbox that was made for this terminal and lives.
    pub(super) async fn find(&self, id: TerminalId) -> Result<SandboxId, CallError> {
        let request = SandboxGetFromNameRequest {
            sandbox_name: name_of(id),
            environment_name: self.settings.environment.clone(),
            app_name: self.settings.app.clone(),
        };
        Ok(SandboxId(self.ask(request, CALL_LIMIT).await?.sandbox_id))
    }

    /// What runs of a sandbox, once the vendor has found a machine for it.
    pub(super) async fn task(&self, sandbox: &SandboxId) -> Result<String, CallError> {
        let until = Instant::now() + PLACE_LIMIT;
        let request =
            SandboxGetTaskIdRequest { sandbox_id: sandbox.0.clone(), timeout: Some(HELD.as_secs_f32()) };
        while Instant::now() < until {
            let answer = self.ask(request.clone(), HELD + CALL_LIMIT).await?;
            if answer.task_result.as_ref().is_some_and(is_known) {
                return Err(gone(&sandbox.0));
            }
            match answer.task_id.filter(|task| !task.is_empty()) {
                Some(task) => return Ok(task),
                None => tokio::time::sleep(PAUSE).await,
            }
        }
        Err(CallError::too_late("no machine was found for the sandbox", PLACE_LIMIT))
    }

    /// Whether a sandbox has ended.
    pub(super) async fn has_ended(&self, sandbox: &SandboxId) -> Result<bool, CallError> {
        let request = SandboxWaitRequest { sandbox_id: sandbox.0.clone(), timeout: 0.0 };
        Ok(self.ask(request, CALL_LIMIT).await?.result.as_ref().is_some_and(is_known))
    }

    /// Where the machine of a task is, and a new token for it.
    pub(super) async fn access(&self, task: &str) -> Result<(String, Access), CallError> {
        let request = TaskGetCommandRouterAccessRequest { task_id: task.to_owned() };
        let answer = self.ask(request, CALL_LIMIT).await?;
        Ok((answer.url, Access::new(answer.jwt, Instant::now(), wall())))
    }

    /// Removes a sandbox with all that runs in it. One that is gone already is well.
    pub(super) async fn remove(&self, sandbox: &SandboxId) -> Result<(), CallError> {
        match self.ask(SandboxTerminateRequest { sandbox_id: sandbox.0.clone() }, CALL_LIMIT).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}

/// What the vendor is told, and tells, by the clock on the wall. A wrong one does no harm.
fn wall() -> SystemTime {
    SystemTime::now()
}

fn is_known(result: &GenericResult) -> bool {
    result.status != i32::from(GenericStatus::Unspecified)
}

/// A sandbox that has ended.
pub(super) fn gone(sandbox: &str) -> CallError {
    of_status(&tonic::Status::not_found(format!("the sandbox {sandbox} has ended")))
}
