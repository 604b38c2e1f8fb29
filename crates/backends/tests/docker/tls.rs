//! An engine that is reached over TCP and takes only clients whose certificate it knows, as `dockerd --tlsverify` does.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use ptyard_backends::docker::{Address, Docker};
use ptyard_core::{ErrorCode, Exit, TerminalId};
use ptyard_terminal::backend::{Backend, Io, Placing, StartError, StartSpec, Started, Stdin};
use ptyard_testkit::places::docker::{Engine, IMAGE};
use ptyard_testkit::soon;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::carrier;
use crate::wire::finish;

/// An authority with a certificate for an engine on loopback and one for a client, as Docker's client names the files.
struct Authority(tempfile::TempDir);

impl Authority {
    /// `None`, loudly, where nobody makes certificates.
    fn new() -> Option<Self> {
        let made = Self(tempfile::tempdir().unwrap());
        if Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_err() {
            eprintln!("SKIPPED: there is no openssl here, so nothing was tested over TLS");
            return None;
        }
        made.openssl(
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca-key.pem -out ca.pem",
        );
        std::fs::write(made.path("server.ext"), "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
            .unwrap();
        std::fs::write(made.path("client.ext"), "extendedKeyUsage=clientAuth\n").unwrap();
        for (name, certificate, key) in
            [("server", "server.pem", "server-key.pem"), ("client", "cert.pem", "key.pem")]
        {
            made.openssl(&format!(
                "req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {key} -out {name}.csr"
            ));
            made.openssl(&format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -extfile {name}.ext \
                 -out {certificate}"
            ));
        }
        Some(made)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn openssl(&self, arguments: &str) {
        let mut command = Command::new("openssl");
        let output = command.args(arguments.split(' ')).current_dir(self.0.path()).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Passes clients that this authority knows on to the engine; its port.
    async fn guard(&self, engine: PathBuf) -> u16 {
        let provider = Arc::new(default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.path("ca.pem")).unwrap()).unwrap();
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let certificate = CertificateDer::from_pem_file(self.path("server.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(self.path("server-key.pem")).unwrap();
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_client_cert_verifier(clients.build().unwrap());
        let acceptor = TlsAcceptor::from(Arc::new(config.with_single_cert(vec![certificate], key).unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (acceptor, engine) = (acceptor.clone(), engine.clone());
                tokio::spawn(async move {
                    let Ok(mut near) = acceptor.accept(near).await else { return };
                    let Ok(mut far) = UnixStream::connect(engine).await else { return };
                    let _ended = copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        port
    }
}

/// Runs a program over the engine behind this port, with what is in this directory.
async fn start(port: u16, certificates: &Path) -> Result<Started, StartError> {
    let address = Address::from_variables(|name| match name {
        "DOCKER_HOST" => Some(format!("tcp://127.0.0.1:{port}")),
        "DOCKER_TLS_VERIFY" => Some("1".to_owned()),
        "DOCKER_CERT_PATH" => Some(certificates.display().to_string()),
        _ => None,
    });
    let spec = StartSpec {
        id: TerminalId::from_bits(u128::from(port)),
        argv: ["sh", "-c", "echo over tls; exit 7"].map(str::to_owned).to_vec(),
        cwd: Default::default(),
        env: Default::default(),
        io: Io::Pipes(Stdin::Null),
        ceilings: Default::default(),
        title: None,
        placing: Placing::Exact,
    };
    soon("the start", Arc::new(Docker::new(address.unwrap(), carrier())).at(IMAGE).unwrap().start(spec)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_behind_tls_is_reached_with_the_right_certificates_only() {
    let (Some(engine), Some(ours), Some(others)) = (Engine::start(), Authority::new(), Authority::new())
    else {
        return;
    };
    let port = ours.guard(engine.socket()).await;
    let mut program = start(port, ours.0.path()).await.unwrap();
    assert_eq!(finish(&mut program).await, ("over tls\n".to_owned(), Exit::exited(7)));
    // An engine of somebody else is not believed.
    let refused = start(port, others.0.path()).await.err().unwrap();
    assert_eq!(refused.code, ErrorCode::BackendUnreachable, "{refused}");
    // Nor is a client of somebody else, which believes this engine.
    std::fs::copy(ours.path("ca.pem"), others.path("ca.pem")).unwrap();
    let refused = start(port, others.0.path()).await.err().unwrap();
    assert_eq!(refused.code, ErrorCode::BackendUnreachable, "{refused}");
}
