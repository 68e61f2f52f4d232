//! What runs after a change of phase.

use serde_json::{Value, json};

use super::{TOUCHY, run};
use crate::process::Start;
use crate::util::{Sandbox, brk, until};

#[test]
fn hooks_get_the_change_in_variables_and_as_json() {
    let sandbox = Sandbox::new();
    let hook = "env | grep ^BRK_ | grep -v BRK_STATE_DIR | sort > variables; cat > json; echo heard";
    let flags = ["--failures", "1", "--cooldown", "1h", "--jitter", "0", "--on-open", hook];
    let done = run(&sandbox, "h", &flags, &["sh", "-c", "exit 7"]);
    done.code(7).says("heard");
    assert_eq!(done.stdout(), "", "a hook's output goes to standard error");
    let retry_at = sandbox.status("h")["retry_at"].as_str().expect("a time").to_owned();
    let expected = format!(
        "BRK_EXIT=7\nBRK_FROM=closed\nBRK_NAME=h\nBRK_REASON=1 failure (last: exit 7)\n\
         BRK_RETRY_AT={retry_at}\nBRK_SIGNAL=\nBRK_TO=open\n"
    );
    assert_eq!(sandbox.read("variables"), expected);
    let json: Value = serde_json::from_str(&sandbox.read("json")).expect("JSON");
    assert_eq!((&json["event"], &json["retry_at"]), (&json!("opened"), &json!(retry_at)));
    let host = sandbox.shell("uname -n").stdout();
    let from = (&json["name"], &json["host"], &json["program"]);
    assert_eq!(from, (&json!("h"), &json!(host.trim()), &json!("sh")), "what the event belongs to");
}

#[test]
fn each_hook_hears_its_changes_once() {
    let sandbox = Sandbox::new();
    let hooks = [
        "--on-open",
        "echo open >> log",
        "--on-close",
        "echo close >> log",
        "--on-change",
        "echo $BRK_FROM-$BRK_TO >> log",
    ];
    let flags = [&TOUCHY[..], &hooks].concat();
    for (command, code) in [("true", 0), ("false", 1), ("false", 1), ("true", 0), ("true", 0)] {
        run(&sandbox, "h", &flags, &[command]).code(code).quiet();
    }
    let expected =
        "open\nclosed-open\nopen-half-open\nhalf-open-open\nopen-half-open\nclose\nhalf-open-closed\n";
    assert_eq!(sandbox.read("log"), expected);
}

#[test]
fn of_many_that_fail_at_once_one_runs_the_hook() {
    let sandbox = Sandbox::new();
    let script = "echo $$ >> started; while [ ! -e go ]; do sleep 0.01; done; exit 1";
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut command = sandbox.brk();
            command.args(["run", "--name", "h", "--failures", "3", "--on-change", "echo $BRK_TO >> log"]);
            command.args(["--", "sh", "-c", script]).start()
        })
        .collect();
    until("all have started", || sandbox.read("started").lines().count() == 8);
    sandbox.write("go", "");
    for child in children {
        child.finish().code(1);
    }
    assert_eq!(sandbox.read("log"), "open\n");
}

#[test]
fn a_hook_that_fails_or_is_signalled_changes_nothing_of_the_run() {
    let sandbox = Sandbox::new();
    let flags = [&TOUCHY[..], &["--on-change", "exit 3"]].concat();
    run(&sandbox, "h", &flags, &["sh", "-c", "exit 7"]).code(7).says("hook: exit 3");
    let flags = [&TOUCHY[..], &["--on-change", "kill -9 $$"]].concat();
    run(&sandbox, "g", &flags, &["sh", "-c", "kill -6 $$"]).signal(6);
}

#[test]
fn a_hook_runs_under_no_lock() {
    let sandbox = Sandbox::new();
    let hook = format!("{0} run --name h --observe -- echo nested; {0} status h >/dev/null", brk());
    let flags = ["--failures", "1", "--on-open", &hook];
    run(&sandbox, "h", &flags, &["false"]).code(1).says("nested");
}

#[test]
fn trip_and_reset_run_the_hooks_of_the_configuration() {
    let sandbox = Sandbox::new();
    let config = sandbox
        .write("c.toml", "[defaults]\non-change = \"echo $BRK_FROM-$BRK_TO-${BRK_EXIT:-none} >> log\"\n");
    let config = config.to_str().expect("a path");
    sandbox.run(&["trip", "h", "--config", config]).code(0);
    sandbox.run(&["reset", "h", "--config", config]).code(0);
    sandbox.run(&["reset", "h", "--config", config]).code(0);
    assert_eq!(sandbox.read("log"), "closed-open-none\nopen-closed-none\n");
    let config = sandbox.write("d.toml", "[defaults]\non-change = \"cat > json\"\n");
    sandbox.run(&["trip", "h", "--config", config.to_str().expect("a path")]).code(0);
    let json: Value = serde_json::from_str(&sandbox.read("json")).expect("JSON");
    assert_eq!((&json["name"], &json["program"]), (&json!("h"), &Value::Null), "no run made the change");
}

#[test]
fn what_changes_for_the_eye_changes_for_the_hook() {
    let sandbox = Sandbox::new();
    let flags =
        ["--output", "on-change", "--failures", "1", "--cooldown", "0", "--on-change", "echo $BRK_TO >> log"];
    run(&sandbox, "h", &flags, &["sh", "-c", "echo broke; exit 1"]).code(1).says("brk: h: closed -> open");
    run(&sandbox, "h", &flags, &["echo", "back"]).code(0).says("brk: h: open -> closed");
    run(&sandbox, "h", &flags, &["true"]).code(0).quiet();
    assert_eq!(sandbox.read("log"), "open\nhalf-open\nclosed\n");
}
