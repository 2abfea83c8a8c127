//! Databases that mydyno did not start: named by a DSN, by option files, or by both, where the DSN
//! wins.

use crate::dsn::{self, Dsn};
use crate::option_file::ClientOptions;
use crate::{ServerError, ServerResult};
use std::path::{Path, PathBuf};
use wire::{Address, ConnectOptions, Password};

const DEFAULT_PORT: u16 = 3306;

/// Where to look for a target. Everything outside of the command line is a field, so that tests can
/// say it.
#[derive(Clone, Default)]
pub struct TargetRequest {
    /// `--dsn`.
    pub dsn: Option<String>,
    /// `--defaults-file`; read instead of `~/.my.cnf`.
    pub defaults_file: Option<PathBuf>,
    /// The user's home, for `~/.my.cnf`.
    pub user_home: Option<PathBuf>,
    /// `MYDYNO_PASSWORD`.
    pub password: Option<Password>,
    /// The user name of the operating system: the login where nothing else is said, as for `mysql`.
    pub login_name: Option<String>,
}

impl TargetRequest {
    /// A request with what the environment says.
    pub fn from_env(dsn: Option<&str>, defaults_file: Option<&Path>) -> TargetRequest {
        let set = |name| std::env::var(name).ok().filter(|v| !v.is_empty());
        TargetRequest {
            dsn: dsn.map(str::to_owned),
            defaults_file: defaults_file.map(Path::to_owned),
            user_home: set("HOME").map(PathBuf::from),
            password: set("MYDYNO_PASSWORD").map(Password::new),
            login_name: set("USER").or_else(|| set("LOGNAME")),
        }
    }
}

/// A database to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub connect: ConnectOptions,
    /// What was read over or assumed, for people.
    pub notes: Vec<String>,
}

impl Target {
    /// Puts together what the DSN, the environment and the option files say, in this order of
    /// precedence.
    ///
    /// # Errors
    /// [`ServerError::Dsn`], [`ServerError::OptionFile`] and [`ServerError::NoTarget`], all of them
    /// usage errors.
    pub fn resolve(request: &TargetRequest) -> ServerResult<Target> {
        let dsn = request.dsn.as_deref().map(dsn::parse).transpose()?.unwrap_or_default();
        let mut files = ClientOptions::default();
        match (&request.defaults_file, &request.user_home) {
            (Some(file), _) => files.read(file, 0)?,
            (None, Some(home)) => files.read_if_there(&home.join(".my.cnf"), 0)?,
            (None, None) => {}
        }
        let none = |why: &str| ServerError::NoTarget { why: why.to_owned() };
        let nothing =
            request.dsn.is_none() && files.login.host.is_none() && files.login.socket.is_none();
        if nothing && request.defaults_file.is_none() {
            return Err(none(
                "give --dsn mysql://user@host/schema, --defaults-file FILE with a [client] \
                 section, or --engine ENGINE for a server of mydyno's own",
            ));
        }
        let address = address(&dsn, &files);
        let login = files.login;
        let user = dsn.user.or(login.user).or_else(|| request.login_name.clone());
        let user = user.ok_or_else(|| {
            none("no user is named; write mysql://USER@host/schema or user=USER in the option file")
        })?;
        let password = dsn.password.or_else(|| request.password.clone()).or(login.password);
        let password = password.unwrap_or_default();
        let schema = dsn.schema.or(login.schema);
        let security = dsn.security.or(login.security);
        if let Some(why) = security.gap() {
            return Err(ServerError::Dsn { why });
        }
        let connect = ConnectOptions { address, user, password, schema, security };
        Ok(Target { connect, notes: files.notes })
    }
}

/// Decides as `mysql` does: `localhost` is the unix socket where one is known, any other host or an
/// explicit port is TCP.
fn address(dsn: &Dsn, files: &ClientOptions) -> Address {
    if let Some(socket) = &dsn.socket {
        return Address::Unix(socket.clone());
    }
    let host = dsn.host.as_ref().or(files.login.host.as_ref());
    let local = host.is_none_or(|h| h.eq_ignore_ascii_case("localhost"));
    if let Some(socket) = &files.login.socket
        && local
        && dsn.port.is_none()
        && !files.tcp_only
    {
        return Address::Unix(socket.clone());
    }
    // A port of the option file belongs to the host of the option file.
    let port = match (&dsn.host, dsn.port) {
        (_, Some(port)) => Some(port),
        (Some(host), None) if files.login.host.as_ref() != Some(host) => None,
        _ => files.login.port,
    };
    Address::Tcp {
        host: host.cloned().unwrap_or_else(|| "localhost".to_owned()),
        port: port.unwrap_or(DEFAULT_PORT),
    }
}

#[cfg(test)]
mod tests {
    use super::{Target, TargetRequest};
    use crate::dsn::{Secret, render};
    use proptest::prelude::*;
    use std::fs;
    use std::path::PathBuf;
    use wire::{Address, ConnectOptions, Password, Security, TlsMode};

    /// Resolves a DSN beside an option file.
    fn resolve(dsn: Option<&str>, file: &str) -> Result<Target, crate::ServerError> {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(".my.cnf"), file).unwrap();
        Target::resolve(&TargetRequest {
            dsn: dsn.map(str::to_owned),
            user_home: Some(temp.path().to_owned()),
            ..TargetRequest::default()
        })
    }

    /// Resolves a DSN alone.
    fn of_dsn(text: &str) -> Result<Target, crate::ServerError> {
        Target::resolve(&TargetRequest { dsn: Some(text.to_owned()), ..TargetRequest::default() })
    }

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    #[test]
    fn the_address_is_the_one_that_mysql_takes() {
        let with_socket = "[client]\nuser=u\nsocket=/s\nport=3310\n";
        let unix = Address::Unix(PathBuf::from("/s"));
        for (dsn, file, address) in [
            (Some("mysql://u@h/t"), "", tcp("h", 3306)),
            (Some("mysql://u@h/t"), with_socket, tcp("h", 3306)),
            (Some("mysql://u@localhost/t"), with_socket, unix.clone()),
            (Some("mysql://u@localhost:3306/t"), with_socket, tcp("localhost", 3306)),
            (Some("mysql://u@127.0.0.1/t"), with_socket, tcp("127.0.0.1", 3306)),
            (None, with_socket, unix.clone()),
            (
                None,
                "[client]\nuser=u\nsocket=/s\nprotocol=tcp\nport=3310\n",
                tcp("localhost", 3310),
            ),
            (None, "[client]\nuser=u\nhost=db\nport=3310\n", tcp("db", 3310)),
            (Some("mysql:///t"), "[client]\nuser=u\nhost=db\nport=3310\n", tcp("db", 3310)),
            (Some("mysql://u@h/t?socket=/s"), "", unix.clone()),
        ] {
            let target = resolve(dsn, file).unwrap();
            assert_eq!(target.connect.address, address, "{dsn:?} {file:?}");
        }
    }

    #[test]
    fn the_dsn_wins_then_the_environment_then_the_file() {
        let file = "[client]\nuser=f\npassword=fp\ndatabase=fd\nssl-ca=/f.pem\n";
        let target = resolve(Some("mysql://d:dp@h/dd?ssl-mode=REQUIRED"), file).unwrap();
        assert_eq!(target.connect.user, "d");
        assert_eq!(target.connect.password.reveal(), "dp");
        assert_eq!(target.connect.schema.as_deref(), Some("dd"));
        assert_eq!(target.connect.security.ssl_mode, Some(TlsMode::Required));
        let shown = render(&target.connect, Secret::Hidden);
        assert_eq!(shown, "mysql://d@h:3306/dd?ssl-mode=REQUIRED&ssl-ca=/f.pem");

        let target = resolve(Some("mysql://h"), file).unwrap();
        assert_eq!(target.connect.user, "f");
        assert_eq!(target.connect.password.reveal(), "fp");
        assert_eq!(target.connect.schema.as_deref(), Some("fd"));
        let ca = Security { ssl_ca: Some("/f.pem".into()), ..Security::default() };
        assert_eq!(target.connect.security, ca);

        let target = Target::resolve(&TargetRequest {
            dsn: Some("mysql://h".into()),
            password: Some(Password::new("env")),
            login_name: Some("me".into()),
            ..TargetRequest::default()
        })
        .unwrap();
        assert_eq!(target.connect.user, "me");
        assert_eq!(target.connect.password.reveal(), "env");
        assert!(!format!("{target:?}").contains("env"));
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = Target::resolve(&TargetRequest::default()).unwrap_err();
        assert!(error.to_string().contains("--dsn"), "{error}");
        let error = of_dsn("mysql://h/t").unwrap_err();
        assert!(error.to_string().contains("no user"), "{error}");
        let error = of_dsn("mysql://u@h/t?ssl-mode=VERIFY_IDENTITY").unwrap_err();
        assert!(error.to_string().contains("ssl-ca=FILE"), "{error}");
        assert_eq!(error.exit(), base::Exit::Usage);
        let error = of_dsn("mysql://u@h/t?ssl-cert=/c").unwrap_err();
        assert!(error.to_string().contains("belong together"), "{error}");
    }

    fn any_options() -> impl Strategy<Value = ConnectOptions> {
        let text = "[^\u{0}]{1,12}";
        let address = prop_oneof![
            ("[a-z][a-z0-9.-]{0,20}", 1u16..).prop_map(|(host, port)| tcp(&host, port)),
            ("[0-9a-f:]{1,8}::1", 1u16..).prop_map(|(host, port)| tcp(&host, port)),
            text.prop_map(|path| Address::Unix(PathBuf::from(format!("/{path}")))),
        ];
        let file = || proptest::option::of(text.prop_map(PathBuf::from));
        let mode = prop::sample::select(&TlsMode::ALL[..]);
        let key = (file(), proptest::option::of(any::<bool>()));
        let pair =
            proptest::option::of((text.prop_map(PathBuf::from), text.prop_map(PathBuf::from)));
        let security = (proptest::option::of(mode), text.prop_map(PathBuf::from), pair, key)
            .prop_map(|(ssl_mode, ca, pair, (server_public_key_path, get_server_public_key))| {
                let (ssl_cert, ssl_key) = pair.unzip();
                Security {
                    ssl_mode,
                    ssl_ca: Some(ca),
                    ssl_cert,
                    ssl_key,
                    server_public_key_path,
                    get_server_public_key,
                }
            });
        (address, text, "[^\u{0}]{0,12}", proptest::option::of(text), security).prop_map(
            |(address, user, password, schema, security)| ConnectOptions {
                address,
                user,
                password: Password::new(password),
                schema,
                security,
            },
        )
    }

    proptest! {
        #[test]
        fn a_dsn_comes_back(options in any_options()) {
            let text = render(&options, Secret::Shown);
            prop_assert_eq!(of_dsn(&text).unwrap().connect, options);
        }
    }
}
