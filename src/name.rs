//! Names of breakers, and the file names that encode them.
//!
//! The encoding can be reversed, so two names never share a file, even if the file system folds case or Unicode forms:
//! only lower-case letters, digits and `-_.` of ASCII are written unchanged, and no file name starts with a dot. A name
//! that would become too long that way is written in base 32, which fits any name.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE32_DNSSEC;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(String);

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadName {
    Empty,
    TooLong(usize),
    Control,
}

/// In bytes.
const LONGEST: usize = 128;

/// Longest escaped form in bytes; with the suffixes of a breaker's files it stays below the 255 of a file name.
const LONGEST_ESCAPED: usize = 200;

/// Starts the base 32 form. An escape never starts like this, because `~` is not a hexadecimal digit.
const BASE32_MARK: &str = "%~";

impl Name {
    /// What is wrong with a text as a name.
    pub fn check(text: &str) -> Result<(), BadName> {
        if text.is_empty() {
            Err(BadName::Empty)
        } else if text.len() > LONGEST {
            Err(BadName::TooLong(text.len()))
        } else if text.chars().any(char::is_control) {
            Err(BadName::Control)
        } else {
            Ok(())
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file name, without a suffix, that encodes this name.
    pub fn encoded(&self) -> String {
        let mut escaped = String::with_capacity(self.0.len());
        for (index, byte) in self.0.bytes().enumerate() {
            match byte {
                b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => escaped.push(char::from(byte)),
                b'.' if index > 0 => escaped.push('.'),
                _ => escaped.push_str(&format!("%{byte:02x}")),
            }
        }
        if escaped.len() <= LONGEST_ESCAPED {
            escaped
        } else {
            format!("{BASE32_MARK}{}", BASE32_DNSSEC.encode(self.0.as_bytes()))
        }
    }

    /// The name that a file name encodes, if it encodes one.
    pub fn decoded(encoded: &str) -> Option<Name> {
        let bytes = match encoded.strip_prefix(BASE32_MARK) {
            Some(digits) => BASE32_DNSSEC.decode(digits.as_bytes()).ok()?,
            None => unescape(encoded)?,
        };
        let name: Name = String::from_utf8(bytes).ok()?.parse().ok()?;
        (name.encoded() == encoded).then_some(name)
    }
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Name, BadName> {
        Name::check(text).map(|()| Name(text.to_owned()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadName::Empty => write!(f, "a name must not be empty"),
            BadName::TooLong(bytes) => {
                write!(f, "a name is at most {LONGEST} bytes long, and this has {bytes}")
            }
            BadName::Control => write!(f, "a name must not hold control characters"),
        }
    }
}

impl std::error::Error for BadName {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(name: &str, encoded: &str) {
        let name: Name = name.parse().expect("a name");
        assert_eq!(name.encoded(), encoded);
        assert_eq!(Name::decoded(encoded), Some(name));
    }

    #[test]
    fn names_become_safe_file_names() {
        check("db-backup", "db-backup");
        check("a/b", "a%2fb");
        check("..", "%2e.");
        check(".hidden", "%2ehidden");
        check("-x", "-x");
        check("%2f", "%252f");
        check("DB", "%44%42");
        check("ünï", "%c3%bcn%c3%af");
        check("*", "%2a");
        let long = "/".repeat(128);
        let name: Name = long.parse().expect("a name");
        assert!(name.encoded().len() < 210, "{}", name.encoded());
        assert_eq!(Name::decoded(&name.encoded()), Some(name));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for (text, flaw) in [
            ("", BadName::Empty),
            ("a\nb", BadName::Control),
            ("\u{7f}", BadName::Control),
            ("\u{85}", BadName::Control),
            (&"x".repeat(129), BadName::TooLong(129)),
        ] {
            assert_eq!(text.parse::<Name>(), Err(flaw), "{text:?}");
        }
        for encoded in ["", "A", "%2", "%zz", "%61", "%~", ".x", "%0a", "a b"] {
            assert_eq!(Name::decoded(encoded), None, "{encoded:?}");
        }
    }

    proptest! {
        #[test]
        fn the_encoding_can_be_undone(text in "\\PC{1,128}") {
            if let Ok(name) = text.parse::<Name>() {
                let encoded = name.encoded();
                prop_assert!(encoded.len() < 210 && !encoded.contains('/') && !encoded.starts_with('.'));
                prop_assert_eq!(Name::decoded(&encoded), Some(name));
            }
        }
    }
}
