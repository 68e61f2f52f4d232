//! Arguments and environments that make no sense: whatever is asked, the answer is one of the documented exits, and
//! never a panic.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::storm::Numbers;
use crate::util::{Done, Sandbox, finish, scale};

const WORDS: &[&str] = &[
    "run",
    "check",
    "status",
    "history",
    "explain",
    "metrics",
    "reset",
    "trip",
    "hold",
    "release",
    "forget",
    "config",
    "profiles",
    "completions",
    "help",
    "--help",
    "--version",
    "--name",
    "n",
    "a/b",
    "..",
    "*",
    "",
    "--",
    "-",
    "-q",
    "-n",
    "true",
    "false",
    "sh",
    "-c",
    "exit 7",
    "--failures",
    "0",
    "1",
    "-1",
    "99999999999999999999",
    "--failure-rate",
    "50%",
    "0.5",
    "nan",
    "inf",
    "-0",
    "1e308",
    "--slow-rate",
    "--slow-after",
    "1ms",
    "--window",
    "10m",
    "20",
    "--min-calls",
    "--trip-on",
    "--fail-on",
    "--success-on",
    "--ignore-on",
    "1-5",
    "signal",
    "SIGKILL",
    "timeout",
    "256",
    "--cooldown",
    "1h",
    "0s",
    "584942417355y",
    "18446744073709551615s",
    "--backoff",
    "2",
    "1.7976931348623157e308",
    "--max-cooldown",
    "--jitter",
    "100%",
    "--run-at-least-every",
    "--probes",
    "4294967295",
    "--probe-successes",
    "--probe-failures",
    "--probe",
    "exit 1",
    "--timeout",
    "300ms",
    "--signal",
    "TERM",
    "--kill-after",
    "--preserve-status",
    "--observe",
    "--refused-exit",
    "75",
    "--on-state-error",
    "refuse",
    "--report",
    "report",
    "--retries",
    "--retry-delay",
    "--wait=5ms",
    "--max-concurrent",
    "--fallback",
    "true",
    "--fallback-on",
    "failure",
    "--output",
    "on-change",
    "--on-open",
    "--state-dir",
    "elsewhere",
    "--config",
    "missing.toml",
    "--json",
    "--all",
    "--for",
    "--reason",
    "because",
    "open",
    "closed",
    "--since",
    "-x",
    "ünï",
    "\u{202e}",
    "=",
    "--name=",
    "--quiet=maybe",
    "bash",
    "curl",
    "--profile",
];

const VARIABLES: &[(&str, &[&str])] = &[
    ("BRK_STATE_DIR", &["", "relative", "/dev/null", "/proc/self", "\u{202e}", "/proc/nonexistent/a/b"]),
    ("BRK_CONFIG", &["", "missing.toml", "/dev/null", "/", "."]),
    ("BRK_STORE", &["", "redis://", "nonsense", "redis://127.0.0.1:1/0"]),
    ("XDG_STATE_HOME", &["", "relative", "/dev/null"]),
    ("STATE_DIRECTORY", &["", ":", "::a", "/dev/full:/x"]),
    ("HOME", &["", "/proc/nonexistent", "relative"]),
    ("COLUMNS", &["0", "-1", "99999999999"]),
    ("RUST_BACKTRACE", &["full"]),
    ("TMPDIR", &["", "/nonexistent"]),
];

/// The codes that the manual names, and those of the commands in the pool.
const CODES: [i32; 10] = [0, 1, 2, 7, 75, 124, 125, 126, 127, 130];

/// A sandbox whose only programs are those that the pool means: any word may come to stand where the command does.
fn sandbox() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let bin = sandbox.file("bin");
    std::fs::create_dir(&bin).expect("a directory");
    for program in ["true", "false", "sh"] {
        std::os::unix::fs::symlink(Path::new("/bin").join(program), bin.join(program)).expect("a link");
    }
    (sandbox, bin)
}

#[test]
fn nothing_makes_it_panic() {
    let (sandbox, bin) = sandbox();
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    let cases = scale(400, 10_000);
    for case in 0..cases {
        let mut command = sandbox.brk();
        command.env("PATH", &bin);
        let mut words: Vec<OsString> = Vec::new();
        if numbers.below(2) == 0 {
            words.extend(["run", "--name", "n"].map(OsString::from));
        }
        for _ in 0..numbers.below(9) {
            let word = WORDS[numbers.below(WORDS.len() as u64) as usize];
            let mut bytes = word.as_bytes().to_vec();
            match numbers.below(24) {
                0 => bytes.push(0xff),
                1 => bytes.truncate(1),
                2 => bytes.extend(vec![b'9'; 300]),
                _ => {}
            }
            words.push(OsString::from_vec(bytes));
        }
        if numbers.below(2) == 0 {
            words.extend(["--", "true"].map(OsString::from));
        }
        for (variable, values) in VARIABLES {
            if numbers.below(6) == 0 {
                let value = values[numbers.below(values.len() as u64) as usize];
                let mut bytes = value.as_bytes().to_vec();
                if numbers.below(6) == 0 {
                    bytes.extend([0xff, b'\n', 0xed, 0xa0, 0x80]);
                }
                command.env(variable, OsString::from_vec(bytes));
            }
        }
        let done = finish({
            command.args(words);
            command
        });
        judged(&done).unwrap_or_else(|error| panic!("case {case}: {error}"));
    }
    println!("proof: fuzz: {cases} command lines and environments");
}

/// Lines of configurations, from which a senseless one is put together.
const LINES: &[&str] = &[
    "[defaults]",
    "[breaker.n]",
    "[breaker.\"*\"]",
    "[breaker.\"[\"]",
    "[breaker]",
    "[[breaker]]",
    "[breaker.\"\\u0000\"]",
    "[other]",
    "failures = 3",
    "failures = -9223372036854775808",
    "failures = \"3\"",
    "cooldown = \"1h\"",
    "cooldown = 18446744073709551615",
    "cooldown = nan",
    "backoff = 1e308",
    "backoff = -inf",
    "failure-rate = \"50%\"",
    "failure-rate = 0.5",
    "window = \"10m\"",
    "window = 1979-05-27T07:32:00Z",
    "min-calls = 21",
    "trip-on = [1, \"SIGKILL\", \"2-5\"]",
    "fail-on = [[[[]]]]",
    "ignore-on = {a = 1}",
    "success-on = []",
    "name = \"x\"",
    "probe = \"\"",
    "profile = \"curl\"",
    "output = \"on-change\"",
    "timeout = true",
    "store = \"redis://:x@[::1]:0/99\"",
    "on-open = \"\"\"\nexit 1\"\"\"",
    "a.b.c = 1",
    "= 1",
    "\"",
    "ünï = '\u{202e}'",
    "#",
    "",
];

#[test]
fn no_configuration_makes_it_panic() {
    let (sandbox, bin) = sandbox();
    let mut numbers = Numbers(0x0fed_cba9_8765_4321);
    let cases = scale(60, 1_000);
    for case in 0..cases {
        let mut bytes = Vec::new();
        for _ in 0..numbers.below(6) {
            bytes.extend(LINES[numbers.below(LINES.len() as u64) as usize].as_bytes());
            match numbers.below(20) {
                0 => bytes.push(0xff),
                1 => bytes.truncate(bytes.len() / 2),
                _ => bytes.push(b'\n'),
            }
        }
        sandbox.write("config.toml", &bytes);
        for words in
            [&["config", "--check"][..], &["config", "n"], &["run", "--name", "n", "--", "true"], &["status"]]
        {
            let mut command = sandbox.brk();
            command.env("PATH", &bin).env("BRK_CONFIG", "config.toml").args(words);
            let text = String::from_utf8_lossy(&bytes);
            judged(&finish(command)).unwrap_or_else(|error| panic!("case {case}: {error}\n{text}"));
        }
    }
    println!("proof: fuzz: {cases} configurations");
}

/// Whether a run ended as the manual has it.
fn judged(done: &Done) -> Result<(), String> {
    if done.stderr().contains("panicked") || done.stderr().contains("RUST_BACKTRACE") {
        return Err(format!("a panic: {}", done.all()));
    }
    let is_known = done.status().code().is_some_and(|code| CODES.contains(&code) || code == 99);
    if is_known { Ok(()) } else { Err(format!("an exit that nobody asked for: {}", done.all())) }
}

#[test]
fn the_fuzzer_notices_a_break() {
    let sandbox = Sandbox::new();
    let breaks = ["exit 101", "echo \"thread 'main' panicked at\" >&2; exit 125", "kill -ABRT $$", "exit 3"];
    assert_eq!(judged(&sandbox.shell("exit 75")), Ok(()));
    for script in breaks {
        assert!(judged(&sandbox.shell(&format!("ulimit -c 0; {script}"))).is_err(), "{script}");
    }
    println!("proof: breaks: fuzz: {0} of {0} noticed", breaks.len());
}
