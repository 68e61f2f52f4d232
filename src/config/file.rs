//! Configuration files: TOML, read into sections of keys that remember where they stand. Which keys there are, and
//! what their values mean, is the command line's business (`cli`): a key is a long flag.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Error;
use crate::name::Name;

/// One `[defaults]` or `[breaker.NAME]`.
#[derive(Debug)]
pub struct Section {
    pub path: PathBuf,
    pub line: usize,
    pub scope: Scope,
    pub keys: Vec<Key>,
}

/// What a section speaks of.
#[derive(Debug, PartialEq, Eq)]
pub enum Scope {
    Defaults,
    /// A name, or a pattern, which is a name too.
    Breaker(String),
    /// No section at all, and why.
    Broken(String),
}

#[derive(Clone, Debug)]
pub struct Key {
    pub name: String,
    pub line: usize,
    /// As it stands in the file.
    pub source: String,
    /// Or what is wrong with it, whatever the key.
    pub values: Result<Values, String>,
}

/// What a key is set to.
#[derive(Clone, Debug)]
pub struct Values {
    pub is_list: bool,
    pub all: Vec<Value>,
}

#[derive(Clone, Debug)]
pub struct Value {
    pub kind: Kind,
    /// As it would be written behind the flag.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Whole,
    Float,
    Truth,
}

/// A file that need not be there.
pub fn read_if_there(path: &Path) -> Result<Vec<Section>, Error> {
    match std::fs::read(path) {
        Ok(bytes) => parse(path, text(path, &bytes)?),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// A file that was named by hand.
pub fn read(path: &Path) -> Result<Vec<Section>, Error> {
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    parse(path, text(path, &bytes)?)
}

fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
        Error::Usage(format!("{}:{line}: not UTF-8, as a configuration must be", path.display()))
    })
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::Usage(format!("cannot read the configuration {}: {error}", path.display()))
}

/// What is wrong with a file as a whole is an error; what is wrong in it, a section of faults.
fn parse(path: &Path, text: &str) -> Result<Vec<Section>, Error> {
    let at = |span: Range<usize>| line(text, span.start);
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, at);
        Error::Usage(format!("{}:{line}: {}", path.display(), error.message().replace('\n', ", ")))
    })?;
    let broken = |line: usize, what: String| Section {
        path: path.to_owned(),
        line,
        scope: Scope::Broken(what),
        keys: Vec::new(),
    };
    let mut sections = Vec::new();
    for (name, value) in table.get_ref() {
        let here = at(name.span());
        match (name.get_ref().as_ref(), value.get_ref()) {
            ("defaults", DeValue::Table(keys)) => {
                sections.push(section(path, text, here, Scope::Defaults, keys));
            }
            ("breaker", DeValue::Table(breakers)) => {
                for (name, value) in breakers {
                    let here = at(name.span());
                    let name = name.get_ref().to_string();
                    sections.push(match (value.get_ref(), name.parse::<Name>()) {
                        (DeValue::Table(keys), Ok(_)) => {
                            section(path, text, here, Scope::Breaker(name), keys)
                        }
                        (DeValue::Table(_), Err(flaw)) => broken(here, format!("[breaker.{name:?}]: {flaw}")),
                        _ => broken(
                            here,
                            format!("breaker.{} is no section; write [breaker.NAME] above its keys", name),
                        ),
                    });
                }
            }
            (other, _) => {
                sections.push(broken(here, format!("{other:?} is no section; write [defaults], [breaker.NAME] or [breaker.\"db-*\"], and keys below them")));
            }
        }
    }
    // The parser sorts by name; what stands later is stronger.
    sections.sort_by_key(|section| section.line);
    Ok(sections)
}

fn section(path: &Path, text: &str, line_of_name: usize, scope: Scope, keys: &DeTable) -> Section {
    let mut keys: Vec<Key> = keys
        .iter()
        .map(|(name, value)| Key {
            name: name.get_ref().to_string(),
            line: line(text, name.span().start),
            source: source(text, value),
            values: values(value),
        })
        .collect();
    keys.sort_by_key(|key| key.line);
    Section { path: path.to_owned(), line: line_of_name, scope, keys }
}

/// The value as it stands in the file, on one line. What is broken over several there is written anew: the escapes of
/// JSON are TOML's too.
fn source(text: &str, value: &Spanned<DeValue>) -> String {
    let source = text.get(value.span()).unwrap_or_default();
    match values(value) {
        Ok(values) if source.contains('\n') => {
            let quoted = values.all.iter().map(|value| serde_json::json!(value.text).to_string());
            let quoted: Vec<_> = quoted.collect();
            if values.is_list { format!("[{}]", quoted.join(", ")) } else { quoted.join("") }
        }
        _ => source.replace('\n', " "),
    }
}

fn values(value: &Spanned<DeValue>) -> Result<Values, String> {
    let (is_list, all) = match value.get_ref() {
        DeValue::Array(elements) => (true, elements.iter().map(scalar).collect::<Result<_, _>>()?),
        _ => (false, vec![scalar(value)?]),
    };
    Ok(Values { is_list, all })
}

fn scalar(value: &Spanned<DeValue>) -> Result<Value, String> {
    let (kind, text) = match value.get_ref() {
        DeValue::String(text) => (Kind::Text, text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => (Kind::Whole, number.as_str().to_owned()),
        DeValue::Float(number) => (Kind::Float, number.as_str().to_owned()),
        DeValue::Boolean(truth) => (Kind::Truth, truth.to_string()),
        DeValue::Table(_) => {
            return Err("a table is no value; a name with a dot is quoted: [breaker.\"a.b\"]".to_owned());
        }
        other => return Err(format!("a value of this kind ({}) means nothing here", other.type_str())),
    };
    Ok(Value { kind, text })
}

fn line(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count()
}
