//! What an operator sees and does: the table, one breaker, its past, the sentences, and what each verb says it changed.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::json::eventful;
use crate::process::{Running, Start};
use crate::tools::needs;
use crate::util::{Done, Sandbox, brk, finish, until, until_file};

/// `brk` at a terminal of this size, whose keys and screen are this child's streams.
fn at_terminal(sandbox: &Sandbox, columns: u32, words: &str) -> Running {
    let script = format!("stty cols {columns} rows 20; exec '{}' {words}", brk());
    let mut command: Command = sandbox.command("script");
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("SHELL", "/bin/sh");
    command.args(["-qec", &script, "/dev/null"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.start()
}

fn with(sandbox: &Sandbox, variables: &[(&str, &str)], words: &[&str]) -> Done {
    let mut command = sandbox.brk();
    command.envs(variables.iter().copied()).args(words);
    finish(command)
}

/// The columns of a text, escape codes left out.
fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn the_table_shows_trouble_first_and_fits() {
    let sandbox = eventful();
    let done = sandbox.run(&["status"]);
    done.code(0);
    let stdout = done.stdout();
    let lines: Vec<_> = stdout.lines().collect();
    assert!(lines[0].starts_with("NAME") && lines[0].ends_with("RECENT"), "{}", done.all());
    let first_words: Vec<_> = lines.iter().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(first_words, ["NAME", "broken", "moved", "calm", "lost", "4"], "{}", done.all());
    assert!(lines[1].contains("open") && lines[1].contains("1 failure, exit 7"), "{}", done.all());
    assert!(lines[2].contains("held closed") && lines[2].contains("line\\nand"), "{}", done.all());
    assert_eq!(lines[5], "4 breakers: 1 open, 1 held closed, 2 closed");
    assert!(widest(&stdout) <= 80 && !stdout.contains('\u{1b}'), "{}", done.all());
    assert!(lines[3].ends_with(" .-xx."), "the strip of calm\n{}", done.all());
    let unicode = with(&sandbox, &[("LANG", "en_US.UTF-8")], &["status", "c*"]);
    unicode.prints(" ▁·██▁");
}

#[test]
fn a_long_name_is_whole_in_a_pipe_and_fits_a_terminal() {
    needs!("script");
    let sandbox = Sandbox::new();
    let name = "long-".repeat(20);
    sandbox.run(&["trip", &name, "--reason", &"why ".repeat(40)]).code(0);
    sandbox.run(&["run", "--name", "b", "--", "true"]).code(0);
    let piped = sandbox.run(&["status"]);
    piped.code(0).prints(&name);
    for columns in [80, 60, 132] {
        let child = at_terminal(&sandbox, columns, "status --color never");
        let done = child.finish();
        done.code(0).prints("long-");
        assert!(widest(&done.stdout()) <= columns as usize, "{}", done.all());
    }
}

#[test]
fn colour_follows_the_usual_rules() {
    needs!("script");
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "db"]).code(0);
    let is_colored = |done: &Done| done.stdout().contains("\u{1b}[");
    for words in [&["status"][..], &["status", "db"], &["history", "db"], &["history", "db", "--timeline"]] {
        let always = [words, &["--color", "always"]].concat();
        assert!(is_colored(&with(&sandbox, &[], &always)), "{words:?}");
        assert!(is_colored(&with(&sandbox, &[("NO_COLOR", "1")], &always)), "the flag beats the variable");
        assert!(!is_colored(&with(&sandbox, &[], words)), "a pipe: {words:?}");
        let line = words.join(" ");
        let shown = at_terminal(&sandbox, 80, &line).finish();
        assert!(is_colored(&shown), "a terminal: {}", shown.all());
        let never = at_terminal(&sandbox, 80, &format!("{line} --color never")).finish();
        assert!(!is_colored(&never), "{}", never.all());
    }
    let script = format!("NO_COLOR=1 '{}' status", brk());
    let mut command = sandbox.command("script");
    command.env("TERM", "xterm").args(["-qec", &script, "/dev/null"]);
    assert!(!is_colored(&finish(command)), "NO_COLOR");
}

/// Reads a child's screen until it shows a text.
fn until_shown(child: &mut Running, seen: &mut Vec<u8>, text: &str) {
    let screen = child.stdout.as_mut().expect("a pipe");
    while !String::from_utf8_lossy(seen).contains(text) {
        let mut bytes = [0; 4096];
        let count = screen.read(&mut bytes).expect("the screen");
        assert!(count > 0, "ended without {text:?}: {}", String::from_utf8_lossy(seen));
        seen.extend_from_slice(&bytes[..count]);
    }
}

#[test]
fn watching_redraws_and_ends_on_q_or_ctrl_c() {
    needs!("script");
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "db", "--", "true"]).code(0);
    for key in ["q", "\u{3}"] {
        let mut child = at_terminal(&sandbox, 80, "status --watch=100ms --color never");
        let mut seen = Vec::new();
        until_shown(&mut child, &mut seen, "q to quit");
        seen.clear();
        sandbox.run(&["trip", "db", "--for", "1h"]).code(0);
        until_shown(&mut child, &mut seen, "open");
        seen.clear();
        sandbox.run(&["reset", "db"]).code(0);
        until_shown(&mut child, &mut seen, "closed");
        child.stdin.as_mut().expect("keys").write_all(key.as_bytes()).expect("a key");
        until_shown(&mut child, &mut seen, "\u{1b}[?25h\u{1b}[?1049l");
        let status = child.wait().expect("an end");
        assert_eq!(status.code(), Some(0), "after {key:?}");
    }
}

#[test]
fn watching_puts_the_terminal_back_when_it_is_told_to_end() {
    needs!("script");
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "db", "--", "true"]).code(0);
    let words = "status --watch=100ms & echo $! >pid; fg >/dev/null; stty -a >after";
    let script = format!("set -m; stty -a >before; '{}' {words}", brk());
    let mut command = sandbox.command("script");
    command.env("TERM", "xterm").args([
        "-qec",
        &format!("bash -c \"{}\"", script.replace('$', "\\$")),
        "/dev/null",
    ]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.start();
    let pid = until_file(&sandbox.file("pid"));
    let mut seen = Vec::new();
    until_shown(&mut child, &mut seen, "q to quit");
    let kill = sandbox.shell(&format!("kill -TERM {}", pid.trim()));
    kill.code(0);
    until_shown(&mut child, &mut seen, "\u{1b}[?25h\u{1b}[?1049l");
    until("the shell's word", || !sandbox.read("after").is_empty());
    child.wait().expect("an end");
    assert_eq!(sandbox.read("before"), sandbox.read("after"));
}

#[test]
fn one_breaker_in_full() {
    let sandbox = eventful();
    let done = sandbox.run(&["status", "broken"]);
    done.code(0);
    for text in [
        "broken: open\n",
        "reason    1 failure (last: exit 7)",
        "streak    1 of 1 failures in a row",
        "totals    1 launched: 0 success, 1 failure, 0 ignored, 0 late",
        "2 refused; opened once",
        "store     file:",
        "failures            1",
        "cooldown            1m",
        "refused    2 times: open",
        "sh: exit 7 after",
    ] {
        done.prints(text);
    }
    let held = sandbox.run(&["status", "moved"]);
    held.code(0).prints("override  held closed until 'brk release': line\\nand \\u{1b}[31mred");
    sandbox.run(&["status", "nobody"]).code(1).says("\"nobody\": no such breaker");
}

#[test]
fn the_policy_says_where_it_comes_from() {
    let sandbox = Sandbox::new();
    let config = "[defaults]\ncooldown = \"90s\"\n\n[breaker.\"db*\"]\nprobes = 2\n";
    sandbox.write("config.toml", config);
    let words = ["--config", "config.toml", "run", "--name", "db", "--failures", "5", "--", "true"];
    sandbox.run(&words).code(0);
    let done = sandbox.run(&["--config", "config.toml", "status", "db"]);
    let stdout = done.code(0).stdout();
    let stdout = &stdout[stdout.find("policy ").expect("a policy")..];
    let line = |key: &str| {
        let line = stdout.lines().find(|line| line.split_whitespace().any(|word| word == key));
        line.unwrap_or_default()
            .split_whitespace()
            .skip_while(|word| *word != key)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(line("failures"), "failures 5 # as the last run had it", "{}", done.all());
    assert_eq!(line("max-cooldown"), "max-cooldown 1h # default");
    assert_eq!(line("probes"), "probes 2 # config.toml:5");
    assert!(stdout.contains("1m30s      # config.toml:2"), "{}", done.all());
}

#[test]
fn sentences_say_what_would_happen_and_why() {
    let sandbox = eventful();
    let broken = sandbox.run(&["explain", "broken"]);
    broken.code(0);
    for text in [
        "broken: a run would be refused now; next try in",
        "after 1 of 1 failures in a row, the last exit 7",
        "at most 1 probe at once; its success closes the breaker, a failure opens it again for 2m",
    ] {
        broken.prints(text);
    }
    let timed = ["run", "--name", "timed", "--failures", "1", "--cooldown", "1h", "--", "false"];
    let runs = ["run", "--name", "runs", "--failures", "1", "--cooldown", "3runs", "--", "false"];
    for words in [&timed, &runs] {
        sandbox.run(words).code(1);
        sandbox.run(words).code(75);
    }
    sandbox.run(&["explain", "timed"]).prints("1 refusal since then does not matter.");
    let explained = sandbox.run(&["explain", "runs"]);
    explained.prints("runs: a run would be refused now; next try after 2 more runs.");
    explained.prints("After 2 more refused runs a run is a probe").lacks("does not matter");
    sandbox.run(&runs).code(75);
    sandbox.run(&runs).code(75);
    sandbox.run(&runs).code(1);
    sandbox.run(&["explain", "runs"]).prints("It has been open since").prints("It waits since");
    let calm = sandbox.run(&["explain", "calm"]);
    calm.code(0).prints("calm: a run would be launched now.");
    calm.prints("2 of 4 runs in the window (the runs of the last 10m) failed: 50% opens it");
    calm.prints("says nothing over fewer than 10");
    let moved = sandbox.run(&["explain", "moved"]);
    moved.prints("because it is held closed.").prints("every run is launched and recorded");
    sandbox.run(&["trip", "calm", "--for", "0"]).code(0);
    sandbox.run(&["explain", "calm"]).prints("a run would be launched now, as a probe.");
    sandbox.run(&["explain", "nobody"]).code(1).says("no such breaker");
    sandbox.run(&["run", "--name", "every", "--run-at-least-every", "1ms", "--failures", "1", "--", "false"]);
    sandbox.run(&["explain", "every"]).prints("Because of --run-at-least-every 1ms a run is a probe from");
    sandbox.run(&["explain", "every"]).prints("as a probe.");
}

#[test]
fn the_past_in_lines_and_pictures() {
    needs!("python3");
    let sandbox = eventful();
    let all = sandbox.run(&["history", "broken"]);
    assert_eq!(all.stdout().lines().count(), 3, "{}", all.all());
    assert_eq!(sandbox.run(&["history", "broken", "-n", "1"]).stdout().lines().count(), 1);
    assert_eq!(sandbox.run(&["history", "broken", "-n", "0"]).stdout(), "");
    assert_eq!(sandbox.run(&["history", "broken", "--since", "0"]).stdout(), "");
    assert_eq!(sandbox.run(&["history", "broken", "--since", "1d"]).stdout(), all.stdout());
    let picture = sandbox.run(&["history", "lost", "--timeline"]);
    picture.code(0).prints("opened once, 2 runs, 0 refused").prints("phase    ").prints("runs     ");
    assert!(widest(&picture.stdout()) <= 80, "{}", picture.all());
    sandbox.run(&["history", "broken", "--timeline"]).code(0).prints("2 refused").prints("###");

    sandbox.run(&["hold", "a<b & \"c\"", "open"]).code(0);
    for name in ["lost", "a<b & \"c\""] {
        sandbox.run(&["history", name, "--svg", "picture.svg"]).code(0).quiet();
        const SCRIPT: &str = "
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == '{http://www.w3.org/2000/svg}svg', root.tag
print(root.find('{http://www.w3.org/2000/svg}title').text)
for title in root.findall('.//{http://www.w3.org/2000/svg}rect/{http://www.w3.org/2000/svg}title'):
    print(title.text)
";
        let read = crate::tools::run_python(&sandbox, "xml", SCRIPT, &["picture.svg"], "");
        read.code(0).prints(name);
        if name == "lost" {
            read.prints("open tripped, ").prints("half-open, ").prints("lost probe, ").prints("success, ");
        }
    }
}

#[test]
fn following_tells_what_comes() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "db", "--failures", "1", "--", "false"]).code(1);
    let mut command = sandbox.brk();
    command.args(["history", "db", "--follow", "--json"]).stdout(Stdio::piped());
    let mut child = command.start();
    let mut seen = Vec::new();
    until_shown(&mut child, &mut seen, "\"opened\"");
    sandbox.run(&["run", "--name", "db", "--", "true"]).code(75);
    until_shown(&mut child, &mut seen, "\"count\":1");
    sandbox.run(&["run", "--name", "db", "--", "true"]).code(75);
    until_shown(&mut child, &mut seen, "\"count\":2");
    sandbox.run(&["reset", "db"]).code(0);
    until_shown(&mut child, &mut seen, "\"reset\"");
    child.kill_9();
    let lines = String::from_utf8(seen).expect("text");
    assert_eq!(lines.lines().count(), 5, "each once\n{lines}");
}

#[test]
fn a_hold_that_is_in_force_already_changes_nothing() {
    let sandbox = Sandbox::new();
    let check = |words: &[&str], changed: bool| {
        let words = [&["hold", "h"], words, &["--json"]].concat();
        let json: serde_json::Value =
            serde_json::from_str(&sandbox.run(&words).stdout()).expect("a JSON document");
        assert_eq!(json["changes"][0]["changed"], changed, "{words:?}");
    };
    check(&["open"], true);
    check(&["open"], false);
    check(&["open", "--reason", "moving"], true);
    check(&["open", "--reason", "moving"], false);
    check(&["closed", "--reason", "moving"], true);
    check(&["closed", "--reason", "moving", "--for", "1h"], true);
    assert_eq!(sandbox.events("h"), ["held"; 4]);
    sandbox.run(&["hold", "h", "open"]).code(0);
    let again = sandbox.run(&["hold", "h", "open"]);
    again.code(0);
    assert_eq!(again.stdout(), "h: held open as before\n");
}

#[test]
fn what_is_done_or_answered_is_so_with_a_full_standard_output() {
    let sandbox = Sandbox::new();
    let check = |words: &[&str], code: i32| {
        let mut command = sandbox.brk();
        command.args(words).stdout(std::fs::File::options().write(true).open("/dev/full").expect("a device"));
        finish(command).code(code).says("cannot write to standard output: No space left");
    };
    for json in [&[][..], &["--json"]] {
        let check = |words: &[&str], code: i32| check(&[words, json].concat(), code);
        check(&["check", "n"], 0);
        check(&["trip", "n", "--for", "1h"], 0);
        check(&["check", "n"], 75);
        check(&["hold", "n", "closed"], 0);
        check(&["release", "n"], 0);
        check(&["reset", "n"], 0);
        check(&["forget", "n"], 0);
    }
    sandbox.run(&["history", "n"]).code(1).says("no such breaker");
}

#[test]
fn each_verb_says_from_what_to_what() {
    let sandbox = Sandbox::new();
    let check = |words: &[&str], expected: &str| {
        let done = sandbox.run(words);
        assert_eq!(done.stdout(), expected, "{}", done.all());
        done.code(0);
    };
    sandbox.run(&["run", "--name", "db", "--", "false"]).code(1);
    check(&["trip", "db", "--for", "10m"], "db: closed -> open for 10m\n");
    check(&["trip", "db", "--for", "0"], "db: open -> open, the next run is a probe\n");
    check(&["hold", "db", "closed"], "db: open -> held closed until 'brk release'\n");
    check(&["hold", "db", "open", "--for", "2h"], "db: held closed (phase open) -> held open for 2h\n");
    check(&["release", "db"], "db: held open (phase open) -> open, the next run is a probe\n");
    check(&["release", "db"], "db: was not held; open as before\n");
    check(&["reset", "db"], "db: open with 1 failure in a row -> closed, counters cleared\n");
    check(&["forget", "db"], "db: closed -> forgotten, with its history\n");
    let none = sandbox.run(&["reset"]);
    none.code(2).says("no breaker given: pass a NAME or --all (there are no breakers yet)");
    for name in ["a", "z"] {
        sandbox.run(&["run", "--name", name, "--", "true"]).code(0);
    }
    sandbox.run(&["trip", "m"]).code(0);
    sandbox.run(&["reset"]).code(2).says("(known: m, a, z)");
    let done = sandbox.run(&["reset", "a", "[", "nobody"]);
    done.code(1).says("\"[\": no such breaker").says("\"nobody\": no such breaker");
    done.prints("a: closed -> closed");
}

#[test]
fn reading_needs_no_right_to_write() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = eventful();
    let before = listing(&sandbox);
    let mut permissions = std::fs::metadata(sandbox.state()).expect("state").permissions();
    permissions.set_mode(0o555);
    std::fs::set_permissions(sandbox.state(), permissions).expect("chmod");
    let state = sandbox.state();
    let state = state.to_str().expect("a path");
    for words in [
        "status",
        "status --json",
        "status broken",
        "history lost",
        "explain broken",
        "metrics",
        "check calm",
    ] {
        let words: Vec<_> = words.split(' ').chain(["--state-dir", state]).collect();
        let done = sandbox.run(&words);
        done.code(0);
        assert_eq!(done.stderr(), "", "{}", done.all());
    }
    assert_eq!(listing(&sandbox), before, "nothing was written");
}

fn listing(sandbox: &Sandbox) -> Vec<(std::ffi::OsString, u64, std::time::SystemTime)> {
    let entries = std::fs::read_dir(sandbox.state()).expect("the state directory");
    let mut all: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let metadata = entry.metadata().expect("metadata");
            (entry.file_name(), metadata.len(), metadata.modified().expect("a time"))
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_hold_for_no_time_is_an_error() {
    let sandbox = Sandbox::new();
    for none in ["0", "0s", "0.0"] {
        let done = sandbox.run(&["hold", "n", "open", "--for", none]);
        done.code(2).says("must be greater than 0; omit it for no limit");
    }
    sandbox.run(&["status", "n"]).code(1);
    sandbox.run(&["hold", "n", "open", "--for", "1ns"]).code(0);
}
