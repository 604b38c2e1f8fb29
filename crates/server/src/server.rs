//! The server: sockets, routes and the order in which all of it ends.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use ptyard_core::ErrorCode;
use ptyard_yard::Yard;
use tokio::sync::Semaphore;

use crate::cao::{self, Cao, CaoConfig};
use crate::connection;
use crate::gate::Gate;
use crate::gate::host::Hosts;
use crate::gate::token::{Token, TokenError};
use crate::listen::{self, Listener, SocketName};
use crate::routes::{self, Shared};
use crate::stop::{Ending, Stop};

/// Most connections of the Unix socket at once, streams included: half of the descriptors a process usually gets.
const MAX_UNIX_CONNECTIONS: usize = 512;

/// Most TCP connections at once; counted apart, so that strangers on TCP cannot use up the places of the own user.
const MAX_TCP_CONNECTIONS: usize = 256;

/// How long connections get to finish what they are sending before they are cut.
const DRAIN_WITHIN: Duration = Duration::from_secs(5);

/// How long cut connections get to be gone.
const CUT_WITHIN: Duration = Duration::from_secs(1);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The state directory, as `/v1/version` tells it.
    pub state: PathBuf,
    /// The Unix socket; its directory must be the user's own with mode 0700.
    pub socket: PathBuf,
    /// A loopback address to listen on as well; port 0 takes any free port.
    pub listen: Option<SocketAddr>,
    /// Whether, and how, the clients of CLI Agent Orchestrator are served as well.
    pub cao: Option<CaoConfig>,
    /// The file with the token of TCP peers; made when it is needed and missing.
    pub token: PathBuf,
    /// Where it was started.
    pub ground: Ground,
}

/// Where a server was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// In a terminal, or by something that looks after it.
    Foreground,
    /// By a command that needed one, in a session of its own.
    Background,
}

/// How a server ended.
#[must_use]
pub enum Served {
    /// With its programs.
    Stopped,
    /// For another server. The programs go on as long as this yard is not dropped: exit with it.
    Leaving(Yard),
}

impl ServerConfig {
    /// The usual names in a state directory, `ptyard.sock` and `token`, and no TCP.
    #[must_use]
    pub fn in_state(state: PathBuf) -> Self {
        Self {
            socket: state.join("ptyard.sock"),
            token: state.join("token"),
            listen: None,
            cao: None,
            state,
            ground: Ground::Foreground,
        }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is reachable from other machines.
    #[error("listen on {address}: only loopback addresses (127.0.0.1, [::1]) are listened on")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's word.
        source: io::Error,
    },
    /// The Unix socket cannot be made.
    #[error("open socket {}: {source}", path.display())]
    Socket {
        /// Its path.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// The Unix socket's path is longer than the system takes.
    #[error("open socket {}: the path is longer than {longest} bytes", path.display())]
    LongPath {
        /// Its path.
        path: PathBuf,
        /// The longest that works.
        longest: usize,
    },
    /// Others can enter the Unix socket's directory.
    #[error("directory {} is not private: it must be your own with mode 0700", path.display())]
    OpenDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// There is no token for TCP peers.
    #[error(transparent)]
    Token(#[from] TokenError),
}

impl ServerError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::NotLoopback { .. } | Self::Listen { .. } | Self::LongPath { .. } => {
                ErrorCode::InvalidArgument
            }
            Self::Socket { .. } => ErrorCode::StateUnwritable,
            Self::OpenDirectory { .. } => ErrorCode::StateForeign,
            Self::Token(error) => error.code(),
        }
    }
}

/// A server that listens and does not serve yet: peers that connect now wait.
pub struct Server {
    yard: Yard,
    router: Router,
    stop: Stop,
    unix: Listener,
    tcp: Option<Listener>,
    tcp_address: Option<SocketAddr>,
    cao: Option<CaoDoor>,
    name: SocketName,
}

/// Where the clients of CLI Agent Orchestrator come in.
struct CaoDoor {
    listener: Listener,
    address: SocketAddr,
    router: Router,
}

impl CaoDoor {
    fn open(mut config: CaoConfig, yard: &Yard, stop: &Stop) -> Result<Self, ServerError> {
        let listener = listen::tcp(config.address)?;
        let address = listener
            .local_addr()
            .map_err(|source| ServerError::Listen { address: config.address, source })?;
        config.address = address;
        let gate = Arc::new(Gate::without_token(Hosts::of(address)));
        let router = cao::router(Cao::new(yard.clone(), config, stop.clone()));
        Ok(Self { listener: Listener::Tcp(listener, gate), address, router })
    }
}

impl Server {
    /// Opens the sockets. Must be called within a tokio runtime. `beside` are routes of whoever embeds the server: they are
    /// behind the same gate as its own.
    ///
    /// The caller holds the yard's lock on the state directory, so a socket that lies there is a dead server's.
    ///
    /// # Errors
    /// When a socket cannot be opened, would be reachable by others, or there is no token for TCP.
    pub fn bind(config: ServerConfig, yard: Yard, beside: Router) -> Result<Self, ServerError> {
        let (tcp, tcp_address) = match config.listen {
            Some(address) => {
                let listener = listen::tcp(address)?;
                let bound =
                    listener.local_addr().map_err(|source| ServerError::Listen { address, source })?;
                let gate = Gate::new(Hosts::of(bound), Token::load_or_create(&config.token)?);
                (Some(Listener::Tcp(listener, Arc::new(gate))), Some(bound))
            }
            None => (None, None),
        };
        let (unix, name) = listen::unix(&config.socket)?;
        let stop = Stop::new();
        let cao = config.cao.map(|cao| CaoDoor::open(cao, &yard, &stop)).transpose()?;
        let shared = Shared {
            yard: yard.clone(),
            state: config.state.into(),
            listen: tcp_address,
            ground: config.ground,
            stop: stop.clone(),
        };
        Ok(Self {
            yard,
            router: routes::router(shared, beside),
            stop,
            unix: Listener::Unix(unix),
            tcp,
            tcp_address,
            cao,
            name,
        })
    }

    /// Ready when the server begins to end: what would go on for ever beside its own calls ends then.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        let stop = self.stop.clone();
        async move { stop.requested().await }
    }

    /// The TCP address it listens on, with the port the system chose.
    #[must_use]
    pub const fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp_address
    }

    /// The TCP address at which the clients of CLI Agent Orchestrator are served, with the port the system chose.
    #[must_use]
    pub fn cao_address(&self) -> Option<SocketAddr> {
        self.cao.as_ref().map(|door| door.address)
    }

    /// Serves until `shutdown` is ready or a client asked for the stop; returns when everything has ended.
    ///
    /// The end goes: no more connections; the yard ends its programs; whoever waits for one or watches it hears of its
    /// end, and is answered `stopping` if that does not come in 4 s; connections get 5 s for what they are sending and are
    /// cut then. For another server that takes over, no program is ended, and whoever waits is answered at once.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Served {
        let mut gates = Vec::new();
        let own = [(Some(self.unix), MAX_UNIX_CONNECTIONS), (self.tcp, MAX_TCP_CONNECTIONS)];
        let own = own
            .into_iter()
            .filter_map(|(listener, most)| listener.map(|listener| (listener, most, self.router.clone())));
        let cao = self.cao.map(|door| (door.listener, MAX_TCP_CONNECTIONS, door.router));
        for (listener, most, router) in own.chain(cao) {
            let places = Arc::new(Semaphore::new(most));
            let taking = connection::accept(listener, Arc::clone(&places), router, self.stop.clone());
            gates.push((tokio::spawn(taking), places, most));
        }
        tokio::select! {
            () = shutdown => {}
            () = self.stop.requested() => {}
        }
        self.stop.request(Ending::Stop);
        let ending = self.stop.ending();
        tracing::info!(?ending, "ending");
        let mut all_places = Vec::new();
        for (taking, places, most) in gates {
            if let Err(error) = taking.await {
                tracing::error!(%error, "taking connections broke");
            }
            all_places.push((places, most));
        }
        drop(self.name);
        let drained = async {
            if !all_free(&all_places, DRAIN_WITHIN).await {
                tracing::warn!("cutting connections that did not end");
                self.stop.cut();
                all_free(&all_places, CUT_WITHIN).await;
            }
        };
        match ending {
            Ending::Stop => {
                // Together, so that whoever waits for a program hears how it ended.
                tokio::join!(drained, self.yard.shutdown());
                Served::Stopped
            }
            Ending::Leave => {
                drained.await;
                Served::Leaving(self.yard)
            }
        }
    }
}

/// Waits until every place is free: no connection and no stream is left.
async fn all_free(places: &[(Arc<Semaphore>, usize)], within: Duration) -> bool {
    let free = async {
        for (places, most) in places {
            let all = u32::try_from(*most).expect("invariant: the limits are small");
            // Given back at once: only that all were free counts.
            drop(places.acquire_many(all).await);
        }
    };
    tokio::time::timeout(within, free).await.is_ok()
}
