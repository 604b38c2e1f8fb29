//! A certificate of an authority of the tests' own.

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// TLS for this machine; the authority's certificate is written to `file`.
pub(super) fn acceptor(file: &Path) -> TlsAcceptor {
    let mut authority = CertificateParams::new(Vec::new()).expect("a certificate");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority =
        CertifiedIssuer::self_signed(authority, KeyPair::generate().expect("a key")).expect("an authority");
    std::fs::write(file, authority.pem()).expect("the certificate is written");
    let key = KeyPair::generate().expect("a key");
    let names = ["127.0.0.1", "localhost"].map(str::to_owned);
    let params = CertificateParams::new(names).expect("a certificate");
    let certificate = params.signed_by(&key, &authority).expect("a signed certificate");
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        )
        .expect("a certificate with its key");
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}
