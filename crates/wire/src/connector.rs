//! Dialling and logging in.

use crate::auth::{AuthMethod, zero_terminated};
use crate::connection::Connection;
use crate::host_name::HostName;
use crate::login::{Login, ServerKey};
use crate::open::OpenConnections;
use crate::options::{Address, ConnectOptions, TlsMode};
use crate::packet::{PacketReader, malformed, put_lenenc_bytes};
use crate::protocol::{Protocol, capability};
use crate::tls::{TlsSetup, reasons};
use crate::transport::{Endpoint, Transport};
use base::{Exit, OWN_SETTINGS, Session, SessionError, SessionResult, errors, limits};
use openssl::pkey::PKey;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

impl base::Connect for Connector {
    type Session = Connection;
    type Error = ConnectError;

    /// Connects and logs in, within [`limits::CONNECT_TIMEOUT`].
    async fn connect(&self) -> Result<Connection, ConnectError> {
        let at = Instant::now() + limits::CONNECT_TIMEOUT;
        let dialled = reactor::timeout_at(at, self.dial()).await;
        dialled.unwrap_or_else(|_| {
            let seconds = limits::CONNECT_TIMEOUT.as_secs();
            Err(self.unreachable(format!("no answer within {seconds} s")))
        })
    }

    fn may_pass(error: &ConnectError) -> bool {
        match error {
            ConnectError::Unreachable { .. } => true,
            ConnectError::Refused { error, .. } => {
                use errors::{CON_COUNT_ERROR, OF_PROXIES, SERVER_OFFLINE_MODE, SERVER_SHUTDOWN};
                let passing = [
                    CON_COUNT_ERROR,
                    errors::UNKNOWN_COM_ERROR,
                    SERVER_SHUTDOWN,
                    SERVER_OFFLINE_MODE,
                ];
                let passes = |code| passing.contains(&code) || OF_PROXIES.contains(&code);
                error.code().is_none_or(passes)
            }
            ConnectError::Protocol { error, .. } => matches!(error, SessionError::Lost(_)),
            _ => false,
        }
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
    #[error(
        "login of user {user:?} at {address} was denied: {error}; check user and \
         password, and whether the account requires TLS or a certificate (ssl-mode, ssl-cert, \
         ssl-key)"
    )]
    Denied { address: String, user: String, error: SessionError },
    #[error(
        "user {user:?} at {address} may not use the schema: {error}; grant it the rights, or make \
         its role a default one (SET DEFAULT ROLE)"
    )]
    NoRights { address: String, user: String, error: SessionError },
    #[error(
        "the server at {address} has no schema {schema:?}; create it, or load it with `mydyno load`"
    )]
    NoSchema { address: String, schema: String },
    #[error("the server at {address} refuses connections: {error}{}", cure(error))]
    Refused { address: String, error: SessionError },
    #[error("no TLS connection to {address}: {why}")]
    Tls { address: String, why: String },
    #[error("login at {address} failed: {error}")]
    Protocol { address: String, error: SessionError },
}

/// What to do about a refusal that does not say so itself.
fn cure(error: &SessionError) -> &'static str {
    match error.code() {
        Some(errors::ACCOUNT_LOCKED | errors::MARIADB_ACCOUNT_LOCKED) => {
            "; unlock it (ALTER USER ... ACCOUNT UNLOCK), or use another"
        }
        Some(errors::TOO_MANY_USER_CONNECTIONS | errors::USER_LIMIT_REACHED) => {
            "; raise that limit, or use fewer connections"
        }
        Some(errors::SECURE_TRANSPORT_REQUIRED) => "; use ssl-mode=REQUIRED, or a unix socket",
        _ => "",
    }
}

impl ConnectError {
    /// A target that cannot be used is an environment that is not fit.
    pub fn exit(&self) -> Exit {
        Exit::Environment
    }
}

/// Opens connections to one server. Cheap to clone; one per run, shared by its threads.
#[derive(Clone, Debug)]
pub struct Connector {
    options: Arc<ConnectOptions>,
    /// As it was at first.
    endpoint: Arc<Endpoint>,
    /// The server prepares the statements of sessions.
    prepares: bool,
    /// What it is resolved again by for each connection, where it has a name.
    name: Option<Arc<HostName>>,
    mode: TlsMode,
    tls: Option<TlsSetup>,
    server_key: Arc<ServerKey>,
    /// A connection was encrypted, so the server can do it.
    was_encrypted: Arc<AtomicBool>,
    open: OpenConnections,
}

impl Connector {
    /// Resolves the host's name, which says whether TLS is wanted by itself, and reads certificates
    /// and keys, once. Blocks while the resolver does.
    ///
    /// # Errors
    /// [`ConnectError::Unreachable`] for an unknown host, [`ConnectError::Tls`] and
    /// [`ConnectError::Protocol`] for a file that is none of its kind.
    pub fn new(options: ConnectOptions) -> Result<Connector, ConnectError> {
        let address = options.address.to_string();
        let endpoint = Endpoint::resolve(&options.address).map_err(|error| {
            ConnectError::Unreachable { address: address.clone(), why: error.to_string() }
        })?;
        let name = match (&options.address, &endpoint) {
            (Address::Tcp { host, port }, Endpoint::Tcp(found)) => HostName::of(host, *port, found),
            _ => None,
        };
        let security = &options.security;
        let mode = security.mode(endpoint.is_local());
        let tls = TlsSetup::for_mode(mode, security)
            .map_err(|why| ConnectError::Tls { address: address.clone(), why })?;
        let known = security.server_public_key_path.as_deref().map(public_key).transpose();
        let known = known.map_err(|error| ConnectError::Protocol { address, error })?;
        let is_believed = security.get_server_public_key.unwrap_or(false);
        Ok(Connector {
            options: Arc::new(options),
            endpoint: Arc::new(endpoint),
            prepares: true,
            name,
            mode,
            tls,
            server_key: Arc::new(ServerKey { known, is_believed }),
            was_encrypted: Arc::default(),
            open: OpenConnections::default(),
        })
    }

    /// The same server, which prepares statements, or is sent them as text.
    pub fn preparing(&self, prepares: bool) -> Connector {
        Connector { prepares, ..self.clone() }
    }

    /// Keeps the connections that it opens on this list.
    #[must_use]
    pub fn listing(self, open: &OpenConnections) -> Connector {
        Connector { open: open.clone(), ..self }
    }

    fn address(&self) -> String {
        self.options.address.to_string()
    }

    fn unreachable(&self, why: String) -> ConnectError {
        ConnectError::Unreachable { address: self.address(), why }
    }

    async fn dial(&self) -> Result<Connection, ConnectError> {
        let transport = match &self.name {
            None => Transport::connect(&self.endpoint).await,
            Some(name) => Transport::connect(&self.resolve(name).await?).await,
        };
        let transport = transport.map_err(|error| self.unreachable(error.to_string()))?;
        let mut connection = Connection::new(transport, self.prepares);
        self.log_in(&mut connection).await?;
        for sql in OWN_SETTINGS {
            connection.query(sql).await.map_err(|e| self.classify(e))?;
        }
        Ok(connection)
    }

    /// Where a name leads to now. Without TLS by itself that stays inside the machine.
    async fn resolve(&self, name: &Arc<HostName>) -> Result<Endpoint, ConnectError> {
        let found = name.addresses().await.map_err(|error| self.unreachable(error.to_string()))?;
        let endpoint = Endpoint::Tcp(found);
        let is_mode_of_now = self.mode == self.options.security.mode(endpoint.is_local());
        if is_mode_of_now || !self.endpoint.is_local() {
            return Ok(endpoint);
        }
        let why = "the name led to this machine at first, where connections are not encrypted, and \
                   leads to another now; say which by ssl-mode";
        Err(ConnectError::Tls { address: self.address(), why: why.to_owned() })
    }

    pub(crate) async fn log_in(&self, connection: &mut Connection) -> Result<(), ConnectError> {
        let greeting = connection.read_packet().await.map_err(|e| self.classify(e))?;
        let greeting = Greeting::parse(&greeting).map_err(|e| self.classify(e))?;
        let tls = self.tls_with(&greeting)?;
        let agreed = Protocol {
            capabilities: greeting.capabilities & self.wanted(tls.is_some()),
            mariadb: greeting.mariadb & capability::MARIADB_CACHE_METADATA,
        };
        connection.set_server(&greeting.version, greeting.connection_id);
        if let Some(setup) = tls {
            self.start_tls(connection, agreed, setup).await?;
        }
        connection.set_protocol(agreed);
        let answered = self.authenticate(connection, &greeting, agreed).await;
        answered.map_err(|e| self.classify(e))?;
        connection.listed(self.open.with(greeting.connection_id));
        Ok(())
    }

    /// The set-up for a connection to the server of this greeting, if it is to be encrypted.
    fn tls_with(&self, greeting: &Greeting) -> Result<Option<&TlsSetup>, ConnectError> {
        let Some(setup) = &self.tls else { return Ok(None) };
        if greeting.capabilities & capability::SSL != 0 {
            return Ok(Some(setup));
        }
        let why = match self.mode {
            TlsMode::Preferred if !self.was_encrypted.load(Ordering::Relaxed) => return Ok(None),
            TlsMode::Preferred => {
                "an earlier connection was encrypted, and the server does not offer it any more; \
                 somebody may be in between (ssl-mode=DISABLED does without TLS)"
            }
            _ => {
                "the server has TLS switched off; set up its ssl_cert and ssl_key, or use \
                 ssl-mode=DISABLED"
            }
        };
        Err(ConnectError::Tls { address: self.address(), why: why.to_owned() })
    }

    async fn start_tls(
        &self,
        connection: &mut Connection,
        agreed: Protocol,
        setup: &TlsSetup,
    ) -> Result<(), ConnectError> {
        let failed = |why: String| ConnectError::Tls { address: self.address(), why };
        let request = agreed.fixed_part();
        connection.send_packet(&request).await.map_err(|e| self.classify(e))?;
        let host = match &self.options.address {
            Address::Tcp { host, .. } => host.clone(),
            Address::Unix(_) => "localhost".to_owned(),
        };
        let session = setup.session(&host).map_err(|error| failed(reasons(&error)))?;
        connection.start_tls(session).await.map_err(|error| failed(error.to_string()))?;
        self.was_encrypted.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn wanted(&self, tls: bool) -> u32 {
        let schema = if self.options.schema.is_some() { capability::CONNECT_WITH_DB } else { 0 };
        let tls = if tls { capability::SSL } else { 0 };
        capability::BASE | schema | tls
    }

    fn login_packet(
        &self,
        greeting: &Greeting,
        agreed: Protocol,
        login: &mut Login<'_>,
    ) -> SessionResult<Vec<u8>> {
        let mut out = agreed.fixed_part();
        out.extend(zero_terminated(self.options.user.as_bytes()));
        let response = login.begin(greeting.method, &greeting.scramble)?;
        if agreed.has(capability::LENENC_AUTH) {
            put_lenenc_bytes(&mut out, &response);
        } else {
            out.push(response.len() as u8);
            out.extend_from_slice(&response);
        }
        if let Some(schema) = &self.options.schema {
            out.extend(zero_terminated(schema.as_bytes()));
        }
        out.extend(zero_terminated(greeting.method.name().as_bytes()));
        if agreed.has(capability::CONNECT_ATTRIBUTES) {
            let mut attributes = Vec::new();
            put_lenenc_bytes(&mut attributes, b"program_name");
            put_lenenc_bytes(&mut attributes, b"mydyno");
            put_lenenc_bytes(&mut out, &attributes);
        }
        Ok(out)
    }

    /// Logs in, and follows the server through its login method until it says yes or no.
    async fn authenticate(
        &self,
        connection: &mut Connection,
        greeting: &Greeting,
        agreed: Protocol,
    ) -> SessionResult<()> {
        let password = self.options.password.reveal().as_bytes();
        let mut login = Login::new(password, connection.privacy(), &self.server_key);
        let packet = self.login_packet(greeting, agreed, &mut login)?;
        connection.send_packet(&packet).await?;
        // Each step needs the server's leave; more than a few is a server that goes in circles.
        for _ in 0..8 {
            let packet = connection.read_packet().await?;
            let answer = match packet.first() {
                Some(0x00) => return Ok(()),
                Some(0xfe) => Some(login.switch(&packet[1..])?),
                _ => login.next(&packet)?,
            };
            if let Some(answer) = answer {
                connection.send_packet(&answer).await?;
            }
        }
        Err(malformed("the login does not end"))
    }

    fn classify(&self, error: SessionError) -> ConnectError {
        let address = self.address();
        match error.code() {
            Some(
                errors::ACCESS_DENIED_ERROR
                | errors::ACCESS_DENIED_NO_PASSWORD_ERROR
                | errors::NOT_SUPPORTED_AUTH_MODE
                | errors::HOST_NOT_PRIVILEGED,
            ) => {
                let user = self.options.user.clone();
                ConnectError::Denied { address, user, error }
            }
            Some(errors::DBACCESS_DENIED_ERROR) => {
                ConnectError::NoRights { address, user: self.options.user.clone(), error }
            }
            Some(errors::BAD_DB_ERROR) => {
                let schema = self.options.schema.clone().unwrap_or_default();
                ConnectError::NoSchema { address, schema }
            }
            Some(_) => ConnectError::Refused { address, error },
            None => ConnectError::Protocol { address, error },
        }
    }
}

/// The RSA public key of a file.
fn public_key(file: &Path) -> SessionResult<PKey<openssl::pkey::Public>> {
    let read = std::fs::read(file).map_err(|error| error.to_string());
    let key = read.and_then(|pem| PKey::public_key_from_pem(&pem).map_err(|e| reasons(&e)));
    key.map_err(|error| {
        SessionError::Unexpected(format!(
            "server-public-key-path {}: {error}; it must be the server's RSA public key as a PEM \
             file",
            file.display()
        ))
    })
}

struct Greeting {
    version: String,
    connection_id: u32,
    capabilities: u32,
    /// The capabilities that only MariaDB has.
    mariadb: u32,
    scramble: Vec<u8>,
    /// What to begin with. Where the account has another one, the server asks for it.
    method: AuthMethod,
}

impl Greeting {
    fn parse(payload: &[u8]) -> SessionResult<Greeting> {
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
        let own = reader.u32()?;
        let mariadb = if capabilities & capability::MYSQL == 0 { own } else { 0 };
        let second = reader.take(scramble_len.saturating_sub(8).max(13))?;
        scramble.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
        let method = match reader.zero_terminated().unwrap_or_default() {
            b"caching_sha2_password" => AuthMethod::CachingSha2,
            _ => AuthMethod::Native,
        };
        Ok(Greeting { version, connection_id, capabilities, mariadb, scramble, method })
    }
}
