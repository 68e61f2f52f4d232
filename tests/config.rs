//! The configuration from outside: which layer wins, what is wrong and where, what `brk config` shows.

use crate::util::{Done, Sandbox};

/// `brk` with this configuration file.
fn with(sandbox: &Sandbox, config: &str, words: &[&str]) -> Done {
    sandbox.write("c.toml", config);
    sandbox.run(&[&["--config", "c.toml"], words].concat())
}

/// The line of a key in `brk config NAME`.
fn shown(sandbox: &Sandbox, config: &str, name: &str, key: &str) -> String {
    let done = with(sandbox, config, &["config", "--", name]);
    done.code(0);
    let line = done.stdout().lines().find(|line| line.starts_with(&format!("{key} = "))).map(str::to_owned);
    line.unwrap_or_else(|| panic!("no {key}\n{}", done.all()))
}

#[test]
fn the_strongest_layer_wins_key_by_key() {
    let config = "\
[defaults]
cooldown = \"1s\"
failures = 1
timeout = 10

[breaker.\"db-*\"]
cooldown = \"2s\"
failures = 2

[breaker.\"db-prod-*\"]
cooldown = \"3s\"

[breaker.db-prod-main]
cooldown = \"4s\"

[breaker.\"*\"]
cooldown = \"5s\"
retries = 5
";
    let sandbox = Sandbox::new();
    for (name, key, line) in [
        ("db-prod-main", "cooldown", "cooldown = \"4s\"  # c.toml:14"),
        ("db-prod-main", "failures", "failures = 2  # c.toml:8"),
        ("db-prod-main", "retries", "retries = 5  # c.toml:18"),
        ("db-prod-main", "timeout", "timeout = 10  # c.toml:4"),
        ("db-prod-main", "backoff", "backoff = 2  # default"),
        ("db-prod-x", "cooldown", "cooldown = \"3s\"  # c.toml:11"),
        ("db-x", "cooldown", "cooldown = \"2s\"  # c.toml:7"),
        ("web", "cooldown", "cooldown = \"5s\"  # c.toml:17"),
        ("web", "failures", "failures = 1  # c.toml:3"),
    ] {
        assert_eq!(shown(&sandbox, config, name, key), line, "{name}");
    }
}

#[test]
fn a_section_of_the_exact_name_is_not_a_pattern() {
    let config = "[breaker.\"*\"]\ncooldown = \"9s\"\n[breaker.\"a*b\"]\ncooldown = \"8s\"\n";
    let sandbox = Sandbox::new();
    assert_eq!(shown(&sandbox, config, "*", "cooldown"), "cooldown = \"9s\"  # c.toml:2");
    assert_eq!(shown(&sandbox, config, "a*b", "cooldown"), "cooldown = \"8s\"  # c.toml:4");
    assert_eq!(shown(&sandbox, config, "axb", "cooldown"), "cooldown = \"8s\"  # c.toml:4");
}

#[test]
fn a_flag_beats_the_file() {
    let sandbox = Sandbox::new();
    let config = "[defaults]\nfailures = 1\nquiet = true\nfail-on = 3\n";
    with(&sandbox, config, &["run", "--name", "a", "--failures", "5", "--", "false"]).code(1);
    assert_eq!(sandbox.status("a")["phase"], "closed");
    with(&sandbox, config, &["run", "--name", "b", "--", "false"]).code(1);
    assert_eq!(sandbox.status("b")["phase"], "open");
    with(&sandbox, config, &["run", "--name", "b", "--", "true"]).code(75).quiet();
    with(&sandbox, config, &["run", "--name", "b", "--quiet=false", "--", "true"])
        .code(75)
        .says("open after");
    // What the hand says of an ending beats what the file says of it, and does not contradict it.
    with(&sandbox, config, &["run", "--name", "c", "--success-on", "3", "--", "sh", "-c", "exit 3"]).code(3);
    assert_eq!(sandbox.events("c"), ["success"]);
}

#[test]
fn the_users_file_comes_after_the_systems_and_only_where_none_is_named() {
    let sandbox = Sandbox::new();
    let home = sandbox.file("xdg");
    std::fs::create_dir_all(home.join("brk")).expect("a directory");
    std::fs::write(home.join("brk/config.toml"), "[defaults]\nfailures = 7\n").expect("a file");
    let config = |variables: &[(&str, &str)]| {
        let mut command = sandbox.brk();
        command.args(["config", "x"]).envs(variables.iter().copied());
        crate::util::finish(command).code(0).stdout()
    };
    let home = home.to_str().expect("a path");
    assert!(config(&[("XDG_CONFIG_HOME", home)]).contains("failures = 7  # "));
    assert!(config(&[("XDG_CONFIG_HOME", "")]).contains("failures = 3  # default"));
    sandbox.write("other.toml", "");
    assert!(
        config(&[("XDG_CONFIG_HOME", home), ("BRK_CONFIG", "other.toml")])
            .contains("failures = 3  # default")
    );
    assert!(config(&[("XDG_CONFIG_HOME", home), ("BRK_CONFIG", "")]).contains("failures = 7  # "));
    std::fs::create_dir_all(sandbox.file(".config/brk")).expect("a directory");
    sandbox.write(".config/brk/config.toml", "[defaults]\nfailures = 8\n");
    assert!(config(&[]).contains("failures = 8  # "));
}

/// A file with this fault, and what is said of it.
const FAULTS: &[(&str, &str)] = &[
    ("[defaults]\ntiemout = 3\n", "c.toml:2: unknown key `tiemout`; did you mean `timeout"),
    ("[defaults]\nconfig = \"x\"\n", "c.toml:2: unknown key `config`"),
    ("[defaults]\nname = \"x\"\n", "c.toml:2: unknown key `name`"),
    ("[breaker.x]\nstore = \"redis://h\"\n", "c.toml:2: store: all breakers of a host are in one store"),
    ("[defaults]\nfail_on = 3\n", "c.toml:2: unknown key `fail_on`; did you mean `fail-on"),
    ("[defaults]\n\ntimeout = \"5x\"\n", "c.toml:3: invalid value '5x' for '--timeout"),
    ("[defaults]\nfrobnicate = 3\n", "c.toml:2: unknown key `frobnicate`; did you mean `"),
    ("[defaults]\nfailures = 1.5\n", "c.toml:2: failures: expected an integer such as 3, found 1.5"),
    ("[defaults]\nfailures = \"3\"\n", "c.toml:2: failures: expected an integer such as 3, found \"3\""),
    (
        "[defaults]\nrefused-exit = \"7\"\n",
        "c.toml:2: refused-exit: expected an integer such as 75, found \"7\"",
    ),
    (
        "[defaults]\ncooldown = 1.5\n",
        "c.toml:2: cooldown: expected a string such as \"5m\", \"3runs\" or \"1m,1run\", or whole seconds such as 90, found 1.5",
    ),
    ("[defaults]\nwait = 1.5\n", "c.toml:2: wait: expected true, a string"),
    (
        "[defaults]\nwindow = 20.0\n",
        "c.toml:2: window: expected an integer such as 20 or a string such as \"10m\", found 20.0",
    ),
    (
        "[defaults]\njitter = true\n",
        "c.toml:2: jitter: expected a string such as \"50%\" or a number such as 0.5, found true",
    ),
    ("[defaults]\nbackoff = \"2\"\n", "c.toml:2: backoff: expected a number such as 2 or 1.5, found \"2\""),
    ("[defaults]\nfail-on = 7.5\n", "c.toml:2: fail-on: expected a string such as"),
    ("[defaults]\nfallback-on = true\n", "c.toml:2: fallback-on: expected a string or an array of"),
    ("[defaults]\non-open = true\n", "c.toml:2: on-open: expected a string, found true"),
    (
        "[defaults]\nfailure-rate = 50\n",
        "c.toml:2: invalid value '50' for '--failure-rate <RATE>': not a rate; write 50% or 0.5",
    ),
    ("[defaults]\nprobes = 0\n", "c.toml:2: invalid value '0' for '--probes <N>': must be 1 or more"),
    ("[defaults]\nquiet = \"maybe\"\n", "c.toml:2: quiet: expected true or false, found \"maybe\""),
    ("[defaults]\nfailures = [1, 2]\n", "c.toml:2: failures: expected an integer such as 3, found [1, 2]"),
    ("[defaults]\ntimeout = 1979-05-27\n", "c.toml:2: timeout: unsupported value type: date"),
    ("[defaults\nfailures = 1\n", "c.toml:1: "),
    ("failures = 1\n", "c.toml:1: failures is outside of a section; expected [defaults]"),
    (
        "[default]\nfailures = 1\n",
        "c.toml:1: unknown section [default]; expected [defaults], [breaker.NAME] or",
    ),
    ("[breaker]\nx = 1\n", "c.toml:2: breaker.x is not a section; expected [breaker.NAME]"),
    ("[breaker.x.y]\nfailures = 1\n", "c.toml:1: unknown key `y`"),
    (
        "[defaults]\nslow-rate = \"5%\"\n",
        "--slow-rate needs --slow-after, which says what is slow (slow-rate: c.toml:2)",
    ),
    (
        "[defaults]\nbackoff = 1000001\n",
        "c.toml:2: invalid value '1000001' for '--backoff <FACTOR>': not a factor from 1 to 1000000",
    ),
    ("[breaker.x.\"y z\"]\na = 1\n", "c.toml:1: unknown key `y z`"),
    ("[defaults]\ntimeout = {}\n", "c.toml:2: timeout: expected a value, found a table"),
    ("[defaults]\nsuccess-on = \"10-5\"\n", "\"10-5\": reversed range; did you mean 5-10?"),
    ("[breaker.x]\nmin-calls = 30\n", "--min-calls 30 is above --window 20"),
    (
        "[breaker.x]\nsuccess-on = \"1-10\"\nfail-on = 5\n",
        "exit code 5 is in both --success-on and --fail-on",
    ),
];

#[test]
fn a_fault_is_told_with_its_place() {
    for (config, message) in FAULTS {
        let sandbox = Sandbox::new();
        with(&sandbox, config, &["run", "--name", "x", "--", "touch", "launched"]).code(125).says(message);
        assert!(!sandbox.file("launched").exists(), "{config}");
        with(&sandbox, config, &["trip", "x"]).code(2).says(message);
        with(&sandbox, config, &["config", "x"]).code(2).says(message);
        with(&sandbox, config, &["config", "--check"]).code(2).says(message);
        let lines = with(&sandbox, config, &["run", "--name", "x", "--", "true"]).stderr().lines().count();
        assert_eq!(lines, 1, "{config}");
    }
}

#[test]
fn what_can_be_meant_is_taken() {
    let config = "\
[defaults]
cooldown = 90
max-cooldown = \"1.5h\"
failures = 3
failure-rate = 0.5
slow-rate = \"50%\"
slow-after = 1
window = \"20\"
jitter = 0
backoff = 2
retry-backoff = 1.5
fail-on = [1, \"100-110\"]
ignore-on = 75
success-on = \"3,4\"
trip-on = [
  9,
  \"SIGSEGV\"]
fallback-on = [\"refused\", \"failure\"]
signal = 15
quiet = true
wait = 10
refused-exit = 0
";
    let sandbox = Sandbox::new();
    with(&sandbox, config, &["config", "--check"]).code(0).quiet();
    let shown = with(&sandbox, config, &["config", "x"]).code(0).stdout();
    assert!(shown.contains("\ntrip-on = [\"9\", \"SIGSEGV\"]  # c.toml:15\n"), "{shown}");
}

#[test]
fn what_needs_no_policy_warns_and_goes_on() {
    let config = "[defaults]\ntiemout = 3\n";
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "x", "--", "true"]).code(0);
    let verbs: [&[&str]; 8] = [
        &["status"],
        &["status", "x", "--json"],
        &["check", "x"],
        &["history", "x"],
        &["hold", "x", "open"],
        &["release", "x"],
        &["reset", "x"],
        &["forget", "x"],
    ];
    for verb in verbs {
        let done = with(&sandbox, config, verb);
        done.code(0).says("warning: c.toml:2: unknown key `tiemout`");
        assert_eq!(done.stderr().lines().count(), 1, "{}", done.all());
    }
    for verb in [&["--help"][..], &["--version"], &["run", "--help"], &["profiles"], &["completions", "bash"]]
    {
        assert_eq!(with(&sandbox, config, verb).code(0).stderr(), "");
    }
}

#[test]
fn a_bad_value_of_anothers_section_stops_nobody_and_is_found_by_the_check() {
    let config = "[breaker.other]\ntimeout = \"5x\"\n[breaker.\"o*\"]\nprobes = 0\n";
    let sandbox = Sandbox::new();
    with(&sandbox, config, &["run", "--name", "x", "--", "true"]).code(0).quiet();
    let done = with(&sandbox, config, &["config", "--check"]);
    done.code(2).says("c.toml:2: ").says("c.toml:4: ");
    with(&sandbox, "[breaker.other]\ntimeout = 5\n", &["config", "--check"]).code(0).quiet();
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--config", "none.toml", "--name", "x", "--", "true"]).code(125).says("none.toml");
    sandbox.run(&["config", "--config", "none.toml"]).code(2).says("none.toml");
    sandbox
        .run(&["status", "--config", "none.toml"])
        .code(0)
        .says("warning: cannot read the configuration none.toml");
}

#[test]
fn values_may_be_written_in_each_of_their_forms() {
    let config = "\
[defaults]
timeout = \"1.5\"
cooldown = \"1h30m\"
failure-rate = 0.5
slow-rate = \"25%\"
slow-after = \"2s\"
success-on = [3, \"100-110\"]
ignore-on = \"4,SIGKILL\"
fallback-on = [\"refused\", \"failure\"]
fallback = \"echo 'a = b'\"
wait = true
observe = false
window = \"10m\"
backoff = 3
jitter = 0
";
    let sandbox = Sandbox::new();
    let done = with(&sandbox, config, &["config", "x"]);
    done.code(0).prints("wait = true  # c.toml:11\n").prints("success-on = [3, \"100-110\"]  # c.toml:7\n");
    // What it shows is a configuration itself, and gives the same.
    let again = done.stdout();
    let second = with(&sandbox, &format!("[defaults]\n{again}"), &["config", "x"]);
    let values = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| Some(line.rsplit_once("  # ")?.0.to_owned())).collect()
    };
    assert_eq!(values(&second.code(0).stdout()), values(&again));
    with(&sandbox, config, &["run", "--name", "x", "--", "sh", "-c", "exit 105"]).code(105);
    with(&sandbox, config, &["run", "--name", "x", "--", "sh", "-c", "kill -9 $$"]).signal(9);
    assert_eq!(sandbox.events("x"), ["success", "ignored"]);
    let policy = sandbox.status("x")["policy"].clone();
    assert_eq!((&policy["cooldown_ms"], &policy["window_ms"]), (&5_400_000.into(), &600_000.into()));
}

#[test]
fn a_profile_is_shown_as_the_place_its_codes_come_from() {
    let sandbox = Sandbox::new();
    let config = "[breaker.x]\nprofile = \"rsync\"\nfail-on = 24\n";
    assert_eq!(shown(&sandbox, config, "x", "success-on"), "success-on = \"0,25\"  # profile rsync");
    assert_eq!(shown(&sandbox, config, "x", "fail-on"), "fail-on = 24  # c.toml:3");
    with(&sandbox, config, &["run", "--name", "x", "--", "sh", "-c", "exit 25"]).code(25);
    with(&sandbox, config, &["run", "--name", "x", "--", "sh", "-c", "exit 24"]).code(24);
    assert_eq!(sandbox.events("x"), ["success", "failure"]);
}

#[test]
fn trip_and_hold_of_an_unknown_name_take_the_policy_from_the_file() {
    let sandbox = Sandbox::new();
    let config = "[breaker.\"n*\"]\ncooldown = \"7s\"\njitter = 0\n";
    with(&sandbox, config, &["trip", "new"]).code(0);
    assert_eq!(sandbox.status("new")["cooldown_ms"], 7_000);
    with(&sandbox, config, &["hold", "newer", "open"]).code(0);
    assert_eq!(sandbox.status("newer")["policy"]["cooldown_ms"], 7_000);
}

#[test]
fn a_crontab_line_is_short() {
    let sandbox = Sandbox::new();
    let config = "[breaker.db-backup]\ntimeout = \"100ms\"\nfailures = 1\nkill-after = 0\n";
    with(&sandbox, config, &["run", "--name", "db-backup", "--", "sleep", "1000"]).code(124);
    with(&sandbox, config, &["run", "--name", "db-backup", "--", "true"]).code(75);
}

#[test]
fn a_value_over_several_lines_is_shown_on_one() {
    let sandbox = Sandbox::new();
    let config = "[defaults]\nsuccess-on = [\n 0, # fine\n 3,\n]\non-open = '''echo a # b\necho \"c\"'''\n";
    assert_eq!(shown(&sandbox, config, "x", "success-on"), "success-on = [\"0\", \"3\"]  # c.toml:2");
    assert_eq!(
        shown(&sandbox, config, "x", "on-open"),
        "on-open = \"echo a # b\\necho \\\"c\\\"\"  # c.toml:6"
    );
    let listing = with(&sandbox, config, &["config", "x"]).stdout();
    with(&sandbox, &format!("[defaults]\n{listing}"), &["config", "--check"]).code(0).quiet();
}

#[test]
fn what_is_no_utf8_is_told_with_its_line() {
    let sandbox = Sandbox::new();
    sandbox.write("c.toml", b"[defaults]\nprobe = \"\xff\"\n");
    let told = "c.toml:2: not UTF-8";
    sandbox.run(&["run", "--config", "c.toml", "--name", "x", "--", "true"]).code(125).says(told);
    sandbox.run(&["config", "--config", "c.toml"]).code(2).says(told);
}

#[test]
fn a_secret_in_the_wrong_place_is_not_repeated() {
    let sandbox = Sandbox::new();
    for config in [
        "[defaults]\n\"redis://u:hunter2@h\" = 1\n",
        "[\"redis://u:hunter2@h\"]\nstore = 1\n",
        "\"redis://u:hunter2@h\" = 1\n",
        "[breaker]\n\"redis://u:hunter2@h\" = 1\n",
        "[defaults]\nstore = \"redis//u:hunter2@h\"\n",
        "[defaults]\nstore = [\"redis://u:hunter2@h\"]\n",
        "[defaults]\nstore = redis://u:hunter2@h\n",
    ] {
        let verbs: [&[&str]; 3] =
            [&["config", "--check"], &["run", "--name", "x", "--", "true"], &["status"]];
        for verb in verbs {
            let done = with(&sandbox, config, verb);
            done.says("c.toml:");
            assert!(!done.stderr().contains("hunter2"), "{config}{}", done.all());
        }
    }
}

#[test]
fn a_default_file_that_cannot_be_reached_is_a_warning() {
    let sandbox = Sandbox::new();
    if !can_close_a_directory(&sandbox) {
        return;
    }
    let reach = |variables: &[(&str, &str)], words: &[&str]| {
        let mut command = sandbox.brk();
        command.args(words).envs(variables.iter().copied());
        crate::util::finish(command)
    };
    let closed = sandbox.file("closed");
    let home = closed.to_str().expect("a path");
    let run = ["run", "--name", "x", "--", "echo", "ran"];
    let done = reach(&[("XDG_CONFIG_HOME", home)], &run);
    done.code(0).prints("ran").says("warning: cannot read the configuration");
    let named = closed.join("brk/config.toml");
    reach(&[("BRK_CONFIG", named.to_str().expect("a path"))], &run)
        .code(125)
        .says("cannot read the configuration");
}

/// Makes the directory `closed`, which nobody may enter; root may all the same.
fn can_close_a_directory(sandbox: &Sandbox) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let closed = sandbox.file("closed");
    std::fs::create_dir(&closed).expect("a directory");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).expect("permissions");
    std::fs::read_dir(&closed).is_err()
}

#[test]
fn only_what_applies_is_warned_of() {
    let sandbox = Sandbox::new();
    let config = "[breaker.other]\ntimeout = \"5x\"\n";
    for verb in [&["hold", "x", "closed"][..], &["check", "x"], &["status"], &["history", "x"]] {
        assert_eq!(with(&sandbox, config, verb).code(0).stderr(), "");
    }
    with(&sandbox, config, &["check", "other"]).code(0).says("warning: c.toml:2: ");
    with(&sandbox, "[breaker.other]\nslow-rate = 0.5\n", &["check", "other"])
        .code(0)
        .says("warning: --slow-rate needs");
}
