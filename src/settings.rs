//! What can be set about a run, by a flag or in a configuration.

pub mod value;
