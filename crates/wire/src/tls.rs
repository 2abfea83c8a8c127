//! What of the server's certificate is verified in each TLS mode.
//!
//! OpenSSL and not rustls: servers in the field speak what this tool must still reach. MySQL before
//! 5.7.28 has TLS 1.1 (yaSSL), 8.0.15 has TLS 1.2 with finite-field Diffie-Hellman only. Each
//! connection takes the best that both know.

use crate::options::Tls;
use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslVerifyMode, SslVersion};
use std::net::IpAddr;

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
    pub(crate) fn for_mode(tls: &Tls) -> Result<Option<TlsSetup>, String> {
        let (ca, identity) = match tls {
            Tls::Disabled => return Ok(None),
            Tls::Required => (None, false),
            Tls::VerifyCa(ca) => (Some(ca), false),
            Tls::VerifyIdentity(ca) => (Some(ca), true),
        };
        let phrase = |error: ErrorStack| error.to_string();
        let mut builder = SslContext::builder(SslMethod::tls_client()).map_err(phrase)?;
        builder.set_min_proto_version(Some(SslVersion::TLS1)).map_err(phrase)?;
        builder.set_cipher_list("DEFAULT@SECLEVEL=0").map_err(phrase)?;
        builder.set_verify(SslVerifyMode::NONE);
        if let Some(ca) = ca {
            builder.set_verify(SslVerifyMode::PEER);
            builder.set_ca_file(ca).map_err(|error| {
                let ca = ca.display();
                format!("ssl-ca {ca}: {error}; it must be a PEM file with CA certificates")
            })?;
        }
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
