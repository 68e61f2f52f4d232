//! A sandbox for one test: an empty directory of its own, a state directory in it, an environment that holds nothing
//! of the caller's but PATH. A check that fails prints command, directory, status and both streams.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use crate::process::{Running, Start};

/// How long a sign may take on a machine that is busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Sandbox {
    dir: tempfile::TempDir,
}

/// A finished command, with all that a failed check has to tell.
pub struct Done {
    what: String,
    output: Output,
}

impl Sandbox {
    pub fn new() -> Sandbox {
        let dir = tempfile::Builder::new().prefix("brk-test-").tempdir().expect("a scratch directory");
        Sandbox { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.file("state")
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, text).expect("a file in the scratch directory");
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// An executable script in the sandbox.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(name, text);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("chmod");
        path
    }

    /// Any program, in the sandbox's directory and environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.path())
            .env("BRK_STATE_DIR", self.state())
            .stdin(Stdio::null());
        command
    }

    /// The binary under test.
    pub fn brk(&self) -> Command {
        self.command(brk())
    }

    /// Runs `brk` with these words to its end.
    pub fn run(&self, words: &[&str]) -> Done {
        let mut command = self.brk();
        command.args(words);
        finish(command)
    }

    /// Starts `brk` with these words and piped streams, and does not wait for it.
    pub fn spawn(&self, words: &[&str]) -> Running {
        self.brk().args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).start()
    }

    /// Runs a shell script with `brk` on its PATH.
    pub fn shell(&self, script: &str) -> Done {
        let mut command = self.command("sh");
        let bin = Path::new(brk()).parent().expect("a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", bin.display())).args(["-c", script]);
        finish(command)
    }

    /// The one breaker's object in `brk status NAME --json`.
    pub fn status(&self, name: &str) -> serde_json::Value {
        self.run(&["status", "--json", "--", name]).breaker()
    }

    /// The objects of `brk history NAME --json`, oldest first.
    pub fn history(&self, name: &str) -> Vec<serde_json::Value> {
        self.run(&["history", "--json", "-n", "1000000", "--", name]).entries()
    }

    /// The words of the events of `brk history NAME`.
    pub fn events(&self, name: &str) -> Vec<String> {
        words_of(&self.history(name))
    }
}

impl Done {
    /// Waits for a child and for the end of its piped streams.
    pub fn of(child: Child, what: &str) -> Done {
        let output = child.wait_with_output().unwrap_or_else(|error| panic!("{what}: {error}"));
        Done { what: what.to_owned(), output }
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub fn status(&self) -> ExitStatus {
        self.output.status
    }

    /// The one breaker of `brk status NAME --json`.
    #[track_caller]
    pub fn breaker(&self) -> serde_json::Value {
        let value: serde_json::Value = serde_json::from_str(&self.code(0).stdout()).expect("JSON of status");
        value["breakers"][0].clone()
    }

    /// The objects of `brk history NAME --json`, oldest first.
    #[track_caller]
    pub fn entries(&self) -> Vec<serde_json::Value> {
        let text = self.code(0).stdout();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON of history")).collect()
    }

    /// Requires this exit code.
    #[track_caller]
    pub fn code(&self, expected: i32) -> &Done {
        assert_eq!(self.output.status.code(), Some(expected), "wrong exit\n{}", self.all());
        self
    }

    /// Requires death by this signal.
    #[track_caller]
    pub fn signal(&self, expected: i32) -> &Done {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(self.output.status.signal(), Some(expected), "wrong signal\n{}", self.all());
        self
    }

    /// Requires this text in standard error.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Done {
        assert!(self.stderr().contains(text), "standard error lacks {text:?}\n{}", self.all());
        self
    }

    /// Requires this text in standard output.
    #[track_caller]
    pub fn prints(&self, text: &str) -> &Done {
        assert!(self.stdout().contains(text), "standard output lacks {text:?}\n{}", self.all());
        self
    }

    /// Requires that neither stream has this text.
    #[track_caller]
    pub fn lacks(&self, text: &str) -> &Done {
        let somewhere = self.stdout().contains(text) || self.stderr().contains(text);
        assert!(!somewhere, "should not contain {text:?}\n{}", self.all());
        self
    }

    /// Requires that nothing was printed on either stream.
    #[track_caller]
    pub fn quiet(&self) -> &Done {
        let silent = self.output.stdout.is_empty() && self.output.stderr.is_empty();
        assert!(silent, "should be silent\n{}", self.all());
        self
    }

    pub fn all(&self) -> String {
        format!(
            "command: {}\nstatus: {}\nstdout:\n{}\nstderr:\n{}",
            self.what,
            self.output.status,
            self.stdout(),
            self.stderr()
        )
    }
}

/// The words of these objects of a history.
pub fn words_of(events: &[serde_json::Value]) -> Vec<String> {
    events.iter().map(|event| event["event"].as_str().unwrap_or("?").to_owned()).collect()
}

/// How much to do: the first in an ordinary run of the tests, the second where `BRK_PROOF=long` asks for more.
pub fn scale<T>(ordinary: T, long: T) -> T {
    if std::env::var("BRK_PROOF").is_ok_and(|word| word == "long") { long } else { ordinary }
}

/// The path of the binary under test.
pub fn brk() -> &'static str {
    env!("CARGO_BIN_EXE_brk")
}

pub fn finish(mut command: Command) -> Done {
    let what = format!("{command:?}\ndirectory: {:?}", command.get_current_dir());
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {error}"));
    Done { what, output }
}

/// Waits until a sign is there. The pause between two looks is short, and nothing depends on its length.
#[track_caller]
pub fn until(what: &str, mut sign: impl FnMut() -> bool) {
    let start = Instant::now();
    while !sign() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a file that a child makes as its sign, and gives its text.
#[track_caller]
pub fn until_file(path: &Path) -> String {
    let mut text = String::new();
    until(&format!("a text in {}", path.display()), || {
        text = std::fs::read_to_string(path).unwrap_or_default();
        text.ends_with('\n')
    });
    text
}
