//! Dialling and logging in.

use crate::auth::{self, AuthMethod};
use crate::connection::Connection;
use crate::options::{Address, ConnectOptions};
use crate::packet::{PacketReader, malformed, put_lenenc_bytes};
use crate::protocol::Protocol;
use crate::tls::TlsSetup;
use crate::transport::{Endpoint, Transport};
use base::{Exit, SessionError, limits};
use std::sync::Arc;
use std::time::Instant;

impl base::Connect for Connector {
    type Session = Connection;
    type Error = ConnectError;

    /// Connects and logs in, within [`limits::CONNECT_TIMEOUT`].
    async fn connect(&self) -> Result<Connection, ConnectError> {
        let at = Instant::now() + limits::CONNECT_TIMEOUT;
        match reactor::timeout_at(at, self.dial()).await {
            Ok(result) => result,
            Err(_) => Err(ConnectError::Unreachable {
                address: self.address(),
                why: format!("no answer within {} s", limits::CONNECT_TIMEOUT.as_secs()),
            }),
        }
    }

    fn may_pass(error: &ConnectError) -> bool {
        error.may_pass()
    }

    async fn close(session: Connection) {
        session.close().await;
    }
}

/// Why there is no connection.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(
        "cannot reach the server at {address}: {why}; check host, port and that the server is up"
    )]
    Unreachable { address: String, why: String },
    #[error("login of user {user:?} at {address} was denied: {error}; check user and password")]
    Denied { address: String, user: String, error: SessionError },
    #[error(
        "the server at {address} has no schema {schema:?}; create it, or load it with `mydyno load`"
    )]
    NoSchema { address: String, schema: String },
    #[error("the server at {address} refuses connections: {error}")]
    Refused { address: String, error: SessionError },
    #[error("no TLS connection to {address}: {why}")]
    Tls { address: String, why: String },
    #[error("login at {address} failed: {error}")]
    Protocol { address: String, error: SessionError },
}

impl ConnectError {
    /// A target that cannot be used is an environment that is not fit.
    pub fn exit(&self) -> Exit {
        Exit::Environment
    }

    fn may_pass(&self) -> bool {
        match self {
            ConnectError::Unreachable { .. } => true,
            // Too many connections, a Galera node that is not ready, shutdown in progress.
            ConnectError::Refused { error, .. } => {
                matches!(error.code(), Some(1040 | 1047 | 1053) | None)
            }
            ConnectError::Protocol { error, .. } => matches!(error, SessionError::Lost(_)),
            _ => false,
        }
    }
}

/// Opens connections to one server. Cheap to clone; one per run, shared by its threads.
#[derive(Clone, Debug)]
pub struct Connector {
    options: Arc<ConnectOptions>,
    endpoint: Arc<Endpoint>,
    tls: Option<TlsSetup>,
}

impl Connector {
    /// Resolves the host name and reads the CA file, once. Blocks while the resolver does.
    ///
    /// # Errors
    /// [`ConnectError::Unreachable`] for an unknown host, [`ConnectError::Tls`] for a CA file that
    /// is none.
    pub fn new(options: ConnectOptions) -> Result<Connector, ConnectError> {
        let address = options.address.to_string();
        let endpoint = Endpoint::resolve(&options.address).map_err(|error| {
            ConnectError::Unreachable { address: address.clone(), why: error.to_string() }
        })?;
        let tls = TlsSetup::for_mode(&options.tls)
            .map_err(|why| ConnectError::Tls { address: address.clone(), why })?;
        Ok(Connector { options: Arc::new(options), endpoint: Arc::new(endpoint), tls })
    }

    fn address(&self) -> String {
        self.options.address.to_string()
    }

    async fn dial(&self) -> Result<Connection, ConnectError> {
        let transport = Transport::connect(&self.endpoint).await.map_err(|error| {
            ConnectError::Unreachable { address: self.address(), why: error.to_string() }
        })?;
        let mut connection = Connection::new(transport);
        self.log_in(&mut connection).await?;
        Ok(connection)
    }

    async fn log_in(&self, connection: &mut Connection) -> Result<(), ConnectError> {
        let greeting = connection.read_packet().await.map_err(|e| self.classify(e))?;
        let greeting = Greeting::parse(&greeting).map_err(|e| self.classify(e))?;
        let agreed = Agreed {
            capabilities: greeting.capabilities & self.wanted(),
            mariadb: greeting.mariadb_capabilities & capability::MARIADB_CACHE_METADATA,
        };
        connection.set_server(&greeting.version, greeting.connection_id);
        if let Some(setup) = &self.tls {
            self.start_tls(connection, &greeting, agreed, setup).await?;
        }
        let login = self.login_packet(&greeting, agreed).map_err(|e| self.classify(e))?;
        connection.set_protocol(agreed.protocol());
        connection.send_packet(&login).await.map_err(|e| self.classify(e))?;
        let answered = self.answer_questions(connection, greeting).await;
        answered.map_err(|e| self.classify(e))
    }

    async fn start_tls(
        &self,
        connection: &mut Connection,
        greeting: &Greeting,
        agreed: Agreed,
        setup: &TlsSetup,
    ) -> Result<(), ConnectError> {
        let failed = |why: String| ConnectError::Tls { address: self.address(), why };
        if greeting.capabilities & capability::SSL == 0 {
            return Err(failed(
                "the server has TLS switched off; set up its ssl_cert and ssl_key, or use \
                 ssl-mode=DISABLED"
                    .to_owned(),
            ));
        }
        let request = agreed.fixed_part();
        connection.send_packet(&request).await.map_err(|e| self.classify(e))?;
        let host = match &self.options.address {
            Address::Tcp { host, .. } => host.clone(),
            Address::Unix(_) => "localhost".to_owned(),
        };
        let session = setup.session(&host).map_err(|error| failed(error.to_string()))?;
        connection.start_tls(session).await.map_err(|error| failed(error.to_string()))
    }

    fn wanted(&self) -> u32 {
        let mut wanted = capability::BASE;
        if self.options.schema.is_some() {
            wanted |= capability::CONNECT_WITH_DB;
        }
        if self.tls.is_some() {
            wanted |= capability::SSL;
        }
        wanted
    }

    fn login_packet(&self, greeting: &Greeting, agreed: Agreed) -> Result<Vec<u8>, SessionError> {
        let mut out = agreed.fixed_part();
        let method = greeting.method.unwrap_or(AuthMethod::Native);
        let password = self.options.password.reveal().as_bytes();
        out.extend_from_slice(self.options.user.as_bytes());
        out.push(0);
        let response = respond(method, password, &greeting.scramble)?;
        if agreed.capabilities & capability::LENENC_AUTH != 0 {
            put_lenenc_bytes(&mut out, &response);
        } else {
            out.push(response.len() as u8);
            out.extend_from_slice(&response);
        }
        if let Some(schema) = &self.options.schema {
            out.extend_from_slice(schema.as_bytes());
            out.push(0);
        }
        out.extend_from_slice(method.name().as_bytes());
        out.push(0);
        if agreed.capabilities & capability::CONNECT_ATTRIBUTES != 0 {
            let mut attributes = Vec::new();
            put_lenenc_bytes(&mut attributes, b"program_name");
            put_lenenc_bytes(&mut attributes, b"mydyno");
            put_lenenc_bytes(&mut out, &attributes);
        }
        Ok(out)
    }

    /// Follows the server through its login method until it says yes or no.
    async fn answer_questions(
        &self,
        connection: &mut Connection,
        greeting: Greeting,
    ) -> Result<(), SessionError> {
        let password = self.options.password.reveal().as_bytes();
        let mut scramble = greeting.scramble;
        // Each step needs the server's leave; more than a few is a server that goes in circles.
        for _ in 0..8 {
            let packet = connection.read_packet().await?;
            match packet.first() {
                Some(0x00) => return Ok(()),
                Some(0xfe) => {
                    let (method, new_scramble) = switch_request(&packet)?;
                    let response = respond(method, password, &new_scramble)?;
                    scramble = new_scramble;
                    connection.send_packet(&response).await?;
                }
                // caching_sha2_password: 3 = the server knew the hash, 4 = it needs the password
                // itself.
                Some(0x01) if packet.get(1) == Some(&3) => {}
                Some(0x01) if packet.get(1) == Some(&4) => {
                    full_authentication(connection, password, &scramble).await?;
                }
                _ => return Err(malformed("an unknown step of the login")),
            }
        }
        Err(malformed("the login does not end"))
    }

    fn classify(&self, error: SessionError) -> ConnectError {
        let address = self.address();
        match error.code() {
            Some(1044 | 1045 | 1698 | 1251 | 1130) => {
                let user = self.options.user.clone();
                ConnectError::Denied { address, user, error }
            }
            Some(1049) => {
                let schema = self.options.schema.clone().unwrap_or_default();
                ConnectError::NoSchema { address, schema }
            }
            Some(_) => ConnectError::Refused { address, error },
            None => ConnectError::Protocol { address, error },
        }
    }
}

fn respond(method: AuthMethod, password: &[u8], scramble: &[u8]) -> Result<Vec<u8>, SessionError> {
    method.response(password, scramble).ok_or_else(|| {
        SessionError::Unexpected(format!(
            "this machine's OpenSSL refuses the hash of {}; it may be in FIPS mode",
            method.name()
        ))
    })
}

async fn full_authentication(
    connection: &mut Connection,
    password: &[u8],
    scramble: &[u8],
) -> Result<(), SessionError> {
    if connection.is_private() {
        let mut plain = password.to_vec();
        plain.push(0);
        return connection.send_packet(&plain).await;
    }
    connection.send_packet(&[2]).await?;
    let packet = connection.read_packet().await?;
    let encrypted = packet
        .strip_prefix(&[0x01])
        .and_then(|pem| auth::rsa_encrypted(password, scramble, pem))
        .ok_or_else(|| malformed("the server's RSA key is unusable; use ssl-mode=REQUIRED"))?;
    connection.send_packet(&encrypted).await
}

fn switch_request(packet: &[u8]) -> Result<(AuthMethod, Vec<u8>), SessionError> {
    let mut reader = PacketReader::new(&packet[1..]);
    let name = reader.zero_terminated()?;
    let method = AuthMethod::named(name).ok_or_else(|| {
        SessionError::Unexpected(format!(
            "the server wants login method {:?}, which mydyno does not speak; give the user \
             mysql_native_password or caching_sha2_password",
            String::from_utf8_lossy(name)
        ))
    })?;
    let scramble = reader.rest();
    Ok((method, scramble.strip_suffix(&[0]).unwrap_or(scramble).to_vec()))
}

/// Bits of the capability flags, both sides.
pub(crate) mod capability {
    pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(crate) const SSL: u32 = 1 << 11;
    pub(crate) const CONNECT_ATTRIBUTES: u32 = 1 << 20;
    pub(crate) const LENENC_AUTH: u32 = 1 << 21;
    pub(crate) const DEPRECATE_EOF: u32 = 1 << 24;
    /// MySQL 8.0: a session may ask for results without description of their columns.
    pub(crate) const OPTIONAL_METADATA: u32 = 1 << 25;
    /// Not set by MariaDB, which then has capabilities of its own.
    pub(crate) const MYSQL: u32 = 1;
    /// An extension of MariaDB: columns are described again only when they change.
    pub(crate) const MARIADB_CACHE_METADATA: u32 = 1 << 4;
    /// MySQL, found rows, long flag, local files, protocol 4.1, transactions, secure connection,
    /// several results of text and of prepared statements, login plugins.
    pub(crate) const BASE: u32 = MYSQL
        | 1 << 1
        | 1 << 2
        | 1 << 7
        | 1 << 9
        | 1 << 13
        | 1 << 15
        | 1 << 17
        | 1 << 18
        | 1 << 19
        | CONNECT_ATTRIBUTES
        | LENENC_AUTH
        | DEPRECATE_EOF
        | OPTIONAL_METADATA;
}

/// latin1: the character set of the schema, so that neither side converts.
const CHARSET_LATIN1: u8 = 8;

/// Capabilities that both sides have.
#[derive(Clone, Copy)]
struct Agreed {
    capabilities: u32,
    /// MariaDB's own.
    mariadb: u32,
}

impl Agreed {
    fn protocol(self) -> Protocol {
        Protocol {
            deprecate_eof: self.capabilities & capability::DEPRECATE_EOF != 0,
            optional_metadata: self.capabilities & capability::OPTIONAL_METADATA != 0,
            cached_metadata: self.mariadb & capability::MARIADB_CACHE_METADATA != 0,
        }
    }

    /// The part that a login has in common with a request for TLS.
    fn fixed_part(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        out.extend_from_slice(&self.capabilities.to_le_bytes());
        out.extend_from_slice(&(1u32 << 30).to_le_bytes());
        out.push(CHARSET_LATIN1);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&self.mariadb.to_le_bytes());
        out
    }
}

struct Greeting {
    version: String,
    connection_id: u32,
    capabilities: u32,
    mariadb_capabilities: u32,
    scramble: Vec<u8>,
    method: Option<AuthMethod>,
}

impl Greeting {
    fn parse(payload: &[u8]) -> Result<Greeting, SessionError> {
        let mut reader = PacketReader::new(payload);
        if reader.u8()? != 10 {
            return Err(malformed("the greeting is not of protocol version 10"));
        }
        let version = String::from_utf8_lossy(reader.zero_terminated()?).into_owned();
        let connection_id = reader.u32()?;
        let mut scramble = reader.take(8)?.to_vec();
        reader.take(1)?;
        let low = u32::from(reader.u16()?);
        reader.take(3)?;
        let capabilities = low | u32::from(reader.u16()?) << 16;
        let scramble_len = usize::from(reader.u8()?);
        reader.take(6)?;
        let mariadb_capabilities = match capabilities & capability::MYSQL {
            0 => reader.u32()?,
            _ => reader.u32().map(|_| 0)?,
        };
        let second = reader.take(scramble_len.saturating_sub(8).max(13))?;
        scramble.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
        let method = reader.zero_terminated().unwrap_or_default();
        let method = AuthMethod::named(method);
        Ok(Greeting {
            version,
            connection_id,
            capabilities,
            mariadb_capabilities,
            scramble,
            method,
        })
    }
}
