//! Who may ask for what: hosts, origins, the token, and the headers of every answer.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// What pages may load: what this server has, and no script or style in the page.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);
/// Of a report, which is one file with its own scripts: it may load nothing at all.
const REPORT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
);
const CHALLENGE: HeaderValue =
    HeaderValue::from_static("Basic realm=\"mydyno\", charset=\"UTF-8\"");
/// A POST that changes nothing, and needs no token.
pub const CHECK: &str = "/plan/check";
pub const REPORT: &str = "/report";

/// The secret that changes things, and that looks from elsewhere.
#[derive(Clone)]
pub struct ServeToken(String);

impl ServeToken {
    /// A new one: 128 bits.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> std::io::Result<ServeToken> {
        let mut bytes = [0; 16];
        openssl::rand::rand_bytes(&mut bytes).map_err(std::io::Error::other)?;
        Ok(ServeToken(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// What a file holds, without white space around it; `None` of fewer than 16 characters.
    pub fn of(text: &str) -> Option<ServeToken> {
        let text = text.trim();
        (text.len() >= 16).then(|| ServeToken(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Is this the password of `Authorization: Basic`? In a time that does not depend on where they
    /// differ.
    fn is_given(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let encoded = given.and_then(|value| value.strip_prefix("Basic "));
        let decoded = encoded.and_then(|text| openssl::base64::decode_block(text).ok());
        let Some(decoded) = decoded else { return false };
        let password = decoded.splitn(2, |byte| *byte == b':').nth(1).unwrap_or_default();
        password.len() == self.0.len() && openssl::memcmp::eq(password, self.0.as_bytes())
    }
}

impl fmt::Debug for ServeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServeToken")
    }
}

/// What decides on requests.
#[derive(Debug)]
pub struct Gatekeeper {
    pub listen: SocketAddr,
    pub token: ServeToken,
}

impl Gatekeeper {
    /// Is it a name of this machine, or of the address that is listened on? A page of another site
    /// whose name was turned to this machine sends that name.
    fn is_own_host(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        if name == "localhost" {
            return true;
        }
        match bare.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || !self.is_loopback(),
            Err(_) => {
                let own = rustix::system::uname();
                !self.is_loopback() && own.nodename().to_str() == Ok(name)
            }
        }
    }

    fn is_loopback(&self) -> bool {
        self.listen.ip().is_loopback()
    }

    fn refusal(&self, request: &Request) -> Option<Response> {
        let headers = request.headers();
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(host) = text(HOST).filter(|host| self.is_own_host(host)) else {
            let words = "This server answers to its own name or address only.\n";
            return Some((StatusCode::MISDIRECTED_REQUEST, words).into_response());
        };
        let is_post = request.method() == Method::POST;
        let is_foreign = text(ORIGIN).is_some_and(|origin| origin != format!("http://{host}"));
        if is_foreign || (is_post && text(ORIGIN).is_none()) {
            let words = "Only pages of this server may ask for that.\n";
            return Some((StatusCode::FORBIDDEN, words).into_response());
        }
        let changes = is_post && request.uri().path() != CHECK;
        let needs_token = changes || !self.is_loopback();
        (needs_token && !self.token.is_given(headers)).then(|| {
            let words = "The password is the token that `mydyno serve` printed; any user name.\n";
            (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, CHALLENGE)], words).into_response()
        })
    }
}

/// Lets a request through or refuses it, and sets what every answer has.
pub async fn guard(
    State(access): State<Arc<Gatekeeper>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let is_report = request.uri().path() == REPORT;
    let mut response = match access.refusal(&request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, if is_report { REPORT_POLICY } else { POLICY });
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::{Gatekeeper, ServeToken};
    use axum::http::{HeaderMap, HeaderValue, header::AUTHORIZATION};

    fn access(listen: &str) -> Gatekeeper {
        let token = ServeToken::of("0123456789abcdef").unwrap();
        Gatekeeper { listen: listen.parse().unwrap(), token }
    }

    #[test]
    fn names_of_others_are_refused() {
        let here = access("127.0.0.1:8640");
        for own in ["localhost:8640", "127.0.0.1:8640", "[::1]:8640", "localhost"] {
            assert!(here.is_own_host(own), "{own}");
        }
        for foreign in ["evil.example", "evil.example:8640", "10.0.0.1:8640", "localhost.evil", ""]
        {
            assert!(!here.is_own_host(foreign), "{foreign}");
        }
        assert!(access("0.0.0.0:8640").is_own_host("10.0.0.1:8640"));
        assert!(!access("0.0.0.0:8640").is_own_host("evil.example:8640"));
    }

    #[test]
    fn only_the_token_itself_is_the_token() {
        let token = ServeToken::of(" 0123456789abcdef\n").unwrap();
        let given = |text: &str| {
            let mut headers = HeaderMap::new();
            let value = format!("Basic {}", openssl::base64::encode_block(text.as_bytes()));
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&value).unwrap());
            token.is_given(&headers)
        };
        assert!(given("me:0123456789abcdef") && given(":0123456789abcdef"));
        for wrong in ["me:0123456789abcdeF", "me:0123456789abcde", "0123456789abcdef", "me:", ""] {
            assert!(!given(wrong), "{wrong}");
        }
        assert!(!token.is_given(&HeaderMap::new()));
        assert!(ServeToken::of("short").is_none());
        assert_eq!(format!("{token:?}"), "ServeToken");
        let [one, other] = [(); 2].map(|()| ServeToken::random().unwrap());
        assert!(one.as_str().len() == 32 && one.as_str() != other.as_str());
    }
}
