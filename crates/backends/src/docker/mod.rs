//! Programs in containers of a Docker engine.
//!
//! Two kinds of places: `docker:IMAGE` makes a container for the one program, which is its first process under the
//! engine's own init, and removes it at the end; `docker:container=NAME` runs the program in a container that is there.
//!
//! The way of a start: what is to run is made here (`container`, `exec`) and started by the process that carries its
//! streams (`carry`), which outlives this server. There the end is watched for before anything runs (`watch`), and the
//! streams are a hijacked request (`streams`). What the engine has no word for is done from `inside`.
//!
//! # Invariants
//! 1. A request that starts a program is sent once.
//! 2. A container of ours is removed when its program's controls are dropped, started or not.
//! 3. Values of variables go in the body of a request, never in arguments.

mod address;
mod api;
mod carry;
mod container;
mod control;
mod engine;
mod exec;
mod inside;
mod program;
mod streams;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::{
    Abilities, Backend, BoxFuture, CodeKnown, Creation, Earlier, EndsWith, Grounds, Io, KillReach,
    MissingDirectory, Orphan, SizeKnown, StartError, StartSpec, Started, Stdin,
};
use serde_json::{Value, json};

pub use self::address::{Address, AddressError};
use self::api::{Made, escaped};
pub(crate) use self::carry::carry;
use self::control::Subject;
use self::engine::Engine;
use self::inside::Inside;
use self::program::Carriers;
use crate::shared::here::Here;
use crate::shared::{start_error, undisturbed};

/// The label with the mark of a server's state.
const STATE_LABEL: &str = "ptyard.state";

/// The label by which a container of ours is known.
const TERMINAL_LABEL: &str = "ptyard.terminal";

/// What stands before the name of a container that is there.
const CONTAINER: &str = "container=";

/// Runs programs in containers.
#[derive(Clone)]
pub struct Docker {
    carriers: Carriers,
    place: Place,
    /// Of the server's state, on all that is made.
    mark: Option<Arc<str>>,
}

/// Where in the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// Nothing was said.
    None,
    /// In a container of its own, made from this image.
    Image(String),
    /// In this container.
    Container(String),
}

impl Docker {
    /// The engine at this address. Nothing is asked of it yet. `carrier` is the command that calls
    /// [`carry`](crate::carry()) with the arguments behind it; without it nothing can be started.
    #[must_use]
    pub fn new(address: Address, carrier: Vec<String>) -> Self {
        let carriers = Carriers { engine: Engine::new(address), command: carrier, here: Here::default() };
        Self { carriers, place: Place::None, mark: None }
    }

    /// The same, with a mark of a server's state on all that is made.
    #[must_use]
    pub fn marked(self, mark: Option<Arc<str>>) -> Self {
        Self { mark, ..self }
    }

    /// The containers with our mark. An engine that is not there has none.
    async fn containers(&self) -> Result<Vec<Creation>, StartError> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Listed {
            id: String,
            labels: BTreeMap<String, String>,
        }
        let Some(mark) = &self.mark else { return Ok(Vec::new()) };
        let filters = json!({ "label": [format!("{STATE_LABEL}={mark}")] }).to_string();
        let path = format!("/containers/json?all=true&filters={}", escaped(&filters));
        let listed = self.carriers.engine.get::<Vec<Listed>>(&path).await;
        let listed = listed.map_err(|error| error.of_start(ErrorCode::BackendUnreachable))?;
        let made = |Listed { id, labels }: Listed| {
            let engine = self.carriers.engine.clone();
            Creation {
                what: format!("container {}", id.get(..12).unwrap_or(&id)),
                owner: labels.get(TERMINAL_LABEL).and_then(|id| id.parse().ok()),
                end: Box::pin(async move {
                    let path = format!("/containers/{id}?force=true&v=true");
                    match engine.order(Method::DELETE, &path).await {
                        Err(error) if !error.is_not_found() => {
                            Err(error.of_start(ErrorCode::BackendUnreachable))
                        }
                        _ => Ok(()),
                    }
                }),
            }
        };
        Ok(listed.into_iter().map(made).collect())
    }

    /// What engine answers: its name and version.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn version(&self) -> Result<String, StartError> {
        let version: Value = self
            .carriers
            .engine
            .get("/version")
            .await
            .map_err(|error| error.of_start(ErrorCode::BackendUnreachable))?;
        let word = |name: &str| version.get(name).and_then(Value::as_str).unwrap_or("unknown").to_owned();
        Ok(format!("engine {}, API {}", word("Version"), word("ApiVersion")))
    }
}

impl Backend for Docker {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn grounds(&self) -> Grounds {
        Grounds::Elsewhere
    }

    fn abilities(&self) -> Abilities {
        let common = Abilities {
            size: SizeKnown::SoonAfterStart,
            code: CodeKnown::ShellCode,
            ends_with: EndsWith::Connection,
            ..Abilities::EVERYTHING
        };
        match self.place {
            Place::Container(_) => Abilities { kill: KillReach::Related, ..common },
            Place::Image(_) | Place::None => Abilities { directory: MissingDirectory::IsMade, ..common },
        }
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        let place = match place.strip_prefix(CONTAINER) {
            Some(name) => Place::Container(name.to_owned()),
            None => Place::Image(place.to_owned()),
        };
        match &place {
            Place::Image(name) | Place::Container(name) if name.is_empty() => Err(start_error(
                ErrorCode::InvalidArgument,
                "docker needs an image or a container: docker:IMAGE or docker:container=NAME",
            )),
            _ => Ok(Arc::new(Self { place, ..Self::clone(&self) })),
        }
    }

    fn creations(&self) -> BoxFuture<'_, Result<Vec<Creation>, StartError>> {
        Box::pin(self.containers())
    }

    fn take_up(&self, orphan: Orphan) -> Option<Earlier> {
        let engine = self.carriers.engine.clone();
        let Some(kept) = orphan.kept else {
            if !orphan.has_ended {
                tokio::spawn(clear(engine, self.place.clone(), orphan.id));
            }
            return None;
        };
        let (container, subject) = match &self.place {
            Place::None => return None,
            Place::Image(_) => {
                let name = container::name(orphan.id);
                (name.clone(), Subject::Container { remove: name })
            }
            Place::Container(name) => (escaped(name), Subject::Exec { exec: None }),
        };
        let inside = Inside { engine, container, id: orphan.id };
        Some(program::again(kept, inside, subject, orphan.io))
    }

    fn stand_on(&self, local: &Arc<dyn Backend>) {
        self.carriers.here.stand_on(local);
    }

    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>> {
        let Self { carriers, place, mark } = self.clone();
        Box::pin(undisturbed(async move {
            match place {
                Place::Image(image) => container::start(carriers, image, mark.as_deref(), spec).await,
                Place::Container(name) => exec::start(carriers, name, spec).await,
                Place::None => {
                    Err(start_error(ErrorCode::InvalidArgument, "docker needs an image or a container"))
                }
            }
        }))
    }
}

/// Ends what an earlier server started for this terminal: nobody can hear of it or type into it any more.
async fn clear(engine: Engine, place: Place, id: TerminalId) {
    let cleared = match &place {
        Place::None => Ok(()),
        Place::Image(_) => {
            let filters = json!({ "label": [format!("{TERMINAL_LABEL}={id}")] }).to_string();
            let path = format!("/containers/json?all=true&filters={}", escaped(&filters));
            match engine.get::<Vec<Made>>(&path).await {
                Ok(left) => {
                    for Made { id } in &left {
                        container::remove(&engine, id).await;
                    }
                    Ok(())
                }
                Err(error) => Err(error),
            }
        }
        Place::Container(name) => {
            let inside = Inside { engine: engine.clone(), container: escaped(name), id };
            inside.kill(Duration::ZERO).await.map(drop)
        }
    };
    match cleared {
        Ok(()) => tracing::info!(%id, "what was out of reach in a container was ended"),
        Err(error) => tracing::warn!(%id, %error, "a program in a container may run that nobody can reach"),
    }
}

const fn has_stdin(io: Io) -> bool {
    !matches!(io, Io::Pipes(Stdin::Null))
}

/// Variables as the engine takes them.
fn variables(env: &BTreeMap<String, String>) -> Vec<String> {
    env.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// Rows and columns, as engines from API 1.42 on take them before the start; older ones ignore them and are told after.
fn console_size(io: Io) -> Option<[u16; 2]> {
    match io {
        Io::Tty(size) => Some([size.rows(), size.cols()]),
        Io::Pipes(_) => None,
    }
}

/// A key sequence that nobody types, in place of the engine's: Ctrl-P Ctrl-Q would cut a program off in the middle of
/// what is typed into it, and a Ctrl-P alone would be held back until the next key. `first` begins it.
///
/// A lone `first` is still held back until the next key, so it is one that means least.
fn detach_keys(first: &str) -> String {
    let mut random = [0; 16];
    // Without random bytes the sequence is still one that nobody types.
    let _unlikely = getrandom::fill(&mut random);
    let letters = random.map(|byte| char::from(b'a' + byte % 26));
    letters.iter().fold(first.to_owned(), |keys, letter| format!("{keys},{letter}"))
}
