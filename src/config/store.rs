//! Which store: the flag, then `BRK_STORE`, then the defaults of the configuration; without any, this host's files. All
//! breakers of a host are in one store, so the keys belong into `[defaults]`.

use std::path::Path;

use super::file::{Key, Kind, Scope, Section};
use super::layers::Layers;
use crate::cli::Global;
use crate::env::{Env, NotText};
use crate::error::Error;
use crate::store::Address;

/// The keys, as they are written in a file.
pub const URL: &str = "store";
pub const PASSWORD_FILE: &str = "store-password-file";

/// What the configuration says, and where.
#[derive(Debug, Default)]
pub struct Written {
    pub url: Option<Value>,
    pub password_file: Option<Value>,
}

#[derive(Clone, Debug)]
pub struct Value {
    pub text: String,
    /// `FILE:LINE`, `BRK_STORE` or the flag.
    pub origin: String,
}

/// Where the shared store is, if there is one.
pub fn address(layers: &Layers, global: &Global, env: &Env) -> Result<Option<Address>, Error> {
    let Written { url, password_file } = effective(layers, global, env)?;
    let Some(url) = url.filter(|url| !url.text.is_empty()) else {
        return Ok(None);
    };
    let address = parse(&url.text).map_err(|what| Error::Usage(format!("{}: {what}", url.origin)))?;
    Ok(Some(match password_file {
        Some(file) => with_password(address, Path::new(&file.text)),
        None => address,
    }))
}

/// The strongest of what was written.
pub fn effective(layers: &Layers, global: &Global, env: &Env) -> Result<Written, Error> {
    let by_hand = |text: &Option<String>, origin: &str| {
        text.clone().map(|text| Value { text, origin: origin.to_owned() })
    };
    let in_environment =
        env.store().map_err(|NotText| Error::Usage("BRK_STORE: the URL is no UTF-8 text".to_owned()))?;
    let flag = by_hand(&global.store, "--store");
    let variable = by_hand(&in_environment, "BRK_STORE");
    let file = global.store_password_file.as_ref().map(|path| path.display().to_string());
    let password_flag = by_hand(&file, "--store-password-file");
    let written = layers.store()?;
    Ok(Written {
        url: flag.or(variable).or(written.url),
        password_file: password_flag.or(written.password_file),
    })
}

/// One of the two keys, understood; `None`: another key.
pub fn understood(section: &Section, key: &Key) -> Option<Result<Value, Error>> {
    if key.name != URL && key.name != PASSWORD_FILE {
        return None;
    }
    let wrong = |what: String| Err(section.fault(key.line, &format!("{}: {what}", key.name)));
    if section.scope != Scope::Defaults {
        return Some(wrong("all breakers of a host are in one store; write it below [defaults]".to_owned()));
    }
    let values = match &key.values {
        Ok(values) => values,
        Err(what) => return Some(wrong(what.clone())),
    };
    let text = match values.all.as_slice() {
        [value] if !values.is_list && value.kind == Kind::Text => value.text.clone(),
        _ => return Some(wrong("not what it takes; write a string, in quotes".to_owned())),
    };
    if key.name == URL
        && !text.is_empty()
        && let Err(what) = parse(&text)
    {
        return Some(wrong(what));
    }
    Some(Ok(Value { text, origin: format!("{}:{}", section.path.display(), key.line) }))
}

/// The store as it may be shown: without secrets.
pub fn masked(url: &str) -> String {
    #[cfg(feature = "redis")]
    if let Ok(address) = Address::parse(url) {
        return address.to_string();
    }
    let _ = url;
    String::new()
}

#[cfg(feature = "redis")]
fn parse(url: &str) -> Result<Address, String> {
    Address::parse(url).map_err(|flaw| flaw.to_string())
}

#[cfg(not(feature = "redis"))]
fn parse(_url: &str) -> Result<Address, String> {
    Err("this brk was built without the shared store; build it with the cargo feature 'redis'".to_owned())
}

/// A file that cannot be read is trouble with the store, and not with what was written: the run goes on.
#[cfg(feature = "redis")]
fn with_password(address: Address, file: &Path) -> Address {
    match std::fs::read_to_string(file) {
        Ok(text) => address.with_password(text.trim_end_matches(['\n', '\r'])),
        Err(error) => {
            address.without_password(format!("cannot read its password from {}: {error}", file.display()))
        }
    }
}

#[cfg(not(feature = "redis"))]
fn with_password(address: Address, _file: &Path) -> Address {
    address
}
