//! What may have been meant by a command that is not there. Not here: that it is not there, and the exit code.

use std::ffi::OsStr;

use crate::settings::value;

/// Words that a shell knows, and that are no programs on most systems.
const BUILTINS: &[&str] = &[
    ".", ":", "alias", "cd", "declare", "eval", "exec", "exit", "export", "for", "if", "local", "popd",
    "pushd", "read", "return", "set", "shift", "shopt", "source", "trap", "type", "ulimit", "umask", "unset",
    "until", "wait", "while",
];

/// A hint for the end of the message, or nothing.
pub fn for_missing(word: &OsStr) -> &'static str {
    let Some(word) = word.to_str() else { return "" };
    let is_line = word.contains(|c: char| c.is_whitespace() || "|&;<>()$`".contains(c));
    if BUILTINS.contains(&word) {
        "; it is a builtin of the shell: write -- sh -c 'LINE'"
    } else if is_line {
        "; for a line of the shell write -- sh -c 'LINE'"
    } else if word.starts_with(|c: char| c.is_ascii_digit()) && value::duration(word).is_ok() {
        "; for a limit of --wait write --wait=DURATION, with the ="
    } else {
        ""
    }
}
