//! Which `Host` and `Origin` headers are the server's own.

use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, header};
use ptyard_core::ErrorCode;

use crate::error::ApiError;

/// The port that HTTP leaves out.
const HTTP_PORT: u16 = 80;

/// The hosts under which a listener may be spoken to.
pub(crate) struct Hosts {
    /// In lower case, with the port.
    allowed: Vec<String>,
}

impl Hosts {
    /// `localhost`, both loopback addresses and the listener's own, with its port.
    pub(crate) fn of(listener: SocketAddr) -> Self {
        let port = listener.port();
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        let own = match listener {
            SocketAddr::V4(v4) => v4.ip().to_string(),
            SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
        };
        if !names.contains(&own) {
            names.push(own);
        }
        let mut allowed: Vec<_> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == HTTP_PORT {
            allowed.append(&mut names);
        }
        Self { allowed }
    }

    /// Lets a request in by the authority of its address (if it has one), its `Host` and its `Origin`.
    pub(crate) fn check(&self, authority: Option<&str>, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = single(headers, &header::HOST)?
            .ok_or_else(|| ApiError::new(ErrorCode::Forbidden, "the request names no host"))?;
        for name in [Some(host), authority].into_iter().flatten() {
            if !self.allows(name) {
                return Err(ApiError::new(ErrorCode::Forbidden, format!("host {name:?} is not allowed")));
            }
        }
        match single(headers, &header::ORIGIN)? {
            Some(origin) if !is_origin_of(origin, host) => Err(ApiError::new(
                ErrorCode::Forbidden,
                format!("origin {origin:?} is not that of host {host:?}"),
            )),
            _ => Ok(()),
        }
    }

    fn allows(&self, host: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(host))
    }
}

fn is_origin_of(origin: &str, host: &str) -> bool {
    origin.split_once("://").is_some_and(|(scheme, authority)| {
        scheme.eq_ignore_ascii_case("http") && authority.eq_ignore_ascii_case(host)
    })
}

/// The only value of a header; two are refused, since others might have read the other one.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ApiError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let refused = |what: &str| ApiError::new(ErrorCode::Forbidden, format!("header {name} {what}"));
    if values.next().is_some() {
        return Err(refused("was sent twice"));
    }
    value.to_str().map(Some).map_err(|_| refused("is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listener: &str, authority: Option<&str>, headers: &[(&str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let checked = Hosts::of(listener.parse().unwrap()).check(authority, &map);
        if let Err(refusal) = &checked {
            assert_eq!(refusal.code(), ErrorCode::Forbidden);
        }
        checked.is_ok()
    }

    #[test]
    fn only_loopback_hosts_with_the_port_are_allowed() {
        let on = |host| check("127.0.0.1:7000", None, &[("host", host)]);
        for good in ["localhost:7000", "LocalHost:7000", "127.0.0.1:7000", "[::1]:7000"] {
            assert!(on(good), "{good}");
        }
        for bad in [
            "",
            "localhost",
            "localhost:7001",
            "127.0.0.1",
            "evil.example:7000",
            "localhost.evil.example:7000",
            "127.0.0.1:7000.evil.example",
            "::1:7000",
            "user@localhost:7000",
            "0.0.0.0:7000",
        ] {
            assert!(!on(bad), "{bad}");
        }
        assert!(!check("127.0.0.1:7000", None, &[]), "no host at all");
    }

    #[test]
    fn the_listeners_own_address_and_the_default_port_count() {
        assert!(check("127.0.0.2:7000", None, &[("host", "127.0.0.2:7000")]));
        assert!(!check("127.0.0.1:7000", None, &[("host", "127.0.0.2:7000")]));
        assert!(check("[::1]:80", None, &[("host", "localhost")]));
        assert!(!check("[::1]:81", None, &[("host", "localhost")]));
    }

    #[test]
    fn an_authority_in_the_address_must_be_allowed_too() {
        let host = [("host", "localhost:7000")];
        assert!(check("127.0.0.1:7000", Some("localhost:7000"), &host));
        assert!(!check("127.0.0.1:7000", Some("evil.example"), &host));
    }

    #[test]
    fn the_origin_is_absent_or_the_same_host() {
        let with = |origin| check("127.0.0.1:7000", None, &[("host", "localhost:7000"), ("origin", origin)]);
        assert!(with("http://localhost:7000"));
        for bad in [
            "null",
            "",
            "http://localhost",
            "https://localhost:7000",
            "http://127.0.0.1:7000",
            "http://evil.example",
            "http://localhost:7000.evil.example",
            "file://",
        ] {
            assert!(!with(bad), "{bad}");
        }
    }

    #[test]
    fn doubled_headers_are_refused() {
        let host = ("host", "localhost:7000");
        assert!(!check("127.0.0.1:7000", None, &[host, host]));
        let origin = ("origin", "http://localhost:7000");
        assert!(check("127.0.0.1:7000", None, &[host, origin]));
        assert!(!check("127.0.0.1:7000", None, &[host, origin, ("origin", "http://evil.example")]));
    }
}
