//! A session with the server: one connection for one visit, and the time that the visit may take.
//!
//! A second is all that a run waits for a store that does not answer, whatever it is that hangs.

use std::net::IpAddr;

use redis::{Cmd, ErrorKind, FromRedisValue, RedisError};

use super::address::Address;
use super::found::FOREIGN;
use super::wire::Wire;
use crate::store::{Part, Platform, StoreError};

/// What a visit may take before the store counts as away, in milliseconds: a tenth of the promised second is left for
/// everything else.
const LIMIT: u64 = 900;

/// What a visit may take at all, where the server answers and others are faster all the time; as long as for the lock
/// of a file.
const PATIENCE: u64 = 5_000;

pub struct Session<'a> {
    address: &'a Address,
    platform: Platform,
    wire: Wire,
    started: u64,
    /// In milliseconds of the boot clock.
    until: u64,
}

impl<'a> Session<'a> {
    pub fn open(address: &'a Address, platform: Platform) -> Result<Session<'a>, StoreError> {
        Session::open_to(None, address, platform)
    }

    /// A session with the address that an earlier one had.
    pub fn open_to(
        known: Option<IpAddr>,
        address: &'a Address,
        platform: Platform,
    ) -> Result<Session<'a>, StoreError> {
        if let Some(flaw) = &address.flaw {
            return Err(unavailable(address, flaw));
        }
        let started = (platform.clocks)().up;
        let until = started + LIMIT;
        let wire = Wire::open(&address.info, known, platform, until)
            .map_err(|error| unavailable(address, &trouble(&error)))?;
        Ok(Session { address, platform, wire, started, until })
    }

    /// A session on a connection that an earlier one left open.
    pub fn reuse(address: &'a Address, platform: Platform, wire: Wire) -> Session<'a> {
        let started = (platform.clocks)().up;
        Session { address, platform, wire, started, until: started + LIMIT }
    }

    pub fn peer(&mut self) -> Option<IpAddr> {
        self.wire.peer()
    }

    pub fn into_wire(self) -> Wire {
        self.wire
    }

    /// Whether there is time left for this visit.
    pub fn has_budget(&self) -> bool {
        (self.platform.clocks)().up < self.until
    }

    /// Asks, and waits for the answer as long as the visit may last.
    pub fn query<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, StoreError> {
        self.wire.set_deadline(self.until);
        let answer = command.query(&mut self.wire);
        answer.map_err(|error| match trouble(&error) {
            // Bytes that are no text, where ours is.
            _ if error.kind() == ErrorKind::Parse => self.unusable(FOREIGN),
            text if text == FOREIGN => self.unusable(&text),
            text => self.unavailable(&text),
        })
    }

    /// Another visit on the same connection.
    pub fn reset_deadline(&mut self) {
        self.started = (self.platform.clocks)().up;
        self.until = self.started + LIMIT;
    }

    /// The server has shown that it is there, and there is more to ask: time starts anew, but not for ever.
    pub fn extend_deadline(&mut self) -> Result<(), StoreError> {
        let now = (self.platform.clocks)().up;
        if now >= self.started + PATIENCE {
            return Err(self.unavailable("gave up: too many concurrent updates"));
        }
        self.until = now + LIMIT;
        Ok(())
    }

    fn unavailable(&self, why: &str) -> StoreError {
        unavailable(self.address, why)
    }

    /// One breaker cannot be used.
    pub fn unusable(&self, why: &str) -> StoreError {
        StoreError::Unavailable { store: self.address.to_string(), why: why.to_owned(), part: Part::Breaker }
    }
}

fn unavailable(address: &Address, why: &str) -> StoreError {
    StoreError::Unavailable { store: address.to_string(), why: why.to_owned(), part: Part::Server }
}

const NO_PASSWORD: &str = "the server has no password; leave it out of the URL";

const NO_ANSWER: &str = "no answer within a second";

/// What an error means, and what would help. Errors of a script carry the word that counts in their middle.
fn trouble(error: &RedisError) -> String {
    if error.is_timeout() {
        return NO_ANSWER.to_owned();
    }
    if error.is_connection_refusal() {
        return "nobody listens there (connection refused)".to_owned();
    }
    let text = format!("{} {error}", error.code().unwrap_or_default());
    let known = [
        ("WRONGTYPE", FOREIGN),
        ("READONLY", "the server is a read-only replica; name its primary"),
        ("OOM", "the server is out of memory (maxmemory)"),
        ("MISCONF", "the server cannot save to its disk, and takes no writes until it can"),
        ("NOREPLICAS", "the server takes no writes while it has too few replicas"),
        ("NOAUTH", "the server asks for a password; put one into the URL or into a --store-password-file"),
        ("WRONGPASS", "the server does not accept the password"),
        ("invalid password", "the server does not accept the password"),
        ("without any password configured", NO_PASSWORD),
        ("no password is set", NO_PASSWORD),
        (
            "wrong number of arguments for 'auth'",
            "the server is too old for user names; leave the user out of the URL",
        ),
        (
            "NOPERM",
            "the user lacks a permission for keys that start with brk: (ACL LOG on the server tells which)",
        ),
        ("LOADING", "the server is still loading its data"),
        ("MASTERDOWN", "the server is a replica that has lost its primary"),
        ("CLUSTERDOWN", "the cluster is down"),
        (
            "MOVED",
            "the breaker belongs to another node of a cluster; name that node, or a proxy of the cluster",
        ),
    ];
    if error.kind() == ErrorKind::Parse {
        return "unexpected reply: not a Redis or Valkey server".to_owned();
    }
    match known.iter().find(|(word, _)| text.contains(word)) {
        Some((_, meaning)) => (*meaning).to_owned(),
        None => error.to_string().replace(['\n', '\r'], " "),
    }
}
