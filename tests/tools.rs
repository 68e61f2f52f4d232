//! Programs of others that check what ours writes. Where one is missing a test fails and says what to install.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::util::{Done, Sandbox, wait};

/// A Python that has the modules: the system's before another, for Debian's packages are for that one.
fn python(modules: &str) -> &'static str {
    let has = |python: &&str| {
        let import = Command::new(python).args(["-c", &format!("import {modules}")]).output();
        import.is_ok_and(|output| output.status.success())
    };
    let found = ["/usr/bin/python3", "python3"].into_iter().find(has);
    found.unwrap_or_else(|| {
        panic!(
            "no python3 has the modules {modules}: apt install python3-jsonschema python3-prometheus-client"
        )
    })
}

/// Runs a Python script over a text.
pub fn run_python(sandbox: &Sandbox, modules: &str, script: &str, args: &[&str], stdin: &str) -> Done {
    let mut command = sandbox.command(python(modules));
    command.arg("-c").arg(script).args(args);
    feed(command, stdin)
}

/// Runs a command to its end with this text on its standard input.
pub fn feed(mut command: Command, stdin: &str) -> Done {
    let what = format!("{command:?}");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut pipe = child.stdin.take().expect("a pipe");
    // Who does not read it has its reasons, and its status tells them.
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    wait(child, &what)
}

/// Requires that a text is JSON (a document, or one a line) that a definition of the schema in the manual describes.
#[track_caller]
pub fn valid(sandbox: &Sandbox, definition: &str, text: &str) {
    const SCRIPT: &str = r##"
import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
schema["$ref"] = "#/$defs/" + sys.argv[2]
validator = jsonschema.Draft202012Validator(schema)
text, decoder, count = sys.stdin.read().strip(), json.JSONDecoder(), 0
while text:
    document, end = decoder.raw_decode(text)
    text, count = text[end:].strip(), count + 1
    for error in validator.iter_errors(document):
        sys.exit(f"{error.message} at {error.json_path} in\n{json.dumps(document, indent=1)}")
if not count:
    sys.exit("no document")
"##;
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/man/brk.schema.json");
    run_python(sandbox, "jsonschema", SCRIPT, &[schema, definition], text).code(0);
}
