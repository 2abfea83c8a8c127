//! What of the server's certificate is verified in each TLS mode.
//!
//! OpenSSL and not rustls: servers in the field speak what this tool must still reach. MySQL before
//! 5.7.28 has TLS 1.1 (yaSSL), 8.0.15 has TLS 1.2 with finite-field Diffie-Hellman only. Each
//! connection takes the best that both know.

use crate::options::{Security, TlsMode};
use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{Ssl, SslContext, SslMethod, SslOptions, SslVerifyMode, SslVersion};
use std::net::IpAddr;
use std::path::Path;

/// `SSL_OP_LEGACY_SERVER_CONNECT`: servers without secure renegotiation, which yaSSL has not. This
/// client never renegotiates.
const LEGACY_SERVER_CONNECT: u64 = 0x4;

/// The set-up for a TLS mode, made once.
#[derive(Clone)]
pub(crate) struct TlsSetup {
    context: SslContext,
    identity: bool,
}

impl std::fmt::Debug for TlsSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsSetup").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl TlsSetup {
    /// The set-up for a mode; `None` for plain text. The error is a phrase for people.
    pub(crate) fn for_mode(mode: TlsMode, files: &Security) -> Result<Option<TlsSetup>, String> {
        let verifies = match mode {
            TlsMode::Disabled => return Ok(None),
            TlsMode::Preferred | TlsMode::Required => false,
            TlsMode::VerifyCa | TlsMode::VerifyIdentity => true,
        };
        if let Some(gap) = files.gap() {
            return Err(gap);
        }
        let phrase = |error: ErrorStack| reasons(&error);
        let mut builder = SslContext::builder(SslMethod::tls_client()).map_err(phrase)?;
        builder.set_min_proto_version(Some(SslVersion::TLS1)).map_err(phrase)?;
        builder.set_cipher_list("DEFAULT@SECLEVEL=0").map_err(phrase)?;
        builder.set_options(SslOptions::from_bits_retain(LEGACY_SERVER_CONNECT));
        builder.set_verify(SslVerifyMode::NONE);
        if let (true, Some(ca)) = (verifies, &files.ssl_ca) {
            builder.set_verify(SslVerifyMode::PEER);
            let is_set = readable(ca).and_then(|()| builder.set_ca_file(ca).map_err(phrase));
            is_set.map_err(unusable("ssl-ca", ca, "CA certificates"))?;
        }
        if let (Some(cert), Some(key)) = (&files.ssl_cert, &files.ssl_key) {
            let is_set = readable(cert)
                .and_then(|()| builder.set_certificate_chain_file(cert).map_err(phrase));
            is_set.map_err(unusable("ssl-cert", cert, "certificates"))?;
            let is_set = private_key(key)
                .and_then(|key| builder.set_private_key(&key).map_err(phrase))
                .and_then(|()| builder.check_private_key().map_err(phrase));
            let wanted = "the private key of ssl-cert, without a passphrase";
            is_set.map_err(unusable("ssl-key", key, wanted))?;
        }
        let identity = mode == TlsMode::VerifyIdentity;
        Ok(Some(TlsSetup { context: builder.build(), identity }))
    }

    /// The state of one connection to `host`.
    pub(crate) fn session(&self, host: &str) -> Result<Ssl, ErrorStack> {
        let mut ssl = Ssl::new(&self.context)?;
        if self.identity {
            match host.parse::<IpAddr>() {
                Ok(address) => ssl.param_mut().set_ip(address)?,
                Err(_) => ssl.param_mut().set_host(host)?,
            }
        }
        Ok(ssl)
    }
}

/// OpenSSL by itself would ask for a passphrase at the terminal.
fn private_key(file: &Path) -> Result<PKey<Private>, String> {
    let pem = std::fs::read(file).map_err(|error| error.to_string())?;
    PKey::private_key_from_pem_callback(&pem, |_| Ok(0)).map_err(|error| reasons(&error))
}

/// Adds option and file to what is wrong, and what the file must hold.
fn unusable(option: &str, file: &Path, wanted: &str) -> impl FnOnce(String) -> String {
    move |why| format!("{option} {}: {why}; it must be a PEM file with {wanted}", file.display())
}

/// OpenSSL's own words for a missing file are none that a person reads.
fn readable(file: &Path) -> Result<(), String> {
    std::fs::File::open(file).map(drop).map_err(|error| error.to_string())
}

/// What OpenSSL says of an error, without the places of its source.
pub(crate) fn reasons(error: &ErrorStack) -> String {
    let mut reasons: Vec<&str> = error.errors().iter().filter_map(|of| of.reason()).collect();
    reasons.dedup();
    match reasons.as_slice() {
        [] => error.to_string(),
        reasons => reasons.join(": "),
    }
}
