//! A real server on a free port of this machine, and hosts that share it: state directories of their own.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::process::{Running, Start};
use crate::util::{Done, Sandbox, brk, finish, until, words_of};

pub struct Server {
    sandbox: Sandbox,
    port: u16,
    options: Vec<String>,
    child: Running,
}

/// A machine as `brk` sees it: a state directory, and the store that is configured there.
pub struct Host<'a> {
    sandbox: &'a Sandbox,
    state: PathBuf,
    store: String,
}

impl Server {
    pub fn start() -> Server {
        Server::start_with(&[])
    }

    /// With more options of `redis-server`.
    pub fn start_with(options: &[&str]) -> Server {
        let sandbox = Sandbox::new();
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        // Between looking for a free port and using it another may take it: then the next one.
        for _ in 0..50 {
            let port = free_port();
            let mut child = launch(&sandbox, port, &options);
            let mut ended = false;
            until("the server answers or gives up", || {
                ended = child.try_wait().expect("wait").is_some();
                ended || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
            });
            if !ended {
                return Server { sandbox, port, options, child };
            }
        }
        panic!("no port for redis-server; its log:\n{}", sandbox.read("log"));
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// What `redis-cli` says to these words.
    pub fn cli(&self, words: &[&str]) -> String {
        let mut command = self.sandbox.command("redis-cli");
        command.args(["-p", &self.port.to_string()]).args(words);
        let done = finish(command);
        done.code(0);
        done.stdout().trim_end().to_owned()
    }

    /// Sends a signal to the server.
    pub fn signal(&self, signal: &str) {
        self.child.signal(signal);
    }

    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The same server again, empty.
    pub fn restart(&mut self) {
        self.child = launch(&self.sandbox, self.port, &self.options);
        let port = self.port;
        until("the server answers again", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    pub fn host<'a>(&self, sandbox: &'a Sandbox, name: &str) -> Host<'a> {
        Host::new(sandbox, name, &self.url())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<'a> Host<'a> {
    /// An empty URL is a host that has only its own files.
    pub fn new(sandbox: &'a Sandbox, name: &str, store: &str) -> Host<'a> {
        Host { sandbox, state: sandbox.file(&format!("host-{name}")), store: store.to_owned() }
    }

    /// The same host with another store, or with none.
    pub fn with_store(&self, store: &str) -> Host<'a> {
        Host { sandbox: self.sandbox, state: self.state.clone(), store: store.to_owned() }
    }

    pub fn brk(&self) -> Command {
        let mut command = self.sandbox.command(brk());
        command.env("BRK_STATE_DIR", &self.state).env("BRK_STORE", &self.store);
        command
    }

    pub fn run(&self, words: &[&str]) -> Done {
        let mut command = self.brk();
        command.args(words);
        finish(command)
    }

    /// Starts it with piped streams.
    pub fn spawn(&self, words: &[&str]) -> Running {
        self.brk().args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).start()
    }

    pub fn status(&self, name: &str) -> serde_json::Value {
        self.run(&["status", "--json", "--", name]).breaker()
    }

    /// The words of the events of `brk history NAME`.
    pub fn events(&self, name: &str) -> Vec<String> {
        words_of(&self.run(&["history", "--json", "-n", "1000000", "--", name]).entries())
    }

    /// Waits until the next run may probe.
    pub fn until_due(&self, name: &str) {
        until("the cooldown is over", || self.status(name)["retry_in_ms"] == 0);
    }

    /// Every byte in this host's state directory, as text.
    pub fn everything_kept(&self) -> String {
        let entries = std::fs::read_dir(&self.state).into_iter().flatten();
        let read =
            |path: PathBuf| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        entries.map(|entry| read(entry.expect("an entry").path())).collect()
    }
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn launch(sandbox: &Sandbox, port: u16, options: &[String]) -> Running {
    let mut command = sandbox.command("redis-server");
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(["--logfile", "log", "--tcp-backlog", "1024"])
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.start()
}
