//! The KEYS part of brk-config(5), made from the table of settings: mdoc between two marks of the committed page. Not
//! here: the rest of that page, which is written as it is.

use crate::settings::{Default, Heading, Scope, Setting};

/// The page as it is committed; `.ci/renew` writes it anew from itself.
const PAGE: &str = include_str!("../../../man/brk-config.5");

const BEGIN: &str = ".\\\"-- keys: generated from the table of settings\n";
const END: &str = ".\\\"-- end of keys\n";

/// The whole page, with the keys of these settings.
pub fn page(rows: &[Setting]) -> String {
    let parts = PAGE.split_once(BEGIN).and_then(|(above, rest)| Some((above, rest.split_once(END)?.1)));
    let Some((above, below)) = parts else {
        return PAGE.to_owned();
    };
    format!("{above}{BEGIN}{}{END}{below}", keys(rows))
}

fn keys(rows: &[Setting]) -> String {
    let mut text = String::new();
    for heading in Heading::ALL {
        let mut rows = rows.iter().filter(|row| row.heading == heading).peekable();
        if rows.peek().is_none() {
            continue;
        }
        text.push_str(&format!(".Ss {}\n", heading.as_str()));
        text.push_str(note(heading));
        text.push_str(".Bl -tag -width indent\n");
        rows.for_each(|row| text.push_str(&entry(row)));
        text.push_str(".El\n");
    }
    text
}

/// What is true of all keys below a heading.
fn note(heading: Heading) -> &'static str {
    match heading {
        Heading::Store => {
            "All breakers of a host are in one store, so these belong in\n.Li [defaults] .\nThe flags, and\n\
             .Ev BRK_STORE\nfor the first, take precedence.\n"
        }
        Heading::Opening
        | Heading::Cooldown
        | Heading::Closing
        | Heading::Failures
        | Heading::Supervision
        | Heading::Around => "",
    }
}

fn entry(row: &Setting) -> String {
    let mut text = format!(".It Li {}\n.Pq {}\n", row.key, row.value.in_words());
    sentences(row.help, &mut text);
    if !row.details.is_empty() {
        sentences(row.details, &mut text);
    }
    match (row.scope, row.default) {
        (_, Default::None) => {}
        // A key is what a variable stands in for, so the variable is no default of it.
        (Scope::DefaultsOnly, Default::Depends(_)) => sentences("Default: this host's own files", &mut text),
        (_, Default::Value(value) | Default::Depends(value)) => {
            sentences(&format!("Default: {value}"), &mut text);
        }
    }
    text
}

/// Each sentence on a line of its own, as mdoc wants it, and none too long.
fn sentences(help: &str, text: &mut String) {
    let help = format!("{}.", help.trim_end_matches('.'));
    for sentence in help.split_inclusive(". ") {
        let escaped = sentence.trim_end().replace('\\', "\\e");
        let mut used = 0;
        for (index, word) in escaped.split(' ').enumerate() {
            // A line that begins with one of these would be a request.
            let word = if word.starts_with(['.', '\'']) { format!("\\&{word}") } else { word.to_owned() };
            if index > 0 {
                let is_full = used + word.len() >= 78;
                text.push(if is_full { '\n' } else { ' ' });
                used = if is_full { 0 } else { used + 1 };
            }
            used += word.len();
            text.push_str(&word);
        }
        text.push('\n');
    }
}
