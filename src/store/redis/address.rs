//! Where a shared store is, and with what right. The password goes to the server, and nowhere else: it is not in what
//! is printed of an address, nor in what debugging prints.

use std::fmt;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};

#[derive(Clone)]
pub struct Address {
    pub info: ConnectionInfo,
    shown: String,
    /// Why there is no password where there should be one.
    pub flaw: Option<String>,
}

/// What is wrong with a URL. The URL itself is not repeated: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadUrl(String);

const RIGHT_FORM: &str = "write redis://[USER[:PASSWORD]@]HOST[:PORT][/DB], or rediss:// for TLS";

impl Address {
    pub fn parse(url: &str) -> Result<Address, BadUrl> {
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        if !scheme.is_some_and(|scheme| matches!(scheme, "redis" | "rediss" | "valkey" | "valkeys")) {
            return Err(BadUrl(format!("its scheme is not one of a store; {RIGHT_FORM}")));
        }
        if cfg!(not(feature = "tls")) && scheme.is_some_and(|scheme| matches!(scheme, "rediss" | "valkeys")) {
            return Err(BadUrl(
                "this brk was built without TLS; build it with the cargo feature 'tls'".to_owned(),
            ));
        }
        let parsed =
            redis::parse_redis_url(url).ok_or_else(|| BadUrl(format!("it is no URL; {RIGHT_FORM}")))?;
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(BadUrl(format!("unexpected text after the database number; {RIGHT_FORM}")));
        }
        let info = parsed
            .into_connection_info()
            .map_err(|error| BadUrl(format!("{}; {RIGHT_FORM}", flaw(&error))))?;
        let db = info.redis_settings().db();
        if db < 0 {
            return Err(BadUrl(format!("the number of its database is below 0; {RIGHT_FORM}")));
        }
        let shown = match info.addr() {
            ConnectionAddr::TcpTls { host, port, .. } => shown("rediss", host, *port, db),
            ConnectionAddr::Tcp(host, port) => shown("redis", host, *port, db),
            _ => return Err(BadUrl(RIGHT_FORM.to_owned())),
        };
        let redis = info.redis_settings().clone().set_lib_name("brk", env!("CARGO_PKG_VERSION"));
        Ok(Address { info: info.set_redis_settings(redis), shown, flaw: None })
    }

    /// The same store, with the password that a file held.
    #[must_use]
    pub fn with_password(self, password: &str) -> Address {
        let redis = self.info.redis_settings().clone().set_password(password);
        Address { info: self.info.set_redis_settings(redis), ..self }
    }

    /// The same store, which cannot be used because its password cannot be read.
    #[must_use]
    pub fn without_password(self, why: String) -> Address {
        Address { flaw: Some(why), ..self }
    }
}

fn shown(scheme: &str, host: &str, port: u16, db: i64) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    format!("{scheme}://{host}:{port}/{db}")
}

/// What the crate says without the kind that it adds.
fn flaw(error: &redis::RedisError) -> String {
    let text = error.to_string();
    let text = text.split(" - ").next().unwrap_or_default();
    match text.split_at_checked(1) {
        Some((first, rest)) => first.to_lowercase() + rest,
        None => "it cannot be understood".to_owned(),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.shown).finish()
    }
}

impl fmt::Display for BadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadUrl {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, shown: &str) {
        let address = Address::parse(url).unwrap_or_else(|flaw| panic!("{url}: {flaw}"));
        assert_eq!(address.to_string(), shown);
        let debugged = format!("{address:?}");
        assert!(!debugged.contains("secret"), "{debugged}");
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        check("redis://db.example.com", "redis://db.example.com:6379/0");
        check("redis://secret@127.0.0.1:7000/3", "redis://127.0.0.1:7000/3");
        check("redis://user:secret@[::1]/", "redis://[::1]:6379/0");
        check("valkey://:secret@localhost:1", "redis://localhost:1/0");
        #[cfg(feature = "tls")]
        check("rediss://user:secret@db.example.com:1/2", "rediss://db.example.com:1/2");
    }

    #[test]
    fn a_password_is_decoded_and_can_be_replaced() {
        let address = Address::parse("redis://us%40er:pa%2Fss@h").expect("a URL");
        assert_eq!(address.info.redis_settings().username(), Some("us@er"));
        assert_eq!(address.info.redis_settings().password(), Some("pa/ss"));
        let address = address.with_password("other");
        assert_eq!(address.info.redis_settings().username(), Some("us@er"));
        assert_eq!(address.info.redis_settings().password(), Some("other"));
    }

    #[test]
    fn what_is_no_address_is_told_without_repeating_it() {
        for url in [
            "",
            "secret",
            "http://user:secret@host",
            "redis:secret",
            "redis://",
            "redis://:secret@",
            "redis://user:secret@host:99999",
            "redis://user:secret@host:port",
            "redis://user:secret@host/db",
            "redis://user:secret@host/-1",
            "redis://user:secret@host/1/2",
            "redis://user:secret@host?db=1",
            "redis://user:secret@host/#insecure",
            "redis://user:secret@0.0.0.0",
            "redis+unix:///run/secret.sock",
        ] {
            let flaw = Address::parse(url).expect_err(url).to_string();
            assert!(flaw.contains("redis://") && !flaw.contains("secret"), "{url}: {flaw}");
        }
    }
}
