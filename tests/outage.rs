//! An outage from beginning to end: a real server on loopback goes down and comes back, and a guarded client meets it.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::process::{Running, Start};
use crate::tools::needs;
use crate::util::{Sandbox, until};

struct Server {
    child: Running,
    port: u16,
}

impl Server {
    /// Starts the web server of Python's library; every request leaves a line in `log`. It listens when this returns.
    fn start(sandbox: &Sandbox, port: u16) -> Server {
        let log =
            std::fs::File::options().create(true).append(true).open(sandbox.file("log")).expect("a log");
        let script = "import sys, http.server as h\n\
            s = h.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), h.SimpleHTTPRequestHandler)\n\
            print(s.server_port, flush=True)\n\
            s.serve_forever()";
        let mut command = Command::new("python3");
        command.args(["-c", script, &port.to_string()]).current_dir(sandbox.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.start();
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a port");
        Server { child, port: line.trim().parse().expect("a port") }
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn requests(sandbox: &Sandbox) -> usize {
    sandbox.read("log").lines().filter(|line| line.contains("GET /")).count()
}

#[test]
fn an_outage_from_beginning_to_end() {
    needs!("curl", "python3");
    let sandbox = Sandbox::new();
    sandbox.write("answer", "42\n");
    let mut server = Server::start(&sandbox, 0);
    let port = server.port;
    let url = format!("http://127.0.0.1:{port}/answer");
    let fetch = || {
        sandbox.run(&[
            "run",
            "--name",
            "api",
            "--profile",
            "curl",
            "--failures",
            "2",
            "--cooldown",
            "3s",
            "--jitter",
            "0",
            "--timeout",
            "30s",
            "--",
            "curl",
            "-fsS",
            "--noproxy",
            "*",
            &url,
        ])
    };
    // Up.
    let done = fetch();
    assert_eq!(done.code(0).stdout(), "42\n");
    assert_eq!(requests(&sandbox), 1);
    // Down: curl's own word for a refused connection comes through.
    server.stop();
    fetch().code(7);
    fetch().code(7);
    assert_eq!(sandbox.status("api")["phase"], "open");
    // Up again, but within the cooldown nobody finds out: no connection is tried.
    let mut server = Server::start(&sandbox, port);
    fetch().code(75).says("open after 2 failures (last: exit 7)");
    assert_eq!(requests(&sandbox), 1, "a refused client has asked the server");
    // Down once more when the cooldown ends: one probe, and a longer wait.
    server.stop();
    until("the cooldown is over", || sandbox.run(&["check", "api"]).status().code() == Some(0));
    fetch().code(7);
    let status = sandbox.status("api");
    assert_eq!(
        (&status["phase"], &status["cooldown_ms"], &status["level"]),
        (&"open".into(), &6000.into(), &1.into())
    );
    // Up for good.
    let _server = Server::start(&sandbox, port);
    until("the cooldown is over", || sandbox.run(&["check", "api"]).status().code() == Some(0));
    assert_eq!(fetch().code(0).stdout(), "42\n");
    assert_eq!(fetch().code(0).stdout(), "42\n");
    assert_eq!(requests(&sandbox), 3);
    let status = sandbox.status("api");
    assert_eq!((&status["phase"], &status["totals"]["probes"]), (&"closed".into(), &2.into()));
    assert_eq!(
        sandbox.events("api"),
        [
            "success",
            "failure",
            "failure",
            "opened",
            "refused",
            "half-open",
            "failure",
            "opened",
            "half-open",
            "success",
            "closed",
            "success"
        ]
    );
}

/// A server that listens and never answers is an outage as well.
#[test]
fn a_server_that_hangs() {
    needs!("curl", "python3");
    let sandbox = Sandbox::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let url = format!("http://127.0.0.1:{port}/");
    let words = [
        "run",
        "--name",
        "api",
        "--profile",
        "curl",
        "--failures",
        "1",
        "--cooldown",
        "1h",
        "--timeout",
        "300ms",
        "--",
        "curl",
        "-fsS",
        "--noproxy",
        "*",
        &url,
    ];
    sandbox.run(&words).code(124);
    sandbox.run(&words).code(75).says("timed out");
    // Whoever connected is in the queue: the client that timed out, perhaps, and nobody else.
    listener.set_nonblocking(true).expect("non-blocking");
    let clients: Vec<TcpStream> = listener.incoming().map_while(Result::ok).collect();
    assert!(clients.len() <= 1, "{} connections", clients.len());
    assert_eq!(sandbox.status("api")["totals"]["timeout"], 1);
}
