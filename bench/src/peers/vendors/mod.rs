//! Plain clients of vendors' wires: what somebody would write who wants one program's bytes, and nothing more.
//!
//! They make no connection again, know no end and no code, and lose what the wire loses.

mod connect;
mod grpc;
mod socket;

use ptyard_testkit::vendors::blaxel::BlaxelServer;
use ptyard_testkit::vendors::cloudflare::CloudflareServer;
use ptyard_testkit::vendors::daytona::DaytonaServer;
use ptyard_testkit::vendors::e2b::E2bServer;
use ptyard_testkit::vendors::modal::ModalServer;

use self::connect::Connect;
use self::grpc::Calls;
use self::socket::Socket;
use crate::Outcome;

/// What a wire has its programs as.
pub(crate) enum Plain {
    Connect(Connect),
    Calls(Box<Calls>),
    Socket(Socket),
}

impl Plain {
    /// The next bytes that the program printed.
    pub(crate) async fn hear(&mut self) -> Outcome<Vec<u8>> {
        match self {
            Self::Connect(line) => line.hear().await,
            Self::Calls(line) => line.hear().await,
            Self::Socket(line) => line.hear().await,
        }
    }

    /// Types.
    pub(crate) async fn say(&mut self, bytes: &[u8]) -> Outcome<()> {
        match self {
            Self::Connect(line) => line.say(bytes).await,
            Self::Calls(line) => line.say(bytes).await,
            Self::Socket(line) => line.say(bytes).await,
        }
    }

    /// Listens until the last that was heard is `what`.
    pub(crate) async fn hear_until(&mut self, what: &[u8]) -> Outcome<()> {
        let mut heard = Vec::new();
        while !heard.ends_with(what) {
            heard.extend(self.hear().await?);
        }
        Ok(())
    }
}

/// A vendor's server, and a sandbox in it for both sides.
pub(crate) enum Vendor {
    E2b(E2bServer, String),
    Daytona(DaytonaServer, String),
    Blaxel(BlaxelServer, String),
    Cloudflare(CloudflareServer, String),
    Modal(ModalServer, String),
}

impl Vendor {
    pub(crate) async fn all() -> [Self; 5] {
        let (e2b, daytona, blaxel) =
            (E2bServer::start().await, DaytonaServer::start().await, BlaxelServer::start().await);
        // However far a client is behind, it is let go for that by nobody: figures are for whole corpora.
        daytona.fail(|faults| faults.most_pieces_behind = 1 << 20);
        let (cloudflare, modal) = (CloudflareServer::start().await, ModalServer::start().await);
        let (in_e2b, in_daytona) = (e2b.sandbox(), daytona.sandbox());
        let (in_blaxel, in_modal) = (blaxel.sandbox(), modal.sandbox());
        [
            Self::E2b(e2b, in_e2b),
            Self::Daytona(daytona, in_daytona),
            Self::Blaxel(blaxel, in_blaxel),
            Self::Cloudflare(cloudflare, "plain".to_owned()),
            Self::Modal(modal, in_modal),
        ]
    }

    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::E2b(server, _) => server.variables(),
            Self::Daytona(server, _) => server.variables(),
            Self::Blaxel(server, _) => server.variables(),
            Self::Cloudflare(server, _) => server.variables(),
            Self::Modal(server, _) => server.variables(),
        }
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::E2b(..) => "e2b",
            Self::Daytona(..) => "daytona",
            Self::Blaxel(..) => "blaxel",
            Self::Cloudflare(..) => "cloudflare",
            Self::Modal(..) => "modal",
        }
    }

    /// The sandbox as ptyard calls it.
    pub(crate) fn place(&self) -> String {
        let (Self::E2b(_, sandbox)
        | Self::Daytona(_, sandbox)
        | Self::Blaxel(_, sandbox)
        | Self::Cloudflare(_, sandbox)
        | Self::Modal(_, sandbox)) = self;
        format!("{}:sandbox={sandbox}", self.name())
    }

    /// Runs a script of this machine's on a terminal there.
    pub(crate) async fn run(&self, script: &str) -> Outcome<Plain> {
        Ok(match self {
            Self::E2b(server, sandbox) => Plain::Connect(Connect::run(server, sandbox, script).await?),
            Self::Modal(server, sandbox) => {
                Plain::Calls(Box::new(Calls::run(server, sandbox, script).await?))
            }
            Self::Daytona(server, sandbox) => {
                Plain::Socket(Socket::at_daytona(server, sandbox, script).await?)
            }
            Self::Blaxel(server, sandbox) => Plain::Socket(Socket::at_blaxel(server, sandbox, script).await?),
            Self::Cloudflare(server, sandbox) => {
                Plain::Socket(Socket::at_cloudflare(server, sandbox, script).await?)
            }
        })
    }
}
