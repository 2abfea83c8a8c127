//! The conversation of a login: what the server asks in, what the client says out. Pure.
//!
//! Whoever answers may be a stranger. So the password itself leaves this file on a line that nobody
//! else can read only, or encrypted with a key that the user believes.

use crate::auth::{self, AuthMethod};
use crate::packet::{PacketReader, malformed};
use crate::tls::reasons;
use base::{SessionError, SessionResult};
use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Public};

/// Who can read what is sent?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// Whoever is on the way.
    Open,
    /// The process at the other end of a unix socket.
    Socket,
    /// The other end of TLS.
    Encrypted,
}

/// The server's RSA public key, with which a password is encrypted where TLS is not.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerKey {
    /// The key of the user's file.
    pub(crate) known: Option<PKey<Public>>,
    /// The user believes the key that the server sends.
    pub(crate) is_believed: bool,
}

/// What the server has been asked for and has not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Requested {
    Nothing,
    RsaKey,
    /// The salt of `parsec`.
    Salt,
}

/// One login, from the greeting on.
pub(crate) struct Login<'a> {
    password: &'a [u8],
    privacy: Privacy,
    server_key: &'a ServerKey,
    method: AuthMethod,
    scramble: Vec<u8>,
    requested: Requested,
}

impl<'a> Login<'a> {
    pub(crate) fn new(
        password: &'a [u8],
        privacy: Privacy,
        server_key: &'a ServerKey,
    ) -> Login<'a> {
        let (method, requested) = (AuthMethod::Native, Requested::Nothing);
        Login { password, privacy, server_key, method, scramble: Vec::new(), requested }
    }

    /// The first answer of a method, to the scramble of a greeting or of a request to switch.
    pub(crate) fn begin(&mut self, method: AuthMethod, scramble: &[u8]) -> SessionResult<Vec<u8>> {
        self.method = method;
        self.requested = Requested::Nothing;
        self.scramble = match method {
            AuthMethod::Ed25519 | AuthMethod::Parsec => scramble
                .get(..auth::NONCE)
                .ok_or_else(|| malformed("the scramble of a login is too short"))?,
            _ => scramble.strip_suffix(&[0]).unwrap_or(scramble),
        }
        .to_vec();
        match method {
            AuthMethod::Native | AuthMethod::CachingSha2 if self.password.is_empty() => {
                Ok(Vec::new())
            }
            AuthMethod::Native | AuthMethod::CachingSha2 => {
                auth::scrambled(method, self.password, &self.scramble).map_err(|e| self.refused(&e))
            }
            AuthMethod::Sha256 if self.password.is_empty() => Ok(vec![0]),
            // Its server side takes the password as it is over TLS only.
            AuthMethod::Sha256 if self.privacy == Privacy::Encrypted => {
                Ok(auth::zero_terminated(self.password))
            }
            AuthMethod::Sha256 => self.encrypted_or_ask(1),
            AuthMethod::Ed25519 => {
                Ok(auth::ed25519_signature(self.password, &self.scramble).to_vec())
            }
            AuthMethod::Parsec => {
                self.requested = Requested::Salt;
                Ok(Vec::new())
            }
            AuthMethod::Clear if self.privacy == Privacy::Open => Err(SessionError::Unexpected(
                "the server asks for the password in clear text (mysql_clear_password), and \
                     the connection is not encrypted, so it was not sent; use ssl-mode=REQUIRED"
                    .to_owned(),
            )),
            AuthMethod::Clear => Ok(auth::zero_terminated(self.password)),
            AuthMethod::Peer => Ok(Vec::new()),
        }
    }

    /// The answer to a request to switch to another method.
    pub(crate) fn switch(&mut self, request: &[u8]) -> SessionResult<Vec<u8>> {
        let mut reader = PacketReader::new(request);
        // The request of servers that know one other method only.
        let name =
            if request.is_empty() { b"mysql_old_password" } else { reader.zero_terminated()? };
        self.begin(AuthMethod::named(name)?, reader.rest())
    }

    /// The answer to what else the server says, if it wants one.
    pub(crate) fn next(&mut self, said: &[u8]) -> SessionResult<Option<Vec<u8>>> {
        // MySQL marks all of it; MariaDB only what would look like another packet.
        let said = said.strip_prefix(&[1]).unwrap_or(said);
        match (std::mem::replace(&mut self.requested, Requested::Nothing), self.method, said) {
            (Requested::RsaKey, _, pem) => match PKey::public_key_from_pem(pem) {
                Ok(key) => self.encrypted(&key).map(Some),
                Err(_) => Err(malformed("the server's RSA key is unusable; use ssl-mode=REQUIRED")),
            },
            (Requested::Salt, _, salt) => auth::parsec_answer(self.password, &self.scramble, salt)
                .map_err(|e| self.refused(&e))?
                .ok_or_else(|| malformed("the salt of parsec has an unknown form"))
                .map(Some),
            // The server knew the hash.
            (_, AuthMethod::CachingSha2, [3]) => Ok(None),
            // It needs the password itself.
            (_, AuthMethod::CachingSha2, [4]) if self.privacy == Privacy::Open => {
                self.encrypted_or_ask(2).map(Some)
            }
            (_, AuthMethod::CachingSha2, [4]) => Ok(Some(auth::zero_terminated(self.password))),
            _ => Err(malformed("an unknown step of the login")),
        }
    }

    /// The password, encrypted with a key that the user believes, or the `request` for that key.
    fn encrypted_or_ask(&mut self, request: u8) -> SessionResult<Vec<u8>> {
        if let Some(key) = &self.server_key.known {
            return self.encrypted(key);
        }
        if !self.server_key.is_believed && self.privacy == Privacy::Open {
            return Err(SessionError::Unexpected(format!(
                "{} wants the password, and without TLS it would be encrypted with a key that \
                 whoever answers has sent, so it was not; use ssl-mode=REQUIRED, or name the \
                 server's key by server-public-key-path=FILE, or believe what is sent by \
                 get-server-public-key=true",
                self.method.name()
            )));
        }
        self.requested = Requested::RsaKey;
        Ok(vec![request])
    }

    fn encrypted(&self, key: &PKey<Public>) -> SessionResult<Vec<u8>> {
        auth::rsa_encrypted(self.password, &self.scramble, key).map_err(|error| {
            SessionError::Unexpected(format!(
                "the password cannot be encrypted with the server's RSA key ({}); use \
                 ssl-mode=REQUIRED",
                reasons(&error)
            ))
        })
    }

    fn refused(&self, error: &ErrorStack) -> SessionError {
        SessionError::Unexpected(format!(
            "this machine's OpenSSL refuses what {} computes; it may be in FIPS mode ({})",
            self.method.name(),
            reasons(error)
        ))
    }
}
