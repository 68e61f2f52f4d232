//! What every verb can ask for: the store, the configuration, what the terminal can show. Not here: what a verb does.

use std::cell::OnceCell;

use super::store_address;
use crate::cli::Global;
use crate::env::Env;
use crate::error::Error;
use crate::hook::Hooks;
use crate::name::Name;
use crate::output::say;
use crate::plan::hooks;
use crate::render::style::Charset;
use crate::settings::Settings;
use crate::settings::resolve::{Layers, Resolved};
use crate::settings::table::SETTINGS;
use crate::store::file::FileStore;
use crate::store::{Address, AnyStore, StoreError};

/// What every verb can ask for.
pub struct Context<'a> {
    pub global: Global,
    pub env: &'a Env,
    layers: OnceCell<Layers>,
    /// Of the shared store, where there is one.
    address: OnceCell<Address>,
}

impl<'a> Context<'a> {
    pub fn new(global: Global, env: &'a Env) -> Context<'a> {
        Context { global, env, layers: OnceCell::new(), address: OnceCell::new() }
    }

    /// The store that is configured: the one place that chooses.
    pub fn store(&self) -> Result<AnyStore, StoreError> {
        let dir = self.env.state_dir(self.global.state_dir.as_deref()).ok_or(StoreError::NoDirectory);
        let files = dir.map(|dir| FileStore::new(dir, self.env.platform));
        match self.address.get() {
            None => Ok(AnyStore::Files(files?)),
            Some(address) => Ok(AnyStore::shared(address.clone(), files, self.env.platform, warn)),
        }
    }

    /// Reads where the shared store is. A file that is wrong has been told of already where it does not matter.
    pub fn find_store(&self, tolerates_bad_config: bool) -> Result<(), Error> {
        let none = Layers::none(SETTINGS);
        let layers = match self.layers() {
            Err(_) if tolerates_bad_config => &none,
            layers => layers?,
        };
        if let Some(address) = store_address::address(layers, &self.global, self.env)? {
            self.address.get_or_init(|| address);
        }
        Ok(())
    }

    /// The characters that can be shown.
    pub fn charset(&self) -> Charset {
        if self.env.has_unicode() { Charset::Unicode } else { Charset::Ascii }
    }

    /// The configuration files.
    pub fn layers(&self) -> Result<&Layers, Error> {
        if self.layers.get().is_none() {
            let layers = Layers::read(SETTINGS, self.env, self.global.config.as_deref())?;
            layers.warnings.iter().for_each(|warning| warn(None, warning));
            return Ok(self.layers.get_or_init(|| layers));
        }
        Ok(self.layers.get_or_init(|| Layers::none(SETTINGS)))
    }

    /// The settings of a breaker, as far as they can be read: for what needs no policy.
    pub fn settings(&self, name: &Name) -> Resolved {
        let resolved = self.layers().and_then(|layers| layers.resolve(Some(name), Settings::default()));
        resolved.unwrap_or_default()
    }

    /// The hooks that the configuration has for a breaker.
    pub fn hooks(&self, name: &Name) -> Hooks {
        hooks(&self.settings(name).settings)
    }
}

fn warn(name: Option<&Name>, text: &str) {
    match name {
        Some(name) => say(&format!("{name}: warning: {text}")),
        None => say(&format!("warning: {text}")),
    }
}
