//! DSNs: `mysql://user[:password]@host[:port]/schema?socket=/path&ssl-mode=REQUIRED`, with the
//! options of [`Security`], parsed and written. Pure.

use crate::{ServerError, ServerResult};
use base::percent_encoded;
use percent_encoding::percent_decode_str;
use std::iter;
use std::path::PathBuf;
use wire::{Address, ConnectOptions, Password, Security};

const SCHEME: &str = "mysql://";

/// The parts that a DSN names; what it leaves out, option files and defaults say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dsn {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Password>,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) schema: Option<String>,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) security: Security,
}

/// Is written out what only a login needs: the password, and the server's public key?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    Hidden,
    Shown,
}

fn bad(why: impl Into<String>) -> ServerError {
    ServerError::Dsn { why: why.into() }
}

/// Parses a DSN. Error texts never quote the part that holds the password.
pub(crate) fn parse(text: &str) -> ServerResult<Dsn> {
    let (_, rest) = text
        .split_at_checked(SCHEME.len())
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME))
        .ok_or_else(|| bad("it does not start with mysql://"))?;
    if rest.contains('#') {
        return Err(bad("it holds a #, which is written %23"));
    }
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, schema) = place.split_once('/').unwrap_or((place, ""));
    // The last @, so that one in a password need not be escaped.
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) =
        login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
    let mut dsn = Dsn { user: decode_named(user, "user")?, ..Dsn::default() };
    dsn.password = password.map(|p| decode(p, "password").map(Password::new)).transpose()?;
    parse_host(host, &mut dsn)?;
    if schema.contains('/') {
        return Err(bad("its path has more parts than the schema"));
    }
    dsn.schema = decode_named(schema, "schema")?;
    parse_query(query, &mut dsn)?;
    Ok(dsn)
}

fn parse_host(text: &str, dsn: &mut Dsn) -> ServerResult<()> {
    let (host, port) = if let Some(inner) = text.strip_prefix('[') {
        let (host, after) =
            inner.split_once(']').ok_or_else(|| bad("the IPv6 address has no closing bracket"))?;
        let port = after.strip_prefix(':');
        if port.is_none() && !after.is_empty() {
            return Err(bad("something stands between the host and the port"));
        }
        (host, port)
    } else {
        match text.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(bad("an IPv6 address is written in brackets: [::1]"));
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    dsn.host = decode_named(host, "host")?;
    if let Some(port) = port {
        let number = port.parse::<u16>().ok().filter(|n| *n > 0);
        // A password with a slash in it would come here: do not show it.
        dsn.port = Some(number.ok_or_else(|| {
            bad("the port is no number from 1 to 65535 (a / in a password is written %2F)")
        })?);
    }
    Ok(())
}

fn parse_query(query: &str, dsn: &mut Dsn) -> ServerResult<()> {
    let mut known = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name, "parameter name")?;
        let value = decode(value, &name)?;
        if value.is_empty() {
            return Err(bad(format!("the parameter `{name}` has no value")));
        }
        if name == "socket" {
            dsn.socket = Some(PathBuf::from(value));
        } else if !dsn.security.set(&name, &value).map_err(bad)? {
            return Err(bad(format!(
                "the parameter `{name}` is unknown; the parameters are socket, {}",
                Security::NAMES.join(", ")
            )));
        }
        if known.contains(&name) {
            return Err(bad(format!("the parameter `{name}` stands twice")));
        }
        known.push(name);
    }
    Ok(())
}

/// A part that is not there where it is empty.
fn decode_named(text: &str, part: &str) -> ServerResult<Option<String>> {
    Ok(Some(decode(text, part)?).filter(|text| !text.is_empty()))
}

fn decode(text: &str, part: &str) -> ServerResult<String> {
    let is_escape = |after: &str| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_escape) {
        return Err(bad(format!(
            "a % in the {part} is not followed by two hexadecimal digits (a % itself is %25)"
        )));
    }
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| bad(format!("the {part} is not UTF-8")))?;
    if decoded.contains('\0') {
        return Err(bad(format!("the {part} holds a zero byte")));
    }
    Ok(decoded.into_owned())
}

/// The DSN of each host that this one names: `mysql://u@a:3306,b:3306/t` is two.
pub fn dsn_of_each_host(text: &str) -> Vec<String> {
    let end = text.find('?').unwrap_or(text.len());
    let begin = text.find("//").map_or(0, |slashes| slashes + 2).min(end);
    let end = text[begin..end].find('/').map_or(end, |slash| begin + slash);
    let begin = text[begin..end].rfind('@').map_or(begin, |at| begin + at + 1);
    let each = |host| [&text[..begin], host, &text[end..]].concat();
    text[begin..end].split(',').map(each).collect()
}

/// Does this DSN hold a password?
///
/// # Errors
/// What is wrong with it, without the password.
pub fn dsn_has_password(text: &str) -> ServerResult<bool> {
    let mut each = dsn_of_each_host(text).into_iter();
    each.try_fold(false, |has_one, dsn| Ok(has_one | parse(&dsn)?.password.is_some()))
}

/// Writes a login as a DSN. Parsed again, it gives the same login (without its password where that
/// is hidden).
pub fn render(options: &ConnectOptions, secret: Secret) -> String {
    let mut text = format!("{SCHEME}{}", percent_encoded(&options.user));
    let password = options.password.reveal();
    if secret == Secret::Shown && !password.is_empty() {
        text += &format!(":{}", percent_encoded(password));
    }
    let (address, socket) = match &options.address {
        Address::Tcp { host, port } if host.contains(':') => (format!("[{host}]:{port}"), None),
        Address::Tcp { host, port } => (format!("{}:{port}", percent_encoded(host)), None),
        Address::Unix(path) => ("localhost".to_owned(), Some(path.to_string_lossy().into_owned())),
    };
    let schema = percent_encoded(options.schema.as_deref().unwrap_or(""));
    text += &format!("@{address}/{schema}");
    let for_login = |name: &str| name.contains("server-public-key");
    let said = options.security.said().into_iter();
    let said = said.filter(|(name, _)| secret == Secret::Shown || !for_login(name));
    let parameters = socket.map(|socket| ("socket", socket)).into_iter().chain(said);
    for ((name, value), before) in parameters.zip(iter::once('?').chain(iter::repeat('&'))) {
        // Slashes need no escape in a parameter, and paths read better with them.
        text += &format!("{before}{name}={}", percent_encoded(value).replace("%2F", "/"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Dsn, parse};
    use proptest::prelude::*;
    use wire::{Password, Security, TlsMode};

    #[test]
    fn every_part() {
        let dsn = parse(
            "mysql://bob:p%40ss%2F@db.example:3307/tpcc?ssl-mode=verify_ca&ssl-ca=/etc/ca%20x.pem\
             &get-server-public-key=ON",
        )
        .unwrap();
        assert_eq!(
            dsn,
            Dsn {
                user: Some("bob".into()),
                password: Some(Password::new("p@ss/")),
                host: Some("db.example".into()),
                port: Some(3307),
                schema: Some("tpcc".into()),
                socket: None,
                security: Security {
                    ssl_mode: Some(TlsMode::VerifyCa),
                    ssl_ca: Some("/etc/ca x.pem".into()),
                    get_server_public_key: Some(true),
                    ..Security::default()
                },
            }
        );
        let dsn = parse("mysql://root@[::1]:3306").unwrap();
        assert_eq!((dsn.host.as_deref(), dsn.port), (Some("::1"), Some(3306)));
        let dsn = parse("mysql://localhost/t?socket=/run/mysqld.sock").unwrap();
        assert_eq!(dsn.user, None);
        assert_eq!(dsn.socket, Some("/run/mysqld.sock".into()));
        assert_eq!(parse("mysql://").unwrap(), Dsn::default());
        // A password with an @ and a colon, as people type it.
        let dsn = parse("mysql://u:a:b@c@h/").unwrap();
        assert_eq!(dsn.password, Some(Password::new("a:b@c")));
        assert!(!format!("{dsn:?}").contains("a:b"));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (text, says) in [
            ("postgres://h/x", "mysql://"),
            ("", "mysql://"),
            ("mysql://h:x/t", "port"),
            ("mysql://h:0/t", "port"),
            ("mysql://h:70000/t", "port"),
            ("mysql://::1/t", "brackets"),
            ("mysql://[::1/t", "bracket"),
            ("mysql://h/a/b", "path"),
            ("mysql://h/t?charset=utf8", "`charset` is unknown"),
            ("mysql://h/t?ssl-mode=MAYBE", "the modes are DISABLED, PREFERRED"),
            ("mysql://h/t?get-server-public-key=x", "neither true nor false"),
            ("mysql://h/t?ssl-ca=", "no value"),
            ("mysql://h/t?socket=/a&socket=/b", "twice"),
            ("mysql://u:s3cret%zz@h/t", "hexadecimal"),
            ("mysql://u:s3cret%ff@h/t", "UTF-8"),
            ("mysql://u:s3cret%00@h/t", "zero byte"),
            ("mysql://u:s3cret/x@h/t", "%2F"),
            ("mysql://u:s3cret#@h/t", "%23"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn one_text_may_name_several_hosts() {
        let each = super::dsn_of_each_host;
        assert_eq!(each("mysql://h/t"), ["mysql://h/t"]);
        assert_eq!(
            each("mysql://u:p,q@a:1,[::1]:2,c/t?ssl-ca=/x,y"),
            [
                "mysql://u:p,q@a:1/t?ssl-ca=/x,y",
                "mysql://u:p,q@[::1]:2/t?ssl-ca=/x,y",
                "mysql://u:p,q@c/t?ssl-ca=/x,y"
            ]
        );
        assert_eq!(each("mysql://a,b"), ["mysql://a", "mysql://b"]);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC*") {
            let _ = super::dsn_of_each_host(&text);
            let _ = parse(&text);
        }

        #[test]
        fn parsing_dsns_never_panics(text in "mysql://[a-z:@/?&=%0-9\\[\\].#-]{0,60}") {
            let _ = parse(&text);
        }
    }
}
