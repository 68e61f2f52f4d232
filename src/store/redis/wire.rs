//! The bytes to the server and back: a socket to one of the host's addresses, TLS if the URL asks for it, and one
//! deadline for all of it, however slowly the bytes drip.
//!
//! The crate `redis` packs commands and reads replies. Its own connection is not used: it looks up names through the C
//! library, which a static binary must not (`lookup`), and its time limit counts each read anew.
//!
//! Not here: how long a visit may last, and what errors mean (`session`).

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use redis::{
    Cmd, ConnectionAddr, ConnectionInfo, ConnectionLike, Parser, RedisConnectionInfo, RedisError,
    RedisResult, Value, cmd,
};

use crate::lookup::{self, Unknown};
use crate::store::Platform;

/// The longest reply. What is longer is none of ours.
const LONGEST_REPLY: usize = 4 << 20;

pub struct Wire {
    stream: Stream,
    parser: Parser,
    db: i64,
    is_open: bool,
}

enum Stream {
    Plain(Socket),
    #[cfg(feature = "tls")]
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, Socket>>),
}

/// A socket that gives up at the deadline, and after too long a reply.
struct Socket {
    socket: TcpStream,
    platform: Platform,
    /// In milliseconds of the boot clock.
    until: u64,
    may_read: usize,
}

impl Wire {
    /// Connects, and says who we are. `until` is in milliseconds of the boot clock. An address that is `known` is not
    /// looked up again.
    pub fn open(
        info: &ConnectionInfo,
        known: Option<IpAddr>,
        platform: Platform,
        until: u64,
    ) -> RedisResult<Wire> {
        let connect = |host: &str, port| match known {
            Some(address) => Socket::connect(&[address], port, platform, until),
            None => Socket::connect(&addresses(host, platform, until)?, port, platform, until),
        };
        let stream = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Stream::Plain(connect(host, *port)?),
            #[cfg(feature = "tls")]
            ConnectionAddr::TcpTls { host, port, .. } => {
                let socket = connect(host, *port)?;
                Stream::Tls(Box::new(rustls::StreamOwned::new(tls(host)?, socket)))
            }
            _ => return Err(io::Error::from(ErrorKind::Unsupported).into()),
        };
        let settings = info.redis_settings();
        let mut wire = Wire { stream, parser: Parser::new(), db: settings.db(), is_open: true };
        wire.greet(settings)?;
        Ok(wire)
    }

    /// Gives the next commands this long; in milliseconds of the boot clock.
    pub fn set_deadline(&mut self, until: u64) {
        self.socket().until = until;
    }

    /// The address of the server, while the socket has one.
    pub fn peer(&mut self) -> Option<IpAddr> {
        Some(self.socket().socket.peer_addr().ok()?.ip())
    }

    fn socket(&mut self) -> &mut Socket {
        match &mut self.stream {
            Stream::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => &mut stream.sock,
        }
    }

    /// The password, the database and our name, in one packet.
    fn greet(&mut self, settings: &RedisConnectionInfo) -> RedisResult<()> {
        let mut commands = Vec::new();
        let mut needed = 0;
        if let Some(password) = settings.password() {
            let mut auth = cmd("AUTH");
            if let Some(user) = settings.username() {
                auth.arg(user);
            }
            commands.push(auth.arg(password).clone());
        }
        if self.db != 0 {
            commands.push(cmd("SELECT").arg(self.db).clone());
        }
        needed += commands.len();
        // For those who look at the list of clients; older servers do not know it.
        let about = |what: &str, value: &str| cmd("CLIENT").arg("SETINFO").arg(what).arg(value).clone();
        commands.push(about("LIB-NAME", settings.lib_name().unwrap_or("brk")));
        commands.push(about("LIB-VER", settings.lib_ver().unwrap_or_default()));
        let packed: Vec<u8> = commands.iter().flat_map(Cmd::get_packed_command).collect();
        let mut replies = self.req_packed_commands(&packed, 0, commands.len())?;
        replies.truncate(needed);
        replies.into_iter().try_for_each(|reply| reply.extract_error().map(drop))
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.is_open {
            return Err(ErrorKind::NotConnected.into());
        }
        self.socket().may_read = LONGEST_REPLY;
        self.stream.write_all(bytes).and_then(|()| self.stream.flush())
    }

    /// What was sent and not answered makes all that comes later an answer to another question.
    fn closed_by<T>(&mut self, result: RedisResult<T>) -> RedisResult<T> {
        self.is_open &= result.is_ok();
        result
    }
}

impl ConnectionLike for Wire {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        let sent = self.send(command).map_err(RedisError::from);
        let reply = sent.and_then(|()| self.parser.parse_value(&mut self.stream));
        self.closed_by(reply)
    }

    fn req_packed_commands(
        &mut self,
        commands: &[u8],
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        let sent = self.send(commands).map_err(RedisError::from);
        let replies = sent.and_then(|()| {
            (0..offset + count)
                .map(|_| self.parser.parse_value(&mut self.stream))
                .collect::<RedisResult<Vec<_>>>()
        });
        self.closed_by(replies).map(|mut replies| replies.split_off(offset))
    }

    fn get_db(&self) -> i64 {
        self.db
    }

    fn check_connection(&mut self) -> bool {
        cmd("PING").query::<Value>(self).is_ok()
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

impl Socket {
    /// Tries the addresses one after the other. Each gets a fair part of the time that is left.
    fn connect(addresses: &[IpAddr], port: u16, platform: Platform, until: u64) -> io::Result<Socket> {
        let mut trouble = io::Error::other("the host has no address");
        for (tried, address) in addresses.iter().enumerate() {
            let left = Duration::from_millis(until.saturating_sub((platform.clocks)().up));
            let part = left / u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            if part.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            match TcpStream::connect_timeout(&SocketAddr::new(*address, port), part) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    return Ok(Socket { socket, platform, until, may_read: LONGEST_REPLY });
                }
                Err(error) => trouble = error,
            }
        }
        Err(trouble)
    }

    /// The time for one wait.
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.saturating_sub((self.platform.clocks)().up) {
            0 => Err(ErrorKind::TimedOut.into()),
            left => Ok(Some(Duration::from_millis(left))),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        let count = self.socket.read(bytes)?;
        self.may_read =
            self.may_read.checked_sub(count).ok_or_else(|| io::Error::other("a reply above 4 MiB"))?;
        Ok(count)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(bytes),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => stream.flush(),
        }
    }
}

fn addresses(host: &str, platform: Platform, until: u64) -> io::Result<Vec<IpAddr>> {
    let left = || Duration::from_millis(until.saturating_sub((platform.clocks)().up));
    lookup::addresses(host, &left).map_err(|unknown| match unknown {
        Unknown::TimedOut => io::Error::from(ErrorKind::TimedOut),
        Unknown::Because(why) => io::Error::other(why),
    })
}

/// A session with a server that the system's authorities vouch for under this name.
#[cfg(feature = "tls")]
fn tls(host: &str) -> RedisResult<rustls::ClientConnection> {
    let mut loaded = rustls_native_certs::load_native_certs();
    if let Some(error) = loaded.errors.pop() {
        return Err(error.into());
    }
    let mut roots = rustls::RootCertStore::empty();
    for certificate in loaded.certs {
        roots.add(certificate)?;
    }
    let config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from(host.to_owned())?;
    Ok(rustls::ClientConnection::new(std::sync::Arc::new(config), name)?)
}
