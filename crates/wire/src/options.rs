//! Where a server is and how to log in to it.

use base::named;
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

named! {
    /// Is a connection encrypted, and whom does it believe? The words are those of
    /// `mysql --ssl-mode`.
    pub enum TlsMode {
        /// Plain text.
        Disabled = "DISABLED",
        /// Encrypted where the server offers it; the certificate is not verified.
        Preferred = "PREFERRED",
        /// Encrypted or nothing; the certificate is not verified.
        Required = "REQUIRED",
        /// Encrypted, and the certificate chain leads to the CA file.
        VerifyCa = "VERIFY_CA",
        /// Like [`TlsMode::VerifyCa`], and the certificate names the host that was dialled.
        VerifyIdentity = "VERIFY_IDENTITY",
    }
}

/// How the login and what follows are protected on their way. Options have the names and the
/// meaning that they have for `mysql`, in DSNs and in option files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Security {
    /// What was said; see [`Security::mode`] for what holds where nothing was.
    pub ssl_mode: Option<TlsMode>,
    /// Certificates of authorities (PEM).
    pub ssl_ca: Option<PathBuf>,
    /// The client's own certificate with its chain (PEM), and its private key (PEM).
    pub ssl_cert: Option<PathBuf>,
    pub ssl_key: Option<PathBuf>,
    /// The server's RSA public key (PEM): without TLS, passwords are encrypted with it.
    pub server_public_key_path: Option<PathBuf>,
    /// Believe the RSA public key that the server sends.
    pub get_server_public_key: Option<bool>,
}

impl Security {
    /// The names of all options.
    pub const NAMES: [&str; 6] = [
        "ssl-mode",
        "ssl-ca",
        "ssl-cert",
        "ssl-key",
        "server-public-key-path",
        "get-server-public-key",
    ];

    /// Takes an option by its name; false for a name that is none of these. The error says what is
    /// wrong with the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "ssl-mode" => {
                let is_named = |mode: &TlsMode| mode.name().eq_ignore_ascii_case(value);
                let names = TlsMode::ALL.map(TlsMode::name).join(", ");
                let unknown = || format!("ssl-mode `{value}` is unknown; the modes are {names}");
                let mode = TlsMode::ALL.into_iter().find(is_named);
                self.ssl_mode = Some(mode.ok_or_else(unknown)?);
            }
            "get-server-public-key" => {
                self.get_server_public_key = Some(match value.to_ascii_lowercase().as_str() {
                    "true" | "on" | "1" => true,
                    "false" | "off" | "0" => false,
                    _ => return Err(format!("{name} `{value}` is neither true nor false")),
                });
            }
            _ => match self.files().into_iter().find(|(known, _)| *known == name) {
                Some((_, file)) => *file = Some(PathBuf::from(value)),
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    fn files(&mut self) -> [(&'static str, &mut Option<PathBuf>); 4] {
        [
            ("ssl-ca", &mut self.ssl_ca),
            ("ssl-cert", &mut self.ssl_cert),
            ("ssl-key", &mut self.ssl_key),
            ("server-public-key-path", &mut self.server_public_key_path),
        ]
    }

    /// What was said, by name: [`Security::set`] with each of these gives the same.
    pub fn said(&self) -> Vec<(&'static str, String)> {
        let mode = self.ssl_mode.map(|mode| ("ssl-mode", mode.name().to_owned()));
        let believed = self.get_server_public_key;
        let believed = believed.map(|yes| ("get-server-public-key", yes.to_string()));
        let mut files = self.clone();
        let files = files.files().map(|(name, file)| {
            file.as_ref().map(|file| (name, file.to_string_lossy().into_owned()))
        });
        mode.into_iter().chain(files.into_iter().flatten()).chain(believed).collect()
    }

    /// What this says, and `other` where it says nothing.
    pub fn or(self, other: Security) -> Security {
        Security {
            ssl_mode: self.ssl_mode.or(other.ssl_mode),
            ssl_ca: self.ssl_ca.or(other.ssl_ca),
            ssl_cert: self.ssl_cert.or(other.ssl_cert),
            ssl_key: self.ssl_key.or(other.ssl_key),
            server_public_key_path: self.server_public_key_path.or(other.server_public_key_path),
            get_server_public_key: self.get_server_public_key.or(other.get_server_public_key),
        }
    }

    /// The mode that holds. Whoever names a certificate wants it used. Where nothing is said,
    /// `mysql` prefers TLS; so does this client, except inside the machine: there nobody listens,
    /// and encryption would be a part of what is measured.
    pub(crate) fn mode(&self, is_local: bool) -> TlsMode {
        match self.ssl_mode {
            Some(said) => said,
            None if self.ssl_ca.is_some() => TlsMode::VerifyCa,
            None if self.ssl_cert.is_some() => TlsMode::Required,
            None if is_local => TlsMode::Disabled,
            None => TlsMode::Preferred,
        }
    }

    /// What is missing, as a phrase for people.
    pub fn gap(&self) -> Option<String> {
        let verifies = [TlsMode::VerifyCa, TlsMode::VerifyIdentity];
        match self.ssl_mode {
            Some(mode) if verifies.contains(&mode) && self.ssl_ca.is_none() => Some(format!(
                "ssl-mode {} needs the certificate to verify with: ssl-ca=FILE",
                mode.name()
            )),
            _ if self.ssl_cert.is_some() != self.ssl_key.is_some() => {
                Some("ssl-cert=FILE and ssl-key=FILE belong together".to_owned())
            }
            _ => None,
        }
    }
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
    pub security: Security,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `mysql` prefers TLS everywhere; inside the machine it would be a part of what is measured.
    #[test]
    fn the_mode_where_nothing_is_said() {
        let mode = |security: &Security| [true, false].map(|is_local| security.mode(is_local));
        let mut security = Security::default();
        assert_eq!(mode(&security), [TlsMode::Disabled, TlsMode::Preferred]);
        security.ssl_cert = Some("/c".into());
        assert_eq!(mode(&security), [TlsMode::Required; 2]);
        security.ssl_ca = Some("/ca".into());
        assert_eq!(mode(&security), [TlsMode::VerifyCa; 2]);
        for said in TlsMode::ALL {
            security.ssl_mode = Some(said);
            assert_eq!(mode(&security), [said; 2]);
        }
    }

    #[test]
    fn what_was_said_is_said_again() {
        let mut security = Security::default();
        for (name, value) in Security::NAMES.iter().zip(["preferred", "a", "b", "c", "d", "on"]) {
            assert_eq!(security.set(name, value), Ok(true));
        }
        let mut again = Security::default();
        for (name, value) in security.said() {
            assert_eq!(again.set(name, &value), Ok(true));
        }
        assert_eq!(security, again);
        assert_eq!(security.said().len(), Security::NAMES.len());
        assert_eq!(security.set("ssl-cipher", "x"), Ok(false));
    }
}
