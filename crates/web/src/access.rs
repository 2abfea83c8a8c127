//! Who may ask for what: hosts, origins, the token, and the headers of every answer.

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

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
/// Most bytes of a form: a plan may have 64 KiB.
const FORM_BYTES_MAX: usize = 256 << 10;
/// How long a client may take to send a form.
const FORM_PATIENCE: Duration = Duration::from_secs(10);
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

/// The origin of pages as browsers elsewhere know them, where a proxy is between: `https://name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicOrigin(String);

impl PublicOrigin {
    /// The name, with its port where it has one.
    fn host(&self) -> &str {
        self.0.split_once("://").map_or("", |(_, host)| host)
    }
}

impl FromStr for PublicOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<PublicOrigin, String> {
        let text = text.to_ascii_lowercase();
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        match host {
            Some(host) if !host.is_empty() && host.bytes().all(is_part) => Ok(PublicOrigin(text)),
            _ => {
                Err("write https://NAME or https://NAME:PORT, as browsers show it, without a path"
                    .to_owned())
            }
        }
    }
}

/// What decides on requests.
#[derive(Debug)]
pub struct Gatekeeper {
    pub listen: SocketAddr,
    pub token: ServeToken,
    /// Do clients speak TLS with it?
    pub is_encrypted: bool,
    /// Where browsers elsewhere see the pages; all requests need the token then.
    pub public: Option<PublicOrigin>,
    /// Looking needs the token too, whoever asks.
    pub is_token_required: bool,
}

/// Proof that a request had the token, and came from no other site's page. Whatever starts a
/// process asks for it.
#[derive(Clone, Debug)]
pub struct TokenGiven(());

impl<S: Sync> FromRequestParts<S> for TokenGiven {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<TokenGiven, Response> {
        // A browser sends the password along with what another site's page asks for.
        let site = parts.headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if !matches!(site, None | Some(b"same-origin" | b"none")) {
            return Err(foreign());
        }
        parts.extensions.get::<TokenGiven>().cloned().ok_or_else(challenge)
    }
}

fn foreign() -> Response {
    (StatusCode::FORBIDDEN, "Only pages of this server may ask for that.\n").into_response()
}

fn challenge() -> Response {
    let words = "The password is the token of `mydyno serve`, with any user name.\n";
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, CHALLENGE)], words).into_response()
}

/// The text of a header that comes once.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

/// What proxies tell of who asks, beside `X-Forwarded-*`.
const PROXY_HEADERS: [&str; 11] = [
    "cf-connecting-ip",
    "client-ip",
    "forwarded",
    "front-end-https",
    "true-client-ip",
    "via",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-original-forwarded-for",
    "x-real-ip",
];

/// Did a proxy pass it on, so that who asks may be anywhere? Many that say nothing of it speak
/// HTTP/1.0, which no browser does. One that speaks HTTP/1.1 and says nothing is not recognised.
fn is_forwarded(request: &Request) -> bool {
    let tells = |name: &HeaderName| {
        let name = name.as_str();
        name.starts_with("x-forwarded") || PROXY_HEADERS.contains(&name)
    };
    request.version() < Version::HTTP_11 || request.headers().keys().any(tells)
}

impl Gatekeeper {
    /// Is it a name of this machine, or of the address that is listened on? A page of another site
    /// whose name was turned to this machine sends that name.
    fn is_own_host(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
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

    /// Is it the origin of this server's pages, as a browser that sends this host sees them?
    fn is_own_origin(&self, origin: &str, host: &str) -> bool {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        self.public.as_ref().is_some_and(|public| public.0 == origin)
            || (self.is_own_host(host) && origin == format!("{scheme}://{host}"))
    }

    fn refusal(&self, request: &Request) -> Option<Response> {
        let headers = request.headers();
        let host = only(headers, HOST).filter(|host| {
            let public = self.public.as_ref().map(PublicOrigin::host);
            // A target with a host of its own goes before the header.
            let target = request.uri().authority().map(|target| target.as_str());
            target.is_none_or(|target| target == *host)
                && (self.is_own_host(host) || public.is_some_and(|p| p.eq_ignore_ascii_case(host)))
        });
        let Some(host) = host else {
            let words = "This server answers to its own name or address only.\n";
            return Some((StatusCode::MISDIRECTED_REQUEST, words).into_response());
        };
        let only_looks = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_own = match only(headers, ORIGIN) {
            Some(origin) => self.is_own_origin(origin, host),
            None => only_looks && !headers.contains_key(ORIGIN),
        };
        if !is_own {
            return Some(foreign());
        }
        let needs_token = self.is_token_required
            || self.public.is_some()
            || !self.is_loopback()
            || is_forwarded(request)
            || !(only_looks || request.uri().path() == CHECK);
        (needs_token && !self.token.is_given(headers)).then(challenge)
    }
}

/// The request with all of its form, which is short and comes soon.
async fn whole(request: Request) -> Result<Request, StatusCode> {
    let (parts, body) = request.into_parts();
    let read = axum::body::to_bytes(body, FORM_BYTES_MAX);
    match tokio::time::timeout(FORM_PATIENCE, read).await {
        Ok(Ok(form)) => Ok(Request::from_parts(parts, Body::from(form))),
        Ok(Err(_)) => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

/// Lets a request through or refuses it, and sets what every answer has.
pub async fn guard(
    State(access): State<Arc<Gatekeeper>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_report = request.uri().path() == REPORT;
    if access.token.is_given(request.headers()) {
        request.extensions_mut().insert(TokenGiven(()));
    }
    let mut response = match access.refusal(&request) {
        Some(refusal) => refusal,
        None => match whole(request).await {
            Ok(request) => next.run(request).await,
            Err(status) => status.into_response(),
        },
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
    use super::{Gatekeeper, PublicOrigin, ServeToken, is_forwarded};
    use axum::body::Body;
    use axum::extract::Request;
    use axum::http::{HeaderMap, HeaderValue, header::AUTHORIZATION};

    /// `me:0123456789abcdef`
    const GIVEN: &str = "Basic bWU6MDEyMzQ1Njc4OWFiY2RlZg==";

    fn access(listen: &str, public: Option<&str>) -> Gatekeeper {
        Gatekeeper {
            listen: listen.parse().unwrap(),
            token: ServeToken::of("0123456789abcdef").unwrap(),
            is_encrypted: false,
            public: public.map(|origin| origin.parse().unwrap()),
            is_token_required: false,
        }
    }

    fn asked(method: &str, target: &str, headers: &[(&str, &str)]) -> Request {
        let request = Request::builder().method(method).uri(target);
        let add = |request: axum::http::request::Builder, (name, value): &(&str, &str)| {
            request.header(*name, *value)
        };
        headers.iter().fold(request, add).body(Body::empty()).unwrap()
    }

    #[test]
    fn names_of_others_are_refused() {
        let here = access("127.0.0.1:8640", None);
        for own in ["localhost:8640", "127.0.0.1:8640", "[::1]:8640", "localhost"] {
            assert!(here.is_own_host(own), "{own}");
        }
        for foreign in [
            "evil.example",
            "evil.example:8640",
            "10.0.0.1:8640",
            "localhost.evil",
            "127.0.0.1@evil.example",
            "127.0.0.1:8640.evil.example",
            "[[::1]]",
            "0.0.0.0:8640",
            "",
        ] {
            assert!(!here.is_own_host(foreign), "{foreign}");
        }
        assert!(access("0.0.0.0:8640", None).is_own_host("10.0.0.1:8640"));
        assert!(!access("0.0.0.0:8640", None).is_own_host("evil.example:8640"));
    }

    #[test]
    fn a_proxy_does_not_undo_who_needs_the_token() {
        let here = access("127.0.0.1:8640", None);
        let public = access("127.0.0.1:8640", Some("https://Bench.example"));
        let local = ("host", "127.0.0.1:8640");
        let named = ("host", "bench.example");
        let outside = ("origin", "https://bench.example");
        let given = ("authorization", GIVEN);
        let forwarded = [
            ("forwarded", "for=10.0.0.1"),
            ("x-forwarded-for", ""),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-anything", "x"),
            ("via", "1.1 proxy"),
            ("x-real-ip", "10.0.0.1"),
        ];
        let status = |access: &Gatekeeper, method: &str, headers: &[(&str, &str)]| {
            let request = asked(method, "/plan/check", headers);
            access.refusal(&request).map_or(200, |refusal| refusal.status().as_u16())
        };
        assert_eq!(status(&here, "GET", &[local]), 200);
        for header in forwarded {
            assert_eq!(status(&here, "GET", &[local, header]), 401, "{header:?}");
            assert_eq!(status(&here, "GET", &[local, header, given]), 200, "{header:?}");
        }
        for (access, method, headers, expected) in [
            (&here, "GET", &[named][..], 421),
            (&here, "POST", &[local, outside][..], 403),
            (&public, "GET", &[local][..], 401),
            (&public, "GET", &[named][..], 401),
            (&public, "GET", &[named, given][..], 200),
            (&public, "POST", &[named, outside, given][..], 200),
            (&public, "POST", &[("host", "BENCH.example"), outside, given][..], 200),
            // As nginx passes it on where nobody tells it otherwise.
            (&public, "POST", &[local, outside, given][..], 200),
            (&public, "POST", &[named, ("origin", "http://bench.example"), given][..], 403),
            (&public, "POST", &[named, ("origin", "https://evil.example"), given][..], 403),
            (&public, "POST", &[named, given][..], 403),
        ] {
            assert_eq!(status(access, method, headers), expected, "{method} {headers:?}");
        }
        let mut old = asked("GET", "/", &[local]);
        *old.version_mut() = axum::http::Version::HTTP_10;
        assert!(is_forwarded(&old));
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        let here = access("127.0.0.1:8640", None);
        let local = ("host", "127.0.0.1:8640");
        let own = ("origin", "http://127.0.0.1:8640");
        for (method, target, headers, expected) in [
            ("GET", "/", &[local, ("host", "127.0.0.1:8640")][..], 421),
            ("GET", "/", &[local, ("host", "evil.example")][..], 421),
            ("GET", "http://evil.example/", &[local][..], 421),
            ("GET", "/", &[local, ("origin", "null")][..], 403),
            ("POST", "/plan/check", &[local, own, own][..], 403),
            ("POST", "/plan/check", &[local, ("origin", "https://127.0.0.1:8640")][..], 403),
            ("PUT", "/", &[local][..], 403),
            ("DELETE", "/", &[local, own][..], 401),
        ] {
            let refusal = here.refusal(&asked(method, target, headers)).expect(target);
            assert_eq!(refusal.status().as_u16(), expected, "{method} {target} {headers:?}");
        }
    }

    #[test]
    fn an_origin_is_a_name_without_a_path() {
        for good in ["https://bench.example", "https://bench.example:8443", "http://[::1]:80"] {
            assert_eq!(good.parse::<PublicOrigin>().unwrap().0, good);
        }
        for bad in
            ["bench.example", "https://", "https://x/", "https://x/y", "ftp://x", "https://é"]
        {
            assert!(bad.parse::<PublicOrigin>().is_err(), "{bad}");
        }
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
