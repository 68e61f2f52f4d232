//! Which store: the flag, then `BRK_STORE`, then the defaults of the configuration; without any, this host's files. Not
//! here: how a store is spoken to (`store`).

use std::path::Path;

use crate::cli::Global;
use crate::env::{Env, NotText};
use crate::error::Error;
use crate::settings::resolve::Layers;
use crate::settings::table::{STORE, STORE_PASSWORD_FILE};
use crate::store::Address;

/// What was set about the store, and where.
#[derive(Debug)]
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

/// The strongest of what was set.
pub fn effective(layers: &Layers, global: &Global, env: &Env) -> Result<Written, Error> {
    let value = |text: Option<String>, origin: String| text.map(|text| Value { text, origin });
    let path = |path: Option<&std::path::PathBuf>| path.map(|path| path.display().to_string());
    let in_environment =
        env.store().map_err(|NotText| Error::Usage("BRK_STORE: the URL is not UTF-8".to_owned()))?;
    let configured = layers.for_all_breakers()?;
    let place = |key: &str| configured.origin(key).map(|origin| origin.place.to_string()).unwrap_or_default();
    let settings = &configured.settings;
    Ok(Written {
        url: value(global.store.clone(), format!("--{}", STORE.key))
            .or(value(in_environment, "BRK_STORE".to_owned()))
            .or(value(settings.store.clone(), place(STORE.key))),
        password_file: value(
            path(global.store_password_file.as_ref()),
            format!("--{}", STORE_PASSWORD_FILE.key),
        )
        .or(value(path(settings.store_password_file.as_ref()), place(STORE_PASSWORD_FILE.key))),
    })
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
