//! `--tell`: what a command says of its own run, in a file or with the headers of a response, beats its exit code.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use crate::tools::needs;
use crate::util::Sandbox;

/// A server that answers `/STATUS` with that status, and `/STATUS/VALUE` with `Retry-After: VALUE`; gives its port.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut line = String::new();
            let _ = std::io::BufRead::read_line(&mut std::io::BufReader::new(&stream), &mut line);
            let path = line.split(' ').nth(1).unwrap_or("/500").trim_start_matches('/').to_owned();
            let (status, wait) = path.split_once('/').unwrap_or((&path, ""));
            let more = match (status, wait) {
                ("301", _) => "Location: /200\r\n".to_owned(),
                (_, "") => String::new(),
                (_, wait) => format!("Retry-After: {wait}\r\n"),
            };
            let answer =
                format!("HTTP/1.1 {status} Text\r\nConnection: close\r\n{more}Content-Length: 0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

/// The words of a run with `--tell` of a shell script.
fn tell<'a>(name: &'a str, script: &'a str) -> [&'a str; 9] {
    ["run", "--name", name, "--tell", "--failures=1", "--", "sh", "-c", script]
}

/// The last outcome of a script that is run once, and the phase after it.
#[track_caller]
fn check(sandbox: &Sandbox, script: &str, code: i32, outcome: &str, phase: &str) -> serde_json::Value {
    sandbox.run(&["forget", "job"]);
    sandbox.run(&tell("job", script)).code(code);
    let status = sandbox.status("job");
    assert_eq!(status["last"]["outcome"], outcome, "{script}: {status:#}");
    assert_eq!(status["phase"], phase, "{script}: {status:#}");
    let left = std::fs::read_dir(sandbox.state()).expect("a state directory");
    let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains(".tell-")), "{script} leaves {left:?}");
    status
}

#[test]
fn a_status_beats_the_exit_code_of_curl() {
    needs!("curl");
    let (sandbox, port) = (Sandbox::new(), server());
    for (status, code, outcome) in [
        (200, 0, "success"),
        (301, 0, "success"),
        (400, 22, "ignored"),
        (401, 22, "ignored"),
        (403, 22, "ignored"),
        (404, 22, "ignored"),
        (408, 22, "failure"),
        (425, 22, "failure"),
        (429, 22, "failure"),
        (500, 22, "failure"),
        (502, 22, "failure"),
        (503, 22, "failure"),
        (504, 22, "failure"),
    ] {
        let curl = format!("curl -fsSL -D \"${{BRK_TELL:-/dev/null}}\" http://127.0.0.1:{port}/{status}");
        let phase = if outcome == "failure" { "open" } else { "closed" };
        check(&sandbox, &curl, code, outcome, phase);
    }
    let refused = "curl -fsS -D \"$BRK_TELL\" http://127.0.0.1:1/";
    check(&sandbox, refused, 7, "failure", "open");
}

#[test]
fn a_page_that_is_missing_never_opens() {
    needs!("curl");
    let (sandbox, port) = (Sandbox::new(), server());
    let curl = format!("curl -fsS -D \"$BRK_TELL\" http://127.0.0.1:{port}/404");
    for _ in 0..100 {
        sandbox.run(&tell("job", &curl)).code(22);
    }
    assert_eq!(sandbox.status("job")["phase"], "closed");
}

#[test]
fn a_time_to_come_back_opens_at_once_and_for_so_long() {
    needs!("curl");
    let (sandbox, port) = (Sandbox::new(), server());
    let curl = format!("curl -fsS -D \"$BRK_TELL\" http://127.0.0.1:{port}/429/77");
    let words = ["run", "--name", "job", "--tell", "--cooldown=1s", "--", "sh", "-c", &curl];
    sandbox.run(&words).code(22);
    let status = sandbox.status("job");
    let wait = status["cooldown_ms"].as_u64().expect("a cooldown");
    assert!((77_000..=84_700).contains(&wait), "{status:#}");
    assert_eq!((&status["phase"], &status["told_retry_after_ms"]), (&"open".into(), &77_000.into()));
    assert_eq!(status["retry_after_runs"], 0, "{status:#}");
    let refused = sandbox.run(&words);
    let text = refused.code(75).stderr();
    assert!(text.contains("open after exit 22, asked to wait 1m17s; next try in 1m"), "{text}");
    let opened = sandbox.history("job").into_iter().find(|event| event["event"] == "opened");
    assert_eq!(opened.expect("an opening")["told_retry_after_ms"], 77_000);
    assert!(sandbox.run(&["explain", "job"]).code(0).stdout().contains("asked to wait 1m17s"));
}

#[test]
fn what_is_asked_for_is_bounded_and_needs_a_failure() {
    let sandbox = Sandbox::new();
    let wait = |script: &str, max: &str| {
        sandbox.run(&["forget", "job"]);
        sandbox.run(&[
            "run",
            "--name",
            "job",
            "--tell",
            "--cooldown=1s",
            "--jitter=0",
            max,
            "--",
            "sh",
            "-c",
            script,
        ]);
        sandbox.status("job")["cooldown_ms"].as_u64()
    };
    let max = "--max-retry-after=24h";
    for (value, most, expected) in [
        ("315360000", max, Some(86_400_000)),
        ("315360000", "--max-retry-after=2m", Some(120_000)),
        ("90", max, Some(90_000)),
        ("0", max, None),
        ("Sun, 06 Nov 1994 08:49:37 GMT", max, None),
        ("garbage", max, None),
    ] {
        assert_eq!(
            wait(&format!("echo 'retry-after={value}' > $BRK_TELL; exit 1"), most),
            expected,
            "{value}"
        );
    }
    assert_eq!(wait("echo retry-after=90 > $BRK_TELL", max), None, "a success");
    assert_eq!(wait("(echo retry-after=90; echo outcome=ignored) > $BRK_TELL; exit 1", max), None, "ignored");
}

#[test]
fn the_wait_of_a_failed_probe_is_lengthened() {
    let sandbox = Sandbox::new();
    let words = |script| {
        [
            "run",
            "--name=job",
            "--tell",
            "--failures=1",
            "--cooldown=50ms",
            "--jitter=0",
            "--",
            "sh",
            "-c",
            script,
        ]
    };
    sandbox.run(&words("exit 1")).code(1);
    std::thread::sleep(Duration::from_millis(80));
    sandbox.run(&words("echo retry-after=90 > $BRK_TELL; exit 1")).code(1);
    let status = sandbox.status("job");
    assert_eq!((&status["phase"], &status["cooldown_ms"]), (&"open".into(), &90_000.into()), "{status:#}");
    let reason = status["reason"].as_str().expect("a reason");
    assert_eq!(reason, "a failed probe (last: exit 1), asked to wait 1m30s");
    assert_eq!(status["level"], 1);
}

#[test]
fn what_is_said_beats_the_exit_code() {
    let sandbox = Sandbox::new();
    check(&sandbox, "echo outcome=failure > $BRK_TELL", 0, "failure", "open");
    check(&sandbox, "echo outcome=success > $BRK_TELL; exit 3", 3, "success", "closed");
    check(&sandbox, "echo outcome=ignored > $BRK_TELL; exit 3", 3, "ignored", "closed");
    let status = check(
        &sandbox,
        "printf 'trip=1\\nreason=quota \\033[31m\\n' > $BRK_TELL; exit 4",
        4,
        "failure",
        "open",
    );
    let reason = status["reason"].as_str().expect("a reason");
    assert!(reason.contains(": quota ") && !reason.contains('\u{1b}'), "{reason:?}");
}

#[test]
fn a_check_of_a_probe_that_says_ignored_is_inconclusive() {
    let sandbox = Sandbox::new();
    let words = [
        "run",
        "--name=job",
        "--tell",
        "--failures=1",
        "--cooldown=50ms",
        "--probe=echo outcome=ignored > $BRK_TELL; exit 1",
        "--",
        "false",
    ];
    sandbox.run(&words).code(1);
    std::thread::sleep(Duration::from_millis(80));
    sandbox.run(&words).code(75);
    assert!(sandbox.events("job").contains(&"inconclusive".to_owned()), "{:?}", sandbox.events("job"));
}

#[test]
fn a_hostile_file_says_nothing_and_hinders_nobody() {
    let sandbox = Sandbox::new();
    for (script, warns) in [
        ("rm $BRK_TELL", false),
        (":", false),
        ("rm $BRK_TELL; mkfifo $BRK_TELL", true),
        ("rm $BRK_TELL; mkdir $BRK_TELL", true),
        ("rm $BRK_TELL; echo outcome=success > other; ln -s $PWD/other $BRK_TELL", true),
        ("rm $BRK_TELL; ln -s /dev/zero $BRK_TELL", true),
        ("truncate -s 10G $BRK_TELL", true),
        ("printf 'outcome=success\\n\\0' > $BRK_TELL", true),
        ("chmod 0 $BRK_TELL", !rustix::process::geteuid().is_root()),
        ("(while echo; do :; done > $BRK_TELL) & sleep 0.1; kill $!", true),
    ] {
        let script = format!("{script}; exit 9");
        check(&sandbox, &script, 9, "failure", "open");
        sandbox.run(&["forget", "job"]);
        let text = sandbox.run(&tell("job", &script)).code(9).stderr();
        assert_eq!(text.contains("BRK_TELL"), warns, "{script}: {text}");
    }
}

#[test]
fn the_file_is_private_new_for_each_attempt_and_only_there_if_wanted() {
    let sandbox = Sandbox::new();
    let script = "stat -c '%a %s' $BRK_TELL; echo $BRK_TELL >> paths; echo reason=x > $BRK_TELL; exit 1";
    let words = ["run", "--name=job", "--tell", "--retries=1", "--retry-delay=1ms", "--", "sh", "-c", script];
    assert_eq!(sandbox.run(&words).code(1).stdout(), "600 0\n600 0\n");
    let paths = sandbox.read("paths");
    let paths: Vec<_> = paths.lines().collect();
    assert!(paths.len() == 2 && paths[0] != paths[1], "{paths:?}");
    let without = ["run", "--name=other", "--", "sh", "-c", "echo ${BRK_TELL-unset}"];
    assert_eq!(sandbox.run(&without).code(0).stdout(), "unset\n");
    let nowhere =
        ["run", "--name=job", "--state-dir=/proc/none", "--tell", "--", "sh", "-c", "echo $BRK_TELL"];
    assert_eq!(sandbox.run(&nowhere).code(0).stdout(), "/dev/null\n");
}

#[test]
fn files_of_dead_runs_are_swept_and_those_of_living_ones_are_not() {
    let sandbox = Sandbox::new();
    sandbox.run(&tell("job", "true")).code(0);
    let stale = sandbox.state().join("job.tell-abcdefghijkl");
    std::fs::write(&stale, "").expect("a file");
    let inner = format!("{} run --name job --tell -- true; test -f $BRK_TELL", crate::util::brk());
    sandbox.run(&tell("job", &inner)).code(0);
    assert!(!stale.exists());
}
