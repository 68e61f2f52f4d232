//! A probe's lease: the server keeps the place for a while, and its holder asks for more while the probe runs. When
//! the holder is gone nobody asks, and the lease ends by itself.
//!
//! Asking takes a thread of its own, for the one that supervises must not wait for a server. It sleeps in between. It
//! goes to the address that the session had: a lookup is a child process, and while a command runs there are none but the
//! command's.

use std::net::IpAddr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use super::address::Address;
use super::request::{evaluate, key};
use super::session::Session;
use crate::name::Name;
use crate::store::{Platform, StoreError};

/// How long a place is kept for a holder that is not heard of.
pub const LENGTH: Duration = Duration::from_secs(15);

/// How often the holder is heard of. Two rounds may fail before the place is lost.
const EVERY: Duration = Duration::from_secs(4);

const RENEW: &str = include_str!("renew.lua");

/// Held until it is dropped. The place itself is given back with the result.
#[derive(Debug)]
pub struct Lease {
    _until_dropped: Sender<()>,
}

impl Lease {
    /// Keeps a lease that has just begun, at the server with this IP address.
    pub fn keep(
        address: Address,
        peer: Option<IpAddr>,
        platform: Platform,
        name: &Name,
        field: String,
    ) -> Result<Lease, StoreError> {
        let (sender, dropped) = mpsc::channel();
        let key = key(name);
        let renewing = move || {
            let mut session = None;
            while dropped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                match renew(&mut session, &address, peer, platform, &key, &field) {
                    Ok(true) => {}
                    // The place is lost, and the result will be late.
                    Ok(false) => return,
                    // Another session next time: the server may be back before the lease ends.
                    Err(_) => session = None,
                }
            }
        };
        (platform.thread)(Box::new(renewing)).map_err(StoreError::thread)?;
        Ok(Lease { _until_dropped: sender })
    }
}

fn renew<'a>(
    session: &mut Option<Session<'a>>,
    address: &'a Address,
    peer: Option<IpAddr>,
    platform: Platform,
    key: &str,
    field: &str,
) -> Result<bool, StoreError> {
    if session.is_none() {
        *session = Some(Session::open_to(peer, address, platform)?);
    }
    let Some(session) = session else {
        return Ok(false);
    };
    session.reset_deadline();
    session.query(evaluate(RENEW, &[key]).arg(field).arg(LENGTH.as_millis() as u64))
}
