//! Where the sections of a configuration begin, found without parsing what they hold: so a long file costs a run little
//! more than a short one. What is not plainly one section below the other is left to the parser of the whole file.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};

/// A section as its head says.
#[derive(Debug, PartialEq, Eq)]
pub struct Part<'a> {
    pub head: Head<'a>,
    /// Where the head begins, in bytes.
    pub start: usize,
    /// What is below the head, in bytes.
    pub body: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Head<'a> {
    Defaults,
    /// The name or pattern, without quotes.
    Breaker(&'a str),
}

/// The sections of a text, or `None` if only a parser can say. Every run does this, so it visits only the brackets.
pub fn outline(text: &str) -> Option<Vec<Part<'_>>> {
    let bytes = text.as_bytes();
    // A text over several lines may hold lines that look like heads.
    if [b"\"\"\"", b"'''"].iter().any(|quotes| memmem::find(bytes, *quotes).is_some()) {
        return None;
    }
    let mut parts: Vec<Part<'_>> = Vec::new();
    for at in memchr_iter(b'[', bytes) {
        match bytes[..at].iter().rposition(|byte| !matches!(byte, b' ' | b'\t')) {
            Some(before) if bytes[before] != b'\n' => continue,
            Some(before) if before + 1 == at => {}
            None if at == 0 => {}
            // It is indented, and may begin a head or not.
            Some(_) | None => return None,
        }
        if let Some(last) = parts.last_mut() {
            last.body.end = at;
        }
        let line = memchr(b'\n', &bytes[at..]).map_or(text.len(), |len| at + len);
        parts.push(Part { head: head(&text[at..line])?, start: at, body: line..text.len() });
    }
    let above = &text[..parts.first().map_or(text.len(), |part| part.start)];
    if !above.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return None;
    }
    let mut heads: Vec<_> = parts.iter().map(|part| part.head).collect();
    heads.sort_unstable();
    let is_unique = heads.windows(2).all(|pair| pair[0] != pair[1]);
    is_unique.then_some(parts)
}

fn head(line: &str) -> Option<Head<'_>> {
    let inner = line.trim_end().strip_prefix('[')?.strip_suffix(']')?;
    if inner == "defaults" {
        return Some(Head::Defaults);
    }
    let name = inner.strip_prefix("breaker.")?;
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let quoted = |quote: char| {
        let inner = name.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains([quote, '\\'])).then_some(inner)
    };
    let bare = (!name.is_empty() && name.chars().all(is_bare)).then_some(name);
    bare.or_else(|| quoted('"')).or_else(|| quoted('\'')).map(Head::Breaker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_sections_are_found() {
        let text = "# a\n\n[defaults]\na = 1\n[breaker.x]\nb = [1,\n2]\r\n[breaker.\"db-*\"]\n";
        let parts = outline(text).expect("an outline");
        let found: Vec<_> = parts.iter().map(|part| (part.head, &text[part.body.clone()])).collect();
        let expected = [
            (Head::Defaults, "\na = 1\n"),
            (Head::Breaker("x"), "\nb = [1,\n2]\r\n"),
            (Head::Breaker("db-*"), "\n"),
        ];
        assert_eq!(found, expected);
        assert_eq!(outline(""), Some(Vec::new()));
    }

    #[test]
    fn the_rest_is_left_to_the_parser() {
        for text in [
            "a = 1\n[defaults]\n",
            "[defaults]\na = \"\"\"\n[defaults]\n\"\"\"\n",
            "[defaults]\na = '''\n[breaker.x]\n'''\n",
            "[breaker]\nx = {}\n",
            "[breaker.x.y]\n",
            "[breaker.\"a\\\"b\"]\n",
            "[ defaults ]\n",
            "  [defaults]\n",
            "[defaults]\n\t[breaker.x]\n",
            "[defaults] # note\n",
            "[defaults\n",
            "[[defaults]]\n",
            "[default]\n",
            "[defaults]\na = [\n[1]]\n",
            "[breaker.x]\n[breaker.\"x\"]\n",
            "[defaults]\n[defaults]\n",
        ] {
            assert_eq!(outline(text), None, "{text:?}");
        }
    }
}
