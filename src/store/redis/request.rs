//! What requests to a server are made of: the names of the keys of a breaker, and the call of a script.

use redis::Cmd;

use crate::name::Name;

const READ: &str = include_str!("read.lua");

pub fn key(name: &Name) -> String {
    format!("brk:{{{}}}", name.encoded())
}

pub fn history_key(name: &Name) -> String {
    format!("{}:history", key(name))
}

pub fn evaluate(script: &str, keys: &[&str]) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(script).arg(keys.len()).arg(keys);
    command
}

/// The call that reads a breaker, and the server's time.
pub fn read(key: &str) -> Cmd {
    evaluate(READ, &[key])
}
