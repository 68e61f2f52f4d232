//! A disk that is full: a file system of a few pages, mounted where nobody else sees it.

use super::*;
use crate::process::is_root;
use crate::tools::needs;

/// Runs a shell script in the sandbox, whose state directory is a file system of its own with 64 KiB. `fill` takes all
/// that is free there, `spare` gives it back.
fn on_a_small_disk(sandbox: &Sandbox, script: &str) -> Done {
    let setup = "set -eu; mkdir -p state; mount -t tmpfs -o size=64k,mode=700 brk state
        fill() { ! dd if=/dev/zero of=state/filler bs=4k 2>/dev/null; }
        spare() { rm state/filler; }
        # The exit, and the lines on standard error.
        run() { code=0; brk run \"$@\" 2>err || code=$?; cat err >&2; echo \"$code $(wc -l <err)\"; }
        phase() { brk status \"$1\" --json | tr -d ' \\n' | grep -o '\"phase\":\"[a-z-]*\"'; }";
    let mut command = sandbox.command("unshare");
    if !is_root() {
        command.arg("--map-root-user");
    }
    let bin = Path::new(brk()).parent().expect("a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display()));
    command.args(["--mount", "sh", "-c", &format!("{setup}\n{script}")]);
    finish(command)
}

#[test]
fn on_a_full_disk_the_command_runs_and_nothing_is_lost() {
    needs!("namespaces", "mount");
    let sandbox = Sandbox::new();
    let done = on_a_small_disk(
        &sandbox,
        "run --name open --failures 1 --cooldown 1h -- false
        run --name closed --failures 2 -- sh -c 'exit 7'
        fill
        # A new breaker, and one whose journal has room left in its last page or has not.
        run --name new -- sh -c 'exit 3'
        run --name new --on-state-error refuse -- touch launched
        run --name open -- touch launched
        i=0
        while [ $i -lt 12 ]; do
            run --name closed --failures 0 -- true
            i=$((i + 1))
        done >many
        tail -n 1 many
        phase open
        phase closed
        spare
        run --name new -- true
        run --name closed --failures 0 -- sh -c 'exit 7'
        phase new
        brk history closed --json | tr -d ' ' | grep -c '\"event\":\"success\"' || :
        grep -c '^0 0$' many || :
        test ! -e launched",
    );
    done.code(0);
    let out = done.stdout();
    let lines: Vec<&str> = out.lines().collect();
    let expected = [
        "1 0",
        "7 0",
        "3 1",
        "125 1",
        "75 1",
        "0 1",
        "\"phase\":\"open\"",
        "\"phase\":\"closed\"",
        "0 0",
        "7 0",
        "\"phase\":\"closed\"",
    ];
    assert_eq!(lines[..expected.len()], expected, "{}", done.all());
    // What went without a warning is in the history, and nothing else is.
    let [recorded, unwarned] = lines[expected.len()..] else { panic!("{}", done.all()) };
    assert_eq!(recorded, unwarned, "{}", done.all());
    assert_eq!(done.stderr().matches("unguarded").count(), 1, "{}", done.all());
}

#[test]
fn an_opening_that_finds_the_disk_full_is_a_warning_and_comes_later() {
    needs!("namespaces", "mount");
    let sandbox = Sandbox::new();
    let done = on_a_small_disk(
        &sandbox,
        // The next record does not fit into the journal's last page: it is written in part. The disk is full when
        // the command ends, and afterwards there is room again.
        "run --name n --window 1 -- true
        while [ $((4096 - $(wc -c <state/n.journal) % 4096)) -gt $(tail -n 1 state/n.journal | wc -c) ]; do
            brk run --name n --window 1 -- true
        done
        fails='dd if=/dev/zero of=state/filler bs=4k 2>/dev/null; exit 7'
        run --name n --window 1 --failures 1 --cooldown 1h -- sh -c \"$fails\"
        tail -c 1 state/n.journal | wc -l
        phase n
        spare
        run --name n --window 1 --failures 1 --cooldown 1h -- sh -c 'exit 7'
        phase n
        run --name n -- true
        brk history n --json | tr -d ' ' | grep -c '\"event\":\"failure\"'",
    );
    done.code(0).says("not recorded");
    let lines = ["0 0", "7 1", "0", "\"phase\":\"closed\"", "7 0", "\"phase\":\"open\"", "75 1", "1"];
    assert_eq!(done.stdout().lines().collect::<Vec<_>>(), lines, "{}", done.all());
}
