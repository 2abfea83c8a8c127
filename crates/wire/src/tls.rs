//! What of the server's certificate is verified in each TLS mode.

use crate::options::Tls;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

/// The TLS set-up for a mode; `None` for plain text. The error is a phrase for people.
pub(crate) fn client_config(tls: &Tls) -> Result<Option<Arc<ClientConfig>>, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = match tls {
        Tls::Disabled => return Ok(None),
        Tls::Required => Verifier {
            chain: None,
            identity: false,
            provider: provider.clone(),
        },
        Tls::VerifyCa(ca) | Tls::VerifyIdentity(ca) => Verifier {
            chain: Some(chain_verifier(ca, provider.clone())?),
            identity: matches!(tls, Tls::VerifyIdentity(_)),
            provider: provider.clone(),
        },
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Some(Arc::new(config)))
}

fn chain_verifier(
    ca: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let mut roots = rustls::RootCertStore::empty();
    let unusable = |error: &dyn std::fmt::Display| {
        format!(
            "ssl-ca {}: {error}; it must be a PEM file with CA certificates",
            ca.display()
        )
    };
    let certificates = CertificateDer::pem_file_iter(ca).map_err(|error| unusable(&error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| unusable(&error))
}

/// One verifier for the three modes: no chain for `REQUIRED`, no name for `VERIFY_CA`. The handshake's signature is
/// verified always.
#[derive(Debug)]
struct Verifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
    identity: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        let verdict =
            chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verdict {
            // webpki verifies the chain first and the name last: with a wrong name, the chain is good.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.identity => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
