//! A shared store that cannot be used: the run goes on with the host's own files, in time, with one warning, and is
//! guarded no less than on one host alone.

use std::time::{Duration, Instant};

use crate::server::{Host, Server, free_port};
use crate::tools::needs;
use crate::util::{Done, Sandbox, until, until_file};

const FAIL: [&str; 9] = ["run", "--name", "x", "--failures", "2", "--", "sh", "-c", "exit 7"];
const PASS: [&str; 5] = ["run", "--name", "x", "--", "true"];

/// Well above the promised second, for a machine that is busy with other things; far below any system's own patience.
const IN_TIME: Duration = Duration::from_secs(8);

#[track_caller]
fn warns_once(done: &Done, why: &str) {
    done.says(why);
    assert_eq!(done.stderr().matches("warning").count(), 1, "{}", done.all());
}

/// What must hold on a host whose store is in trouble. Nothing has happened to `x` there yet.
fn check(host: &Host, why: &str) {
    let start = Instant::now();
    let done = host.run(&FAIL);
    warns_once(done.code(7), why);
    assert!(start.elapsed() < IN_TIME, "after {:?}", start.elapsed());
    warns_once(host.run(&FAIL).code(7), why);
    // Never weaker than one host alone.
    let refused = host.run(&PASS);
    warns_once(refused.code(75).says("open after 2 failures"), why);

    let refuse = host.run(&["run", "--name", "x", "--on-store-error", "refuse", "--", "touch", "launched"]);
    refuse.code(125).says(why);
    let unguarded = host.run(&["run", "--name", "x", "--on-store-error", "run", "--", "sh", "-c", "exit 3"]);
    warns_once(unguarded.code(3), "running unguarded");

    warns_once(host.run(&["status", "x"]).code(0).prints("open"), why);
    warns_once(host.run(&["check", "x"]).code(75), why);
    warns_once(host.run(&["history", "x"]).code(0).prints("stays on this host"), why);
    let status = host.status("x");
    assert!(status["store"].as_str().is_some_and(|store| store.starts_with("file:")), "{status}");
    for words in
        [&["reset", "x"][..], &["trip", "x"], &["hold", "x", "open"], &["release", "x"], &["forget", "x"]]
    {
        host.run(words).code(1).says(why);
    }
    assert_eq!(host.with_store("").status("x")["phase"], "open");
    let events = host.with_store("").events("x");
    assert_eq!(events, ["store-lost", "failure", "failure", "opened", "refused"]);
}

/// When it is over the store is used again, without a word.
fn check_over(host: &Host) {
    host.run(&["run", "--name", "y", "--", "true"]).code(0).quiet();
    assert!(host.status("y")["store"].as_str().is_some_and(|store| store.starts_with("redis:")));
}

#[test]
fn nobody_listens() {
    let sandbox = Sandbox::new();
    let url = format!("redis://127.0.0.1:{}", free_port());
    check(&Host::new(&sandbox, "one", &url), "connection refused");
}

#[test]
fn no_such_host() {
    let sandbox = Sandbox::new();
    check(
        &Host::new(&sandbox, "one", "redis://store.invalid"),
        "the shared store redis://store.invalid:6379/0 cannot be used: no such host: store.invalid",
    );
}

#[test]
fn something_else_that_answers() {
    let sandbox = Sandbox::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("redis://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = std::io::Write::write_all(
                &mut stream.expect("a connection"),
                b"HTTP/1.1 400 Bad Request\r\n\r\n",
            );
        }
    });
    check(&Host::new(&sandbox, "one", &url), "cannot be used");
}

/// Each byte comes well within a second, and the answer never.
#[test]
fn an_answer_that_drips() {
    let sandbox = Sandbox::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("redis://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            std::thread::spawn(move || {
                while std::io::Write::write_all(&mut stream, b"+").is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
        }
    });
    check(&Host::new(&sandbox, "one", &url), "no answer within a second");
}

/// More than any answer of ours can be.
#[test]
fn an_answer_without_an_end() {
    let sandbox = Sandbox::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("redis://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            std::thread::spawn(move || {
                let _ = std::io::Write::write_all(&mut stream, b"$900000000\r\n");
                while std::io::Write::write_all(&mut stream, &[b'x'; 65536]).is_ok() {}
            });
        }
    });
    check(&Host::new(&sandbox, "one", &url), "a reply above 4 MiB");
}

#[test]
fn stopped_and_continued() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    server.signal("STOP");
    check(&host, "no answer within a second");
    server.signal("CONT");
    check_over(&host);
}

#[test]
fn a_wrong_password_and_none() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start_with(&["--requirepass", "right-secret"]));
    let url = |user: &str| format!("redis://{user}127.0.0.1:{}", server.port());
    check(&Host::new(&sandbox, "one", &url(":wrong-secret@")), "does not accept the password");
    check(&Host::new(&sandbox, "two", &url("")), "asks for a password");
    check_over(&Host::new(&sandbox, "one", &url(":right-secret@")));
}

#[test]
fn out_of_memory() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    check(&host, "out of memory");
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    check_over(&host);
}

#[test]
fn out_of_memory_with_a_closed_breaker_there() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    server.host(&sandbox, "other").run(&PASS).code(0);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    // To be read as closed for ever, and never to be told of a failure, would be weaker than a host alone.
    let host = server.host(&sandbox, "one");
    for _ in 0..2 {
        warns_once(host.run(&FAIL).code(7), "out of memory");
    }
    warns_once(host.run(&PASS).code(75), "out of memory");
}

#[test]
fn a_replica_that_takes_no_writes() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server, primary) = (Sandbox::new(), Server::start(), Server::start());
    primary.host(&sandbox, "other").run(&PASS).code(0);
    server.cli(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    until("the replica has a copy", || server.cli(&["EXISTS", "brk:{x}"]) == "1");
    let host = server.host(&sandbox, "one");
    for _ in 0..2 {
        warns_once(host.run(&FAIL).code(7), "read-only replica");
    }
    warns_once(host.run(&PASS).code(75), "read-only replica");
    // What is shown is what a run would go by.
    warns_once(host.run(&["check", "x"]).code(75), "read-only replica");
    warns_once(host.run(&["status"]).code(0).prints("open"), "read-only replica");
    host.run(&["trip", "x"]).code(1).says("read-only replica");
    server.cli(&["REPLICAOF", "NO", "ONE"]);
    host.run(&PASS).code(0).quiet();
}

#[test]
fn something_else_at_the_key() {
    needs!("redis-server", "redis-cli");
    for value in
        [&["SET", "brk:{x}", "hello"][..], &["HSET", "brk:{x}", "a", "b"], &["LPUSH", "brk:{x}", "1"]]
    {
        let (sandbox, server) = (Sandbox::new(), Server::start());
        let host = server.host(&sandbox, "one");
        server.cli(value);
        check(&host, "the key does not hold a breaker");
        host.run(&["status"]).code(0).says("brk: x: warning: ");
        assert_eq!(server.cli(&["DBSIZE"]), "1", "it is left alone");
        check_over(&host);
    }
}

#[test]
fn something_else_at_the_key_of_the_history() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    server.cli(&["SET", "brk:{x}:history", "hello"]);
    let done = host.run(&FAIL);
    warns_once(done.code(7), "the key does not hold a breaker");
    // Nothing is half written: the failure is in the host's own files, and only there.
    assert_eq!(host.with_store("").status("x")["totals"]["failure"], 1);
}

#[test]
fn a_newer_format() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    let state = "{\"v\":99,\"anything\":true}";
    server.cli(&["HSET", "brk:{x}", "stamp", "0", "state", state]);
    check(&host, "format version 99");
    assert_eq!(server.cli(&["HGET", "brk:{x}", "state"]), state, "never overwritten");
}

#[test]
fn a_password_file_that_is_not_there() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    let done = host.run(&[
        "--store-password-file",
        "/nonexistent",
        "run",
        "--name",
        "x",
        "--",
        "sh",
        "-c",
        "exit 7",
    ]);
    warns_once(done.code(7), "cannot read its password from /nonexistent");
}

#[test]
fn an_opening_that_was_seen_holds_when_the_store_is_gone() {
    needs!("redis-server", "redis-cli");
    let (sandbox, mut server) = (Sandbox::new(), Server::start());
    let (one, two) = (server.host(&sandbox, "one"), server.host(&sandbox, "two"));
    let three = server.host(&sandbox, "three");
    for _ in 0..2 {
        one.run(&FAIL).code(7).quiet();
    }
    two.run(&PASS).code(75);
    server.stop();
    for host in [&one, &two] {
        warns_once(host.run(&PASS).code(75).says("open after 2 failures"), "connection refused");
    }
    // A host that has seen nothing knows nothing.
    warns_once(three.run(&PASS).code(0), "connection refused");
    server.restart();
    one.run(&PASS).code(0).quiet();
    assert_eq!(
        one.with_store("").status("x")["phase"],
        "closed",
        "what was copied is closed with its original"
    );
    let events = one.with_store("").events("x");
    assert_eq!(events, ["opened", "store-lost", "refused", "store-back", "closed"]);
}

#[test]
fn an_override_that_was_seen_holds_too() {
    needs!("redis-server", "redis-cli");
    let (sandbox, mut server) = (Sandbox::new(), Server::start());
    let (one, two) = (server.host(&sandbox, "one"), server.host(&sandbox, "two"));
    one.run(&["hold", "x", "open", "--reason", "moving"]).code(0);
    two.run(&PASS).code(75);
    server.stop();
    warns_once(two.run(&PASS).code(75).says("held open"), "connection refused");
    server.restart();
    two.run(&PASS).code(0).quiet();
    server.stop();
    warns_once(two.run(&PASS).code(0), "connection refused");
}

#[test]
fn lost_in_mid_run() {
    needs!("redis-server", "redis-cli");
    let (sandbox, mut server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    host.run(&PASS).code(0);
    let script = "echo > begun; while [ ! -e go ]; do sleep 0.05; done; exit 7";
    let run = host.spawn(&["run", "--name", "x", "--", "sh", "-c", script]);
    until_file(&sandbox.file("begun"));
    server.stop();
    sandbox.write("go", "");
    warns_once(run.finish().code(7), "connection refused");
    let own = host.with_store("");
    assert_eq!(own.events("x"), ["store-lost", "failure"]);
    assert_eq!((&own.status("x")["streak"], &own.status("x")["totals"]["late"]), (&1.into(), &0.into()));
}

#[test]
fn restarted_empty_in_mid_run() {
    needs!("redis-server", "redis-cli");
    let (sandbox, mut server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    host.run(&PASS).code(0);
    let script = "echo > begun; while [ ! -e go ]; do sleep 0.05; done; exit 7";
    let run = host.spawn(&["run", "--name", "x", "--", "sh", "-c", script]);
    until_file(&sandbox.file("begun"));
    server.stop();
    server.restart();
    sandbox.write("go", "");
    run.finish().code(7).quiet();
    // Of a breaker that is gone: as if it had been forgotten.
    assert_eq!(host.events("x"), ["late"]);
    assert_eq!(host.status("x")["phase"], "closed");
}

#[test]
fn back_in_mid_run() {
    needs!("redis-server", "redis-cli");
    let (sandbox, mut server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    server.stop();
    let script = "echo > begun; while [ ! -e go ]; do sleep 0.05; done; exit 7";
    let run = host.spawn(&["run", "--name", "x", "--", "sh", "-c", script]);
    until_file(&sandbox.file("begun"));
    server.restart();
    sandbox.write("go", "");
    warns_once(run.finish().code(7), "connection refused");
    // Who admits a run hears how it ended.
    assert_eq!(host.with_store("").events("x"), ["store-lost", "failure"]);
    host.run(&["status", "x"]).code(1).says("no such breaker");
}

#[test]
fn stopped_in_the_middle_of_a_storm() {
    needs!("redis-server", "redis-cli");
    let (sandbox, mut server) = (Sandbox::new(), Server::start());
    let hosts = [server.host(&sandbox, "one"), server.host(&sandbox, "two")];
    let words = ["run", "--name", "x", "--failures", "0", "--", "sh", "-c", "echo ran >> runs; exit 7"];
    let start = |index: usize| hosts[index % 2].spawn(&words);
    let mut runs: Vec<_> = (0..30).map(start).collect();
    until("some have run", || sandbox.read("runs").lines().count() >= 10);
    server.stop();
    runs.extend((30..40).map(start));
    for run in runs {
        run.finish().code(7);
    }
    assert_eq!(sandbox.read("runs").lines().count(), 40);
}

#[test]
fn a_run_that_makes_attempts_warns_once() {
    let sandbox = Sandbox::new();
    let host = Host::new(&sandbox, "one", &format!("redis://127.0.0.1:{}", free_port()));
    let words =
        ["run", "--name", "x", "--failures", "9", "--retries", "3", "--retry-delay", "1ms", "--", "false"];
    warns_once(host.run(&words).code(1), "connection refused");
    assert_eq!(host.with_store("").status("x")["totals"]["failure"], 4);
}
