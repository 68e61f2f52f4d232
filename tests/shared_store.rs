//! One breaker for many hosts: a real server, and hosts as state directories.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::process::{Start, send_signal};
use crate::server::{Host, Server};
use crate::tools::needs;
use crate::util::{Sandbox, until, until_file};

const FAIL: [&str; 7] = ["run", "--name", "x", "--", "sh", "-c", "exit 7"];
const PASS: [&str; 5] = ["run", "--name", "x", "--", "true"];

fn open(host: &Host, flags: &[&str]) {
    let words = [&["run", "--name", "x", "--failures", "1"], flags, &["--", "sh", "-c", "exit 7"]].concat();
    host.run(&words).code(7);
    assert_eq!(host.status("x")["phase"], "open");
}

#[test]
fn an_opening_on_one_host_refuses_on_all() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let (one, two) = (server.host(&sandbox, "one"), server.host(&sandbox, "two"));
    for _ in 0..3 {
        one.run(&FAIL).code(7).quiet();
    }
    two.run(&PASS).code(75).says("open after 3 failures (last: exit 7)");
    one.run(&PASS).code(75);
    two.run(&["check", "x"]).code(75);
    let status = two.status("x");
    assert_eq!(status["store"], format!("redis://127.0.0.1:{}/0", server.port()));
    assert_eq!(status["totals"]["refused"], 2);
    assert_eq!(status["totals"]["launched"], 3);
    assert_eq!(two.events("x"), ["failure", "failure", "failure", "opened", "refused"]);
    let history = two.run(&["history", "x", "--json", "-n", "1"]);
    history.prints("\"count\":2");
}

#[test]
fn one_probe_among_two_hosts_and_sixteen_candidates() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let hosts = [server.host(&sandbox, "one"), server.host(&sandbox, "two")];
    open(&hosts[0], &["--cooldown", "100ms", "--jitter", "0"]);
    hosts[1].until_due("x");
    // The one that is admitted stays until all others have been turned away.
    let script = "echo probe >> probes; while [ ! -e go ]; do sleep 0.05; done";
    let start = |index: usize| hosts[index % 2].spawn(&["run", "--name", "x", "--", "sh", "-c", script]);
    let mut runs: Vec<_> = (0..16).map(start).collect();
    let mut refused = 0;
    until("15 are refused", || {
        runs.retain_mut(|run| match run.try_wait().expect("wait") {
            Some(status) => {
                assert_eq!(status.code(), Some(75));
                refused += 1;
                false
            }
            None => true,
        });
        refused == 15
    });
    sandbox.write("go", "");
    runs.remove(0).finish().code(0).quiet();
    assert_eq!(sandbox.read("probes"), "probe\n");
    let status = hosts[0].status("x");
    assert_eq!((&status["phase"], &status["totals"]["probes"]), (&"closed".into(), &1.into()), "{status}");
}

#[test]
fn forty_failures_at_once_are_counted_as_forty() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let hosts = [server.host(&sandbox, "one"), server.host(&sandbox, "two")];
    let words = ["run", "--name", "x", "--failures", "1000", "--", "sh", "-c", "exit 7"];
    let runs: Vec<_> = (0..40).map(|index| hosts[index % 2].spawn(&words)).collect();
    for run in runs {
        run.finish().code(7).quiet();
    }
    let status = hosts[0].status("x");
    assert_eq!(status["totals"]["failure"], 40, "{status}");
    assert_eq!(status["streak"], 40);
    assert_eq!(status["window"]["total"], 20);
    assert_eq!(hosts[1].events("x").len(), 40);
}

#[test]
fn a_dead_hosts_place_is_free_when_the_lease_ends_and_not_before() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let (one, two) = (server.host(&sandbox, "one"), server.host(&sandbox, "two"));
    open(&one, &["--cooldown", "1ms", "--jitter", "0"]);
    one.until_due("x");
    let prober = one.spawn(&["run", "--name", "x", "--", "sh", "-c", "echo $$ > pid; exec sleep 600"]);
    until_file(&sandbox.file("pid"));
    prober.kill_9();
    // Nobody renews it any more: its end is the server's word for when the place is free.
    let lease = server.cli(&["HGETALL", "brk:{x}"]);
    let lease = lease.lines().skip_while(|line| !line.starts_with("lease:")).nth(1);
    let end: u64 = lease.and_then(|text| text.parse().ok()).expect("the end of a lease");
    let server_now = || {
        let time = server.cli(&["TIME"]);
        let (seconds, micros) = time.split_once('\n').expect("two lines");
        seconds.parse::<u64>().expect("seconds") * 1000 + micros.parse::<u64>().expect("micros") / 1000
    };
    let left = end.saturating_sub(server_now());
    assert!(left > 0 && left <= 15_000, "{left} ms of the lease are left");
    let mut refused = 0;
    until("another may probe", || {
        let done = two.run(&["run", "--name", "x", "--", "sh", "-c", "exit 0"]);
        match done.status().code() {
            // On a busy machine the server may not have answered within its second: then this host knew only itself.
            _ if done.stderr().contains("warning") => false,
            Some(75) => {
                done.says("being probed");
                refused += 1;
                false
            }
            _ => {
                done.code(0).quiet();
                true
            }
        }
    });
    let now = server_now();
    assert!(now >= end, "free {} ms before the lease's end, after {refused} refusals", end - now);
    assert!(refused > 1);
    let events = two.events("x");
    assert!(events.contains(&"lost".to_owned()), "{events:?}");
    assert_eq!(two.status("x")["totals"]["lost"], 1);
    assert_eq!(two.status("x")["phase"], "closed");
}

/// A killed probe on a host; its command takes no notice and lives on. Its lease is as if 15 seconds had passed.
fn orphaned(host: &Host, sandbox: &Sandbox, server: &Server, flags: &[&str]) -> u32 {
    open(host, &["--cooldown", "1ms", "--jitter", "0"]);
    host.until_due("x");
    let script = "trap '' TERM; echo $$ > pid; exec sleep 600";
    let words = [&["run", "--name", "x"], flags, &["--", "sh", "-c", script]].concat();
    let prober = host.spawn(&words);
    let command: u32 = until_file(&sandbox.file("pid")).trim().parse().expect("a number");
    // The command may be there before brk has noted that it is.
    until("the command is noted", || host.status("x")["probes"][0]["command_pid"] == command);
    prober.kill_9();
    host.run(&PASS).code(75).says(&format!("processes left from its probe: {command}"));
    let lease = server.cli(&["HKEYS", "brk:{x}"]);
    let lease = lease.lines().find(|field| field.starts_with("lease:")).expect("a lease");
    server.cli(&["HSET", "brk:{x}", lease, "1"]);
    command
}

#[test]
fn what_outlives_a_killed_probe_keeps_its_place_on_its_host() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    let command = orphaned(&host, &sandbox, &server, &[]);
    let left = format!("was killed; processes left from its probe: {command}");
    host.run(&PASS).code(75).says(&left);
    host.run(&["check", "x"]).code(75).prints(&left);
    let status = host.status("x");
    assert_eq!(status["probes"][0]["survivors"], serde_json::json!([command]), "{status}");
    send_signal(command, "KILL");
    until("the place is free", || host.run(&["check", "x"]).status().code() == Some(0));
    host.run(&PASS).code(0).quiet();
    let totals = host.status("x")["totals"].clone();
    assert_eq!((&totals["launched"], &totals["lost"]), (&3.into(), &1.into()), "{totals}");
}

#[test]
fn what_outlives_a_killed_probe_is_unknown_to_other_hosts() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let (one, two) = (server.host(&sandbox, "one"), server.host(&sandbox, "two"));
    let command = orphaned(&one, &sandbox, &server, &[]);
    two.run(&PASS).code(0).quiet();
    // And the first one goes by what the other has found.
    one.run(&PASS).code(0).quiet();
    let totals = two.status("x")["totals"].clone();
    assert_eq!((&totals["launched"], &totals["lost"]), (&4.into(), &1.into()), "{totals}");
    send_signal(command, "KILL");
}

#[test]
fn what_outlives_a_killed_probe_and_its_deadline_is_ended() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    let command = orphaned(&host, &sandbox, &server, &["--timeout", "1s", "--kill-after", "0"]);
    until("the deadline has passed", || host.run(&PASS).status().code() == Some(0));
    let stat = std::fs::read_to_string(format!("/proc/{command}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z"), "{stat}");
    assert_eq!(host.status("x")["phase"], "closed");
}

#[test]
fn a_reset_frees_what_is_kept_on_a_host() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    let command = orphaned(&host, &sandbox, &server, &[]);
    host.run(&["reset", "x"]).code(0);
    open(&host, &["--cooldown", "1ms", "--jitter", "0"]);
    host.until_due("x");
    host.run(&PASS).code(0).quiet();
    send_signal(command, "KILL");
}

#[test]
fn a_slow_probe_keeps_its_place() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let (one, two) = (server.host(&sandbox, "one"), server.host(&sandbox, "two"));
    open(&one, &["--cooldown", "1ms", "--jitter", "0"]);
    one.until_due("x");
    let script = "echo > begun; while [ ! -e go ]; do sleep 0.1; done";
    let prober = one.spawn(&["run", "--name", "x", "--", "sh", "-c", script]);
    until_file(&sandbox.file("begun"));
    // When the lease ends, as the server has it; it has been renewed when that has grown twice.
    let ends = || {
        server
            .cli(&["HGETALL", "brk:{x}"])
            .lines()
            .skip_while(|line| !line.starts_with("lease:"))
            .nth(1)
            .map(str::to_owned)
    };
    let first: u64 = ends().expect("a lease").parse().expect("milliseconds");
    until("the first lease would have ended", || {
        let now = server.cli(&["TIME"]).lines().next().and_then(|line| line.parse::<u64>().ok());
        now.expect("the time") * 1_000 > first + 1_000
    });
    let later: u64 = ends().expect("a lease").parse().expect("milliseconds");
    assert!(later > first, "{later} {first}");
    two.run(&PASS).code(75).says("being probed");
    assert_eq!(two.status("x")["probes"].as_array().map(Vec::len), Some(1));
    sandbox.write("go", "");
    prober.finish().code(0).quiet();
    let status = two.status("x");
    assert_eq!((&status["phase"], &status["totals"]["lost"]), (&"closed".into(), &0.into()), "{status}");
    assert!(!server.cli(&["HKEYS", "brk:{x}"]).contains("lease:"));
}

#[test]
fn who_has_lost_the_lease_is_late() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let (one, two) = (server.host(&sandbox, "one"), server.host(&sandbox, "two"));
    open(&one, &["--cooldown", "1ms", "--jitter", "0", "--probe-successes", "2"]);
    one.until_due("x");
    let words = ["run", "--name", "x", "--probe-successes", "2", "--", "sh", "-c"];
    let script = "echo > begun; while [ ! -e go ]; do sleep 0.05; done";
    let prober = one.spawn(&[&words[..], &[script]].concat());
    until_file(&sandbox.file("begun"));
    // As if the holder had not been heard of for the length of a lease.
    let lease = server.cli(&["HKEYS", "brk:{x}"]);
    let lease = lease.lines().find(|field| field.starts_with("lease:")).expect("a lease");
    server.cli(&["HSET", "brk:{x}", lease, "1"]);
    assert_eq!(two.status("x")["probes"], serde_json::json!([]));
    // The next probe succeeds in the same place and the same generation, and does not close yet.
    two.run(&[&words[..], &["exit 0"]].concat()).code(0);
    sandbox.write("go", "");
    prober.finish().code(0);
    let status = two.status("x");
    assert_eq!(status["phase"], "half-open", "{status}");
    assert_eq!((&status["totals"]["lost"], &status["totals"]["late"]), (&1.into(), &1.into()), "{status}");
    // The one that opened it, and both probes; the lost one is not counted again when it is heard of.
    assert_eq!(status["totals"]["launched"], 3, "{status}");
    let events = two.events("x");
    assert_eq!(events.iter().filter(|word| *word == "late").count(), 1, "{events:?}");
}

#[test]
fn a_run_whose_breaker_was_forgotten_is_late() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let (one, two) = (server.host(&sandbox, "one"), server.host(&sandbox, "two"));
    let script = "echo > begun; while [ ! -e go ]; do sleep 0.05; done; exit 7";
    let run = one.spawn(&["run", "--name", "x", "--", "sh", "-c", script]);
    until_file(&sandbox.file("begun"));
    two.run(&["forget", "x"]).code(0).prints("x: closed -> forgotten");
    two.run(&PASS).code(0);
    sandbox.write("go", "");
    run.finish().code(7);
    assert_eq!(two.events("x"), ["success", "late"]);
    assert_eq!(two.status("x")["streak"], 0);
}

#[test]
fn all_commands_work_on_the_store() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let (one, two) = (server.host(&sandbox, "one"), server.host(&sandbox, "two"));
    one.run(&["trip", "x", "--for", "1h", "--reason", "upgrade"]).code(0);
    two.run(&PASS).code(75).says("upgrade");
    two.run(&["reset", "x"]).code(0).prints("x: open -> closed");
    one.run(&PASS).code(0).quiet();
    two.run(&["hold", "x", "open", "--reason", "moving"]).code(0);
    one.run(&PASS).code(75).says("held open");
    two.run(&["release", "x"]).code(0);
    one.run(&PASS).code(0).quiet();
    assert_eq!(
        two.events("x"),
        ["tripped", "refused", "reset", "success", "held", "refused", "released", "success"]
    );
    two.run(&["forget", "x"]).code(0);
    one.run(&["status", "x"]).code(1).says("no such breaker");
    assert_eq!(server.cli(&["KEYS", "*"]), "");
}

#[test]
fn every_name_has_a_breaker_of_its_own() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    let long = "/".repeat(128);
    let names = ["a/b", "..", "*", "a}b", "{", "ünï", "x:history", "X", "x", long.as_str()];
    for name in names {
        host.run(&["run", "--name", name, "--", "false"]).code(1).quiet();
        assert_eq!(host.status(name)["totals"]["failure"], 1, "{name}");
    }
    let done = host.run(&["status", "--json"]);
    done.code(0);
    let value: serde_json::Value = serde_json::from_str(&done.stdout()).expect("JSON");
    let mut found: Vec<_> = value["breakers"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|breaker| breaker["name"].as_str().expect("a name"))
        .collect();
    found.sort_unstable();
    let mut expected = names;
    expected.sort_unstable();
    assert_eq!(found, expected);
    host.run(&["forget", "*"]).code(0);
    assert_eq!(host.status("x")["name"], "x");
    // Both keys of a breaker are in one slot of a cluster.
    for key in server.cli(&["KEYS", "*"]).lines() {
        assert!(key.starts_with("brk:{") && (key.ends_with('}') || key.ends_with("}:history")), "{key}");
    }
}

#[test]
fn the_history_does_not_grow_for_ever() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    host.run(&PASS).code(0);
    let fill = "local entry = redis.call('XRANGE', KEYS[1], '-', '+')[1][2][2] \
        for _ = 1, 12000 do redis.call('XADD', KEYS[1], '*', 'entry', entry) end";
    server.cli(&["EVAL", fill, "1", "brk:{x}:history"]);
    host.run(&PASS).code(0);
    let length: u64 = server.cli(&["XLEN", "brk:{x}:history"]).parse().expect("a number");
    assert!((10_000..10_200).contains(&length), "{length}");
    assert_eq!(host.events("x").len() as u64, length);
}

#[test]
fn a_crowd_of_hundreds_is_counted_to_the_last() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let hosts = [server.host(&sandbox, "one"), server.host(&sandbox, "two")];
    open(&hosts[0], &["--cooldown", "1h"]);
    let runs: Vec<_> = (0..300).map(|index| hosts[index % 2].spawn(&PASS)).collect();
    for run in runs {
        run.finish().code(75);
    }
    let status = hosts[0].status("x");
    // A host that had to wait for more than a second has counted in its own files.
    let own = |host: &Host| host.with_store("").status("x")["totals"]["refused"].as_u64().unwrap_or(0);
    let refused = status["totals"]["refused"].as_u64().expect("a number");
    assert_eq!(refused + own(&hosts[0]) + own(&hosts[1]), 300, "{status}");
    assert!(refused > 0, "{status}");
}

#[test]
fn one_look_at_many_connects_once_and_again_after_a_restart() {
    needs!("redis-server", "redis-cli");
    let (sandbox, mut server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one");
    for n in 0..20 {
        host.run(&["run", "--name", &format!("n{n}"), "--", "true"]).code(0);
    }
    let connections = |server: &Server| -> u64 {
        let info = server.cli(&["INFO", "stats"]);
        let count = info.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
        count.expect("a count").trim().parse().expect("a number")
    };
    let before = connections(&server);
    assert_eq!(host.run(&["status", "--json"]).stdout().matches("\"phase\"").count(), 20);
    // One is that of the second question.
    assert_eq!(connections(&server) - before, 2);

    // A look that is repeated goes on with a server that was started anew, and empty.
    let mut watch = host.brk();
    watch.args(["status", "--json", "--watch=100ms"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watch = watch.start();
    let mut shown = BufReader::new(watch.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    assert!(shown.any(|line| line.contains("\"closed\"")));
    server.stop();
    server.restart();
    host.run(&["trip", "new", "--for", "1d"]).code(0);
    assert!(shown.any(|line| line.contains("\"new\"")), "the watch ended");
    send_signal(watch.id(), "KILL");
    watch.wait().expect("an end");
}
