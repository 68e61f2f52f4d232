//! Configuration files: TOML, read into sections of keys that know their places. Not here: which keys there are
//! (`table`), and which section applies to a breaker (`resolve`).

use std::cell::OnceCell;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::outline::{Head, outline};
use super::types::Kind;
use crate::error::Error;
use crate::name::Name;

/// A file that was read. It lives as long as the process, which ends soon: so what is found in it can point into it.
#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    text: String,
}

/// A place in a file; the line is counted only when it is shown.
#[derive(Clone, Copy)]
pub struct Place {
    file: &'static File,
    offset: usize,
}

/// One `[defaults]` or `[breaker.NAME]`.
#[derive(Debug)]
pub struct Section {
    pub place: Place,
    pub scope: Scope,
    /// What its keys' places count from, in bytes.
    base: usize,
    /// What is below the head, not yet parsed, if it can be parsed by itself.
    body: &'static str,
    /// Its keys, or what is wrong and where.
    keys: OnceCell<Result<DeTable<'static>, (Place, String)>>,
}

/// What a section is about.
#[derive(Debug, PartialEq, Eq)]
pub enum Scope {
    Defaults,
    /// A name, or a pattern, which is a name too.
    Breaker(&'static str),
    /// Not a section at all, and why.
    Broken(String),
}

/// A key and its value, not yet understood.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    pub name: &'a str,
    pub place: Place,
    /// Where the value is in the file, in bytes.
    at: (usize, usize),
    value: &'a Spanned<DeValue<'static>>,
}

/// What a key is set to.
#[derive(Clone, Debug)]
pub enum Values {
    One(Value),
    Array(Vec<Value>),
}

#[derive(Clone, Debug)]
pub struct Value {
    pub kind: Kind,
    /// As it would be written behind the flag.
    pub text: String,
}

impl Place {
    /// An error at this place.
    pub fn fault(self, what: &str) -> Error {
        Error::Usage(format!("{self}: {what}"))
    }

    /// For the order of faults: by file, then by place.
    pub fn order(self) -> (&'static Path, usize) {
        (&self.file.path, self.offset)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.path.display(), line(self.file.text.as_bytes(), self.offset))
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Values {
    pub fn all(&self) -> &[Value] {
        match self {
            Values::One(value) => std::slice::from_ref(value),
            Values::Array(values) => values,
        }
    }
}

impl Section {
    /// Its keys, in the order of their names. Only now are they parsed.
    pub fn keys(&self) -> Result<impl Iterator<Item = Key<'_>>, Error> {
        let place = |offset: usize| Place { file: self.place.file, offset: self.base + offset };
        let parsed = self.keys.get_or_init(|| match DeTable::parse(self.body) {
            Ok(table) => Ok(table.into_inner()),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                Err((place(offset), error.message().replace('\n', ", ")))
            }
        });
        let keys = parsed.as_ref().map_err(|(place, what)| place.fault(what))?;
        Ok(keys.iter().map(move |(name, value)| Key {
            name: name.get_ref(),
            place: place(name.span().start),
            at: (self.base + value.span().start, self.base + value.span().end),
            value,
        }))
    }

    /// Its keys, in the order of the file.
    pub fn keys_in_order(&self) -> Result<Vec<Key<'_>>, Error> {
        let mut keys: Vec<_> = self.keys()?.collect();
        keys.sort_by_key(|key| key.place.offset);
        Ok(keys)
    }

    fn parsed(place: Place, scope: Scope, keys: DeTable<'static>) -> Section {
        Section { place, scope, base: 0, body: "", keys: OnceCell::from(Ok(keys)) }
    }
}

impl Key<'_> {
    pub fn values(&self) -> Result<Values, String> {
        Ok(match self.value.get_ref() {
            DeValue::Array(elements) => Values::Array(elements.iter().map(scalar).collect::<Result<_, _>>()?),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Table(_) => Values::One(scalar(self.value)?),
        })
    }

    /// The value as it is in the file, on one line. What has several lines there is written anew: the escapes of JSON are
    /// TOML's too.
    pub fn source(&self) -> String {
        let source = self.place.file.text.get(self.at.0..self.at.1).unwrap_or_default();
        if !source.contains('\n') {
            return source.to_owned();
        }
        let quoted = |value: &Value| serde_json::json!(value.text).to_string();
        match self.values() {
            Ok(Values::One(value)) => quoted(&value),
            Ok(Values::Array(values)) => {
                format!("[{}]", values.iter().map(quoted).collect::<Vec<_>>().join(", "))
            }
            Err(_) => source.replace('\n', " "),
        }
    }
}

fn scalar(value: &Spanned<DeValue>) -> Result<Value, String> {
    let (kind, text) = match value.get_ref() {
        DeValue::String(text) => (Kind::String, text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => (Kind::Integer, number.as_str().to_owned()),
        DeValue::Float(number) => (Kind::Float, number.as_str().to_owned()),
        DeValue::Boolean(truth) => (Kind::Boolean, truth.to_string()),
        DeValue::Table(_) => {
            return Err(
                "expected a value, found a table; a name with a dot is quoted: [breaker.\"a.b\"]".to_owned()
            );
        }
        DeValue::Integer(_) => {
            return Err("unsupported value type: an integer that is not decimal".to_owned());
        }
        DeValue::Datetime(_) => return Err("unsupported value type: date".to_owned()),
        DeValue::Array(_) => return Err("unsupported value type: an array in an array".to_owned()),
    };
    Ok(Value { kind, text })
}

/// Reads a file that was named explicitly, and so must be there.
pub fn read(path: &Path) -> Result<Vec<Section>, Error> {
    let bytes = std::fs::read(path).map_err(|error| {
        Error::Usage(format!("cannot read the configuration {}: {error}", path.display()))
    })?;
    parse(path, bytes)
}

/// What became of a default file, which need not be there.
pub enum Found {
    Sections(Vec<Section>),
    Nothing,
    /// It, or a directory on the way to it, is closed to this user.
    Closed(io::Error),
}

/// Reads a default file.
pub fn find(path: &Path) -> Result<Found, Error> {
    match std::fs::read(path) {
        Ok(bytes) => parse(path, bytes).map(Found::Sections),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(Found::Nothing),
            io::ErrorKind::PermissionDenied => Ok(Found::Closed(error)),
            _ => Err(Error::Usage(format!("cannot read the configuration {}: {error}", path.display()))),
        },
    }
}

/// What is wrong with a file as a whole is an error; what is wrong in it is a broken section.
fn parse(path: &Path, bytes: Vec<u8>) -> Result<Vec<Section>, Error> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = line(error.as_bytes(), error.utf8_error().valid_up_to());
        Error::Usage(format!("{}:{line}: not UTF-8, as a configuration must be", path.display()))
    })?;
    let file: &'static File = Box::leak(Box::new(File { path: path.to_owned(), text }));
    let at = |offset: usize| Place { file, offset };
    if let Some(sections) = outlined(file) {
        return Ok(sections);
    }
    let table = DeTable::parse(&file.text).map_err(|error| {
        let place = at(error.span().map_or(0, |span| span.start));
        place.fault(&error.message().replace('\n', ", "))
    })?;
    let mut sections = Vec::new();
    for (name, value) in table.into_inner() {
        let place = at(name.span().start);
        match (name.get_ref().as_ref(), value.into_inner()) {
            ("defaults", DeValue::Table(keys)) => {
                sections.push(Section::parsed(place, Scope::Defaults, keys));
            }
            ("breaker", DeValue::Table(breakers)) => {
                for (name, value) in breakers {
                    let place = at(name.span().start);
                    sections.push(breaker(place, name.get_ref(), value.into_inner()));
                }
            }
            (name, DeValue::Table(_)) => {
                sections.push(broken(place, format!("unknown section [{}]; {EXPECTED}", shown(name))))
            }
            (name, _) => {
                sections.push(broken(
                    place,
                    format!("{} is outside of a section; {EXPECTED}, and its keys below", shown(name)),
                ));
            }
        }
    }
    // The parser sorts by name; what comes later in the file takes precedence.
    sections.sort_by_key(|section| section.place.offset);
    Ok(sections)
}

/// The sections of a file of the usual form, each to be parsed when it is needed.
fn outlined(file: &'static File) -> Option<Vec<Section>> {
    let parts = outline(&file.text)?;
    let mut sections = Vec::with_capacity(parts.len());
    for part in parts {
        let scope = match part.head {
            Head::Defaults => Scope::Defaults,
            Head::Breaker(name) => Name::check(name).map(|()| Scope::Breaker(name)).ok()?,
        };
        sections.push(Section {
            place: Place { file, offset: part.start },
            scope,
            base: part.body.start,
            body: &file.text[part.body],
            keys: OnceCell::new(),
        });
    }
    Some(sections)
}

const EXPECTED: &str = "expected [defaults], [breaker.NAME] or [breaker.\"db-*\"]";

fn breaker(place: Place, name: &str, value: DeValue<'static>) -> Section {
    match (value, Name::check(name)) {
        (DeValue::Table(keys), Ok(())) => {
            Section::parsed(place, Scope::Breaker(String::leak(name.to_owned())), keys)
        }
        (DeValue::Table(_), Err(flaw)) => broken(place, format!("[breaker.{name:?}]: {flaw}")),
        (_, _) => broken(
            place,
            format!("breaker.{} is not a section; expected [breaker.NAME] and its keys below", shown(name)),
        ),
    }
}

fn broken(place: Place, what: String) -> Section {
    Section::parsed(place, Scope::Broken(what), DeTable::new())
}

/// A name that nobody knows, as it may be shown: what does not look like a key might be a secret in the wrong place.
pub fn shown(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.*?[] ".contains(c);
    if name.chars().count() <= 40 && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        "(not shown)".to_owned()
    }
}

fn line(text: &[u8], offset: usize) -> usize {
    1 + text.iter().take(offset).filter(|&&byte| byte == b'\n').count()
}
