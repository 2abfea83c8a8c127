//! Where a server is and how to log in to it.

use std::fmt;
use std::path::PathBuf;

/// How to reach the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Host and port, resolved when connecting. Never moved to a unix socket behind the user's
    /// back.
    Tcp {
        host: String,
        port: u16,
    },
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// What of TLS is asked for; the words are those of `mysql --ssl-mode`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// Plain text. The default: encryption costs client CPU, and a benchmark should not pay it
    /// unasked.
    #[default]
    Disabled,
    /// Encrypted or nothing; the certificate is not verified.
    Required,
    /// Encrypted, and the certificate chain leads to this CA file (PEM).
    VerifyCa(PathBuf),
    /// Like [`Tls::VerifyCa`], and the certificate names the host that was dialled.
    VerifyIdentity(PathBuf),
}

/// A password that shows itself to nobody: `Debug` prints stars, and there is no `Display`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    pub fn new(secret: impl Into<String>) -> Password {
        Password(secret.into())
    }

    /// The secret itself, for the login only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Everything that a login needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectOptions {
    pub address: Address,
    pub user: String,
    pub password: Password,
    /// The schema to use after login.
    pub schema: Option<String>,
    pub tls: Tls,
}
