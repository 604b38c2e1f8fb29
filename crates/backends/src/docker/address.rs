//! Where the engine listens, as Docker's own variables say it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::engine::Wire;

/// Where the engine listens when nothing says otherwise.
const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// Where an engine listens.
#[derive(Clone)]
pub enum Address {
    /// A socket of this machine.
    Unix(PathBuf),
    /// A port, in the clear: `host:port`.
    Tcp(String),
    /// A port, over TLS with certificates on both sides.
    Tls {
        /// `host:port`.
        authority: String,
        /// Whom to trust and who we are.
        config: Arc<ClientConfig>,
        /// Where the certificates are.
        directory: PathBuf,
    },
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(authority) | Self::Tls { authority, .. } => write!(f, "tcp://{authority}"),
        }
    }
}

/// Why there is no such address.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The scheme is unknown.
    #[error("DOCKER_HOST {0:?} is neither unix:// nor tcp://")]
    Scheme(String),
    /// The certificates cannot be used.
    #[error("the certificates in {directory}: {message}")]
    Certificates {
        /// `DOCKER_CERT_PATH`.
        directory: PathBuf,
        /// What is wrong.
        message: String,
    },
}

impl Address {
    /// The address that `DOCKER_HOST`, `DOCKER_TLS_VERIFY` and `DOCKER_CERT_PATH` say, read through `variable`.
    ///
    /// # Errors
    /// When the scheme is unknown or the certificates cannot be read.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, AddressError> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let Some(host) = variable("DOCKER_HOST") else { return Ok(Self::Unix(DEFAULT_SOCKET.into())) };
        if let Some(path) = host.strip_prefix("unix://") {
            return Ok(Self::Unix(path.into()));
        }
        let authority = host.strip_prefix("tcp://").ok_or_else(|| AddressError::Scheme(host.clone()))?;
        let authority = authority.trim_end_matches('/').to_owned();
        if variable("DOCKER_TLS_VERIFY").is_none() {
            return Ok(Self::Tcp(authority));
        }
        let directory = variable("DOCKER_CERT_PATH").map_or_else(
            || PathBuf::from(variable("HOME").unwrap_or_default()).join(".docker"),
            PathBuf::from,
        );
        match tls(&directory) {
            Ok(config) => Ok(Self::Tls { authority, config, directory }),
            Err(message) => Err(AddressError::Certificates { directory, message }),
        }
    }

    /// The variables that say this address.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::from([("DOCKER_HOST".to_owned(), self.to_string())]);
        if let Self::Tls { directory, .. } = self {
            variables.insert("DOCKER_TLS_VERIFY".to_owned(), "1".to_owned());
            variables.insert("DOCKER_CERT_PATH".to_owned(), directory.display().to_string());
        }
        variables
    }

    /// Connects.
    pub(super) async fn connect(&self) -> io::Result<Box<dyn Wire>> {
        Ok(match self {
            Self::Unix(path) => Box::new(UnixStream::connect(path).await?),
            Self::Tcp(authority) => Box::new(tcp(authority).await?),
            Self::Tls { authority, config, .. } => {
                let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
                let host = host.trim_matches(['[', ']']).to_owned();
                let name = ServerName::try_from(host).map_err(io::Error::other)?;
                let connector = TlsConnector::from(Arc::clone(config));
                Box::new(connector.connect(name, tcp(authority).await?).await?)
            }
        })
    }
}

async fn tcp(authority: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(authority).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The files that Docker's own client takes: `ca.pem`, `cert.pem`, `key.pem`.
fn tls(directory: &Path) -> Result<Arc<ClientConfig>, String> {
    let certificates = |name: &str| -> Result<Vec<CertificateDer<'static>>, String> {
        let iter = CertificateDer::pem_file_iter(directory.join(name));
        iter.and_then(Iterator::collect).map_err(|error| format!("{name}: {error}"))
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates("ca.pem")? {
        roots.add(certificate).map_err(|error| format!("ca.pem: {error}"))?;
    }
    let key = PrivateKeyDer::from_pem_file(directory.join("key.pem"));
    let key = key.map_err(|error| format!("key.pem: {error}"))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_client_auth_cert(certificates("cert.pem")?, key)
        .map_err(|error| format!("cert.pem: {error}"))?;
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(variables: &[(&str, &str)]) -> Result<Address, AddressError> {
        Address::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn dockers_variables_mean_what_they_mean_to_its_client() {
        assert_eq!(address(&[]).unwrap().to_string(), "unix:///var/run/docker.sock");
        assert_eq!(address(&[("DOCKER_HOST", "unix:///run/d")]).unwrap().to_string(), "unix:///run/d");
        let tcp = address(&[("DOCKER_HOST", "tcp://10.0.0.1:2375/"), ("DOCKER_TLS_VERIFY", "")]).unwrap();
        assert!(matches!(tcp, Address::Tcp(authority) if authority == "10.0.0.1:2375"));
        for host in ["unix:///run/d", "tcp://10.0.0.1:2375"] {
            let variables = address(&[("DOCKER_HOST", host)]).unwrap().variables();
            assert_eq!(variables, BTreeMap::from([("DOCKER_HOST".to_owned(), host.to_owned())]));
        }
        assert!(matches!(address(&[("DOCKER_HOST", "npipe://x")]), Err(AddressError::Scheme(_))));
    }

    #[test]
    fn certificates_that_are_not_there_are_named() {
        let variables =
            [("DOCKER_HOST", "tcp://h:1"), ("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", "/no/such")];
        let error = address(&variables).unwrap_err().to_string();
        assert!(error.contains("/no/such") && error.contains("ca.pem"), "{error}");
    }
}
