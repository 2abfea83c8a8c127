//! TLS of its own: a certificate and its key.

use crate::server::ServeError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// PEM files.
#[derive(Clone, Debug)]
pub struct ServeTls {
    /// The certificate, and those that lead to the authority's.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl ServeTls {
    /// What answers handshakes.
    ///
    /// # Errors
    /// A file cannot be read, or the two do not belong together.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, ServeError> {
        let refused = |file: &Path, why: String| ServeError::Tls { file: file.to_owned(), why };
        let of_certificate = |why: String| refused(&self.certificate, why);
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect)
            .map_err(|error| of_certificate(error.to_string()))?;
        if chain.is_empty() {
            return Err(of_certificate("it has no certificate".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| refused(&self.key, error.to_string()))?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| of_certificate(error.to_string()))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
