//! Where the sections of a configuration begin, found without parsing what they hold: so a long file costs a run little
//! more than a short one. What is not plainly one section below the other is left to the parser of the whole file.

use std::ops::Range;

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

/// The sections of a text, or `None` if only a parser can say.
pub fn outline(text: &str) -> Option<Vec<Part<'_>>> {
    // A text over several lines may hold lines that look like heads.
    if text.contains("\"\"\"") || (text.contains('\'') && text.contains("'''")) {
        return None;
    }
    let starts = starts(text)?;
    let above = &text[..starts.first().copied().unwrap_or(text.len())];
    if !above.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return None;
    }
    let mut parts = Vec::with_capacity(starts.len());
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(text.len());
        let line = text[start..end].find('\n').map_or(end, |len| start + len);
        parts.push(Part { head: head(&text[start..line])?, start, body: line..end });
    }
    let mut heads: Vec<_> = parts.iter().map(|part| part.head).collect();
    heads.sort_unstable();
    heads.dedup();
    (heads.len() == parts.len()).then_some(parts)
}

/// The brackets at the start of a line; `None` if one is indented, which may be a head or not.
fn starts(text: &str) -> Option<Vec<usize>> {
    let bytes = text.as_bytes();
    let mut starts = Vec::new();
    for (at, _) in text.match_indices('[') {
        let mut before = at;
        while before > 0 && matches!(bytes[before - 1], b' ' | b'\t') {
            before -= 1;
        }
        let is_first = before == 0 || bytes[before - 1] == b'\n';
        match is_first {
            true if before == at => starts.push(at),
            true => return None,
            false => {}
        }
    }
    Some(starts)
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
