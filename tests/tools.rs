//! Programs of others that tests use: which are there, what becomes of a test without them, and those that check what
//! `brk` writes. Their list, with the packages they come from, is in `tests/run`.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::process::{Start, is_root};
use crate::util::{Done, Sandbox};

/// Where `tests/run` reads what was left out. Unset, nothing may be left out: what is missing fails the test.
const LEFT_OUT: &str = "BRK_TESTS_LEFT_OUT";

/// The first line of a test that uses more than the shell's own tools. It ends the test if something is missing.
macro_rules! needs {
    ($($tool:literal),+ $(,)?) => {
        // All of them are asked for, so that the report names each that is missing.
        if [$($tool),+].map(crate::tools::is_left_out_without).contains(&true) {
            return;
        }
    };
}
pub(crate) use needs;

/// Whether a test has to be left out because this is missing; it is then reported.
#[track_caller]
pub fn is_left_out_without(tool: &str) -> bool {
    if has(tool) {
        return false;
    }
    let Some(report) = std::env::var_os(LEFT_OUT) else {
        panic!(
            "this test needs {tool}, which is missing: `tests/run --install` installs what it can, and `tests/run` \
             leaves out the tests that cannot run"
        );
    };
    // With one thread for all tests the thread has no test's name.
    let thread = std::thread::current();
    let place = std::panic::Location::caller().to_string();
    let test = thread.name().filter(|name| *name != "main").unwrap_or(&place);
    let mut report = std::fs::File::options().append(true).open(report).expect("the report of tests/run");
    report.write_all(format!("{tool}\t{test}\n").as_bytes()).expect("a line in the report of tests/run");
    true
}

fn has(tool: &str) -> bool {
    let succeeds = |words: &[&str]| {
        let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
        output.is_ok_and(|output| output.status.success())
    };
    match tool {
        "root" => is_root(),
        "root or sudo" => is_root() || succeeds(&["sudo", "-n", "true"]),
        "namespaces" => {
            let namespaces = "--mount --pid --time --fork --mount-proc --boottime=1 true";
            let by_right = if is_root() { "unshare" } else { "unshare --map-root-user" };
            succeeds(&[by_right, namespaces].join(" ").split(' ').collect::<Vec<_>>())
        }
        _ => match tool.strip_prefix("python:") {
            Some(modules) => find_python(modules).is_some(),
            None => is_command(tool),
        },
    }
}

fn is_command(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let is_executable =
        |metadata: std::fs::Metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0;
    dirs.into_iter().any(|dir| dir.join(name).metadata().is_ok_and(is_executable))
}

/// A Python that has the modules: the system's before another, because Debian's packages are for that one.
fn find_python(modules: &str) -> Option<&'static str> {
    let has = |python: &&str| {
        let import = Command::new(python).args(["-c", &format!("import {modules}")]).output();
        import.is_ok_and(|output| output.status.success())
    };
    ["/usr/bin/python3", "python3"].into_iter().find(has)
}

fn python(modules: &str) -> &'static str {
    find_python(modules).unwrap_or_else(|| panic!("no python3 has the modules {modules}"))
}

/// Runs a Python script over a text.
pub fn run_python(sandbox: &Sandbox, modules: &str, script: &str, args: &[&str], stdin: &str) -> Done {
    let mut command = sandbox.command(python(modules));
    command.arg("-c").arg(script).args(args);
    feed(command, stdin)
}

/// Runs a command to its end with this text on its standard input.
pub fn feed(mut command: Command, stdin: &str) -> Done {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.start();
    let mut pipe = child.stdin.take().expect("a pipe");
    // Who does not read it has its reasons, and its status tells them.
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    child.finish()
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

#[test]
fn every_tool_that_a_test_needs_is_in_the_list_of_tests_run() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = std::fs::read_to_string(root.join("tests/run")).expect("tests/run");
    let (_, list) = run.split_once("<<'END'\n").expect("the list");
    let (list, _) = list.split_once("\nEND\n").expect("the list's end");
    let listed: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(listed.len() > 10, "{listed:?}");
    let rights = ["root", "root or sudo", "namespaces"];
    let mut found = 0;
    for (file, text) in crate::tidy::project("tests") {
        for needs in text.split("\n    needs!(").skip(1).filter_map(|rest| Some(rest.split_once(");")?.0)) {
            for tool in needs.split('"').skip(1).step_by(2) {
                assert!(rights.contains(&tool) || listed.contains(&tool), "{file} needs {tool}");
                found += 1;
            }
        }
    }
    assert!(found > 50, "only {found} found");
}
