//! The state directory: where it is, whose it is, and what happens when it cannot be used.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Start;
use crate::util::{Done, Sandbox, brk, finish, until};

mod full;
mod hostile;
mod journal;
mod owners;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
}

/// `brk` as a user whom permissions bind: the caller, or `nobody` where that is root.
fn as_user(sandbox: &Sandbox, words: &[&str]) -> Done {
    if !rustix::process::geteuid().is_root() {
        return sandbox.run(words);
    }
    let mut command = sandbox.command("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", brk()]).args(words);
    finish(command)
}

/// Every file of the state with its bytes and times.
fn photograph(dir: &Path) -> Vec<(PathBuf, Vec<u8>, i64, i64)> {
    let mut all: Vec<_> = fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let meta = fs::symlink_metadata(&path).expect("metadata");
            (path.clone(), fs::read(&path).unwrap_or_default(), meta.mtime(), meta.mtime_nsec())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn the_first_that_names_a_directory_wins() {
    let all = [
        ("BRK_STATE_DIR", "by-variable"),
        ("STATE_DIRECTORY", "by-systemd"),
        ("XDG_STATE_HOME", "by-xdg"),
        ("HOME", "by-home"),
    ];
    let check = |flag: Option<&str>, change: &[(&str, &str)], expected: &str| {
        let sandbox = Sandbox::new();
        let mut command = sandbox.brk();
        for (variable, dir) in all {
            command.env(variable, sandbox.file(dir));
        }
        for (variable, value) in change {
            let value = value.replace("@", sandbox.path().to_str().expect("UTF-8"));
            if value == "unset" {
                command.env_remove(variable)
            } else {
                command.env(variable, value)
            };
        }
        command.args(["run", "--name", "n"]);
        if let Some(flag) = flag {
            command.arg("--state-dir").arg(sandbox.file(flag));
        }
        finish({
            command.args(["--", "true"]);
            command
        })
        .code(0)
        .quiet();
        let journal = sandbox.file(expected).join("n.journal");
        assert!(journal.is_file(), "{change:?}: no {}", journal.display());
        let mut made: Vec<String> = fs::read_dir(sandbox.path())
            .expect("the sandbox")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        made.sort();
        assert_eq!(made, [expected.split('/').next().expect("a part")], "{change:?}");
    };
    check(Some("by-flag"), &[], "by-flag");
    check(None, &[], "by-variable");
    check(None, &[("BRK_STATE_DIR", "")], "by-systemd");
    let no_brk = ("BRK_STATE_DIR", "unset");
    check(None, &[no_brk, ("STATE_DIRECTORY", "@/first:@/second")], "first");
    check(None, &[no_brk, ("STATE_DIRECTORY", "")], "by-xdg/brk");
    let neither = [no_brk, ("STATE_DIRECTORY", "unset")];
    check(None, &[neither[0], neither[1], ("XDG_STATE_HOME", "relative")], "by-home/.local/state/brk");
    check(None, &[neither[0], neither[1], ("XDG_STATE_HOME", "")], "by-home/.local/state/brk");
}

#[test]
fn without_a_home_the_password_database_has_one() {
    let sandbox = Sandbox::new();
    let status = |home: Option<&Path>| {
        let mut command = sandbox.brk();
        command.args(["status", "--json"]).env_remove("BRK_STATE_DIR").env_remove("HOME");
        home.map(|home| command.env("HOME", home));
        let done = finish(command);
        done.code(0);
        done.stdout()
    };
    let uid = rustix::process::getuid().as_raw().to_string();
    let entry = finish({
        let mut command = sandbox.command("getent");
        command.args(["passwd", &uid]);
        command
    });
    let entry = entry.stdout();
    let home = entry.split(':').nth(5).expect("a home in the password database");
    assert_eq!(status(None), status(Some(Path::new(home))));
}

#[test]
fn directory_and_files_are_the_owners_alone() {
    let sandbox = Sandbox::new();
    sandbox.shell("umask 000; brk run --name n --failures 1 -- false").code(1);
    sandbox.shell("umask 000; brk trip n --for 0; brk run --name n --max-concurrent 2 -- true").code(0);
    assert_eq!(mode(&sandbox.state()), 0o700);
    let files = photograph(&sandbox.state());
    assert!(files.len() >= 4, "lock, journal, place and slot: {files:?}");
    for (path, ..) in files {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    // Directories above it are made for the owner alone, too.
    let deep = sandbox.file("a/b/c");
    let deep_text = deep.to_str().expect("UTF-8");
    sandbox.run(&["run", "--name", "n", "--state-dir", deep_text, "--", "true"]).code(0);
    assert_eq!((mode(&deep), mode(&sandbox.file("a"))), (0o700, 0o700));
}

#[test]
fn a_group_can_share_a_directory() {
    let sandbox = Sandbox::new();
    for (dir_mode, file_mode) in
        [(0o2770, 0o660), (0o2775, 0o660), (0o770, 0o600), (0o2750, 0o600), (0o777, 0o600)]
    {
        fs::create_dir(sandbox.state()).expect("a directory");
        set_mode(&sandbox.state(), dir_mode);
        sandbox.shell("umask 077; brk run --name n --failures 1 --max-concurrent 1 -- false").code(1);
        sandbox.shell("umask 077; brk trip n --for 0; brk run --name n -- true").code(0);
        assert_eq!(mode(&sandbox.state()), dir_mode, "a directory that is there stays as it is");
        for (path, ..) in photograph(&sandbox.state()) {
            assert_eq!(mode(&path), file_mode, "{} in a directory of {dir_mode:o}", path.display());
        }
        fs::remove_dir_all(sandbox.state()).expect("removed");
    }
}

/// A closed, an open and a half-used breaker, in a directory that the user cannot write to.
fn read_only() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "closed", "--", "true"]).code(0);
    sandbox.run(&["run", "--name", "open", "--failures", "1", "--cooldown", "1h", "--", "false"]).code(1);
    for (path, ..) in photograph(&sandbox.state()) {
        set_mode(&path, 0o444);
    }
    set_mode(&sandbox.state(), 0o555);
    set_mode(sandbox.path(), 0o777);
    sandbox
}

#[test]
fn a_directory_that_cannot_be_written_still_counts() {
    let sandbox = read_only();
    let before = photograph(&sandbox.state());
    as_user(&sandbox, &["run", "--name", "open", "--", "touch", "launched"])
        .code(75)
        .says("open after 1 failure");
    assert!(!sandbox.file("launched").exists());
    for name in ["closed", "new"] {
        let done = as_user(&sandbox, &["run", "--name", name, "--", "sh", "-c", "echo ran; exit 3"]);
        done.code(3).says("warning").says("unguarded").prints("ran");
        assert_eq!(done.stderr().lines().count(), 1, "one warning\n{}", done.all());
        let words = ["run", "--name", name, "--on-state-error", "refuse", "--", "touch", "launched"];
        let done = as_user(&sandbox, &words);
        done.code(125);
        assert_eq!(done.stderr().lines().count(), 1, "{}", done.all());
    }
    assert!(!sandbox.file("launched").exists());
    // What only reads needs no more than that.
    as_user(&sandbox, &["status"]).code(0).prints("open").prints("closed");
    as_user(&sandbox, &["status", "open", "--json"]).code(0).prints("\"open\"").says("");
    as_user(&sandbox, &["check", "open"]).code(75);
    as_user(&sandbox, &["check", "closed"]).code(0);
    as_user(&sandbox, &["history", "open"]).code(0).prints("opened");
    for words in
        [&["reset", "open"][..], &["trip", "closed"], &["hold", "closed", "open"], &["forget", "open"]]
    {
        let done = as_user(&sandbox, words);
        done.code(1);
        assert_eq!(done.stderr().lines().count(), 1, "{}", done.all());
    }
    assert_eq!(photograph(&sandbox.state()), before);
}

#[test]
fn a_directory_that_cannot_be_made_or_read() {
    let sandbox = Sandbox::new();
    set_mode(sandbox.path(), 0o755);
    // A file stands in the way.
    sandbox.write("state", "not a directory\n");
    let done = sandbox.run(&["run", "--name", "n", "--", "sh", "-c", "exit 3"]);
    done.code(3).says("warning").says("unguarded").says("state");
    sandbox.run(&["run", "--name", "n", "--on-state-error", "refuse", "--", "touch", "launched"]).code(125);
    assert!(!sandbox.file("launched").exists());
    assert_eq!(sandbox.read("state"), "not a directory\n");
    fs::remove_file(sandbox.state()).expect("removed");
    // A directory that is not ours to read.
    fs::create_dir(sandbox.state()).expect("a directory");
    set_mode(&sandbox.state(), 0o000);
    let done = as_user(&sandbox, &["run", "--name", "n", "--", "sh", "-c", "exit 3"]);
    done.code(3).says("warning").says("unguarded");
    as_user(&sandbox, &["status"]).code(1);
    set_mode(&sandbox.state(), 0o700);
}

#[test]
fn a_lock_that_stays_taken_is_waited_for_and_not_longer() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "open", "--failures", "1", "--cooldown", "1h", "--", "false"]).code(1);
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
    // Another process that holds the locks, until its standard input is closed.
    let script = "exec 8<n.lock 9<open.lock; flock 8; flock 9; echo held > ../held; cat";
    let mut holder = Command::new("sh");
    holder.args(["-c", script]).current_dir(sandbox.state()).stdin(std::process::Stdio::piped());
    let mut holder = holder.start();
    crate::util::until_file(&sandbox.file("held"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let done = sandbox.run(&["run", "--name", "n", "--", "sh", "-c", "exit 3"]);
            done.code(3).says("warning").says("n.lock").says("unguarded");
        });
        scope.spawn(|| {
            let words = ["run", "--name", "n", "--on-state-error", "refuse", "--", "touch", "launched"];
            sandbox.run(&words).code(125).says("n.lock");
        });
        scope.spawn(|| {
            sandbox.run(&["run", "--name", "open", "--", "touch", "launched"]).code(75).says("open after");
        });
        // Reading waits for nobody.
        assert_eq!(sandbox.status("n")["phase"], "closed");
        sandbox.run(&["check", "open"]).code(75);
    });
    assert!(!sandbox.file("launched").exists());
    drop(holder.stdin.take());
    holder.wait().expect("an end");
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0).quiet();
}

#[test]
fn a_full_disk_is_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "open", "--failures", "1", "--cooldown", "1h", "--", "false"]).code(1);
    // The limit on file sizes stands in for the disk: writing fails, with a signal that must not end brk.
    let done = sandbox.shell("ulimit -f 0; brk run --name new -- sh -c 'exit 3'");
    done.code(3).says("warning").says("unguarded");
    let done = sandbox.shell("ulimit -f 0; brk run --name open -- touch launched");
    done.code(75).says("open after 1 failure");
    let done = sandbox.shell("ulimit -f 0; brk run --name new --on-state-error refuse -- touch launched");
    done.code(125);
    assert!(!sandbox.file("launched").exists());
    sandbox.run(&["run", "--name", "new", "--", "true"]).code(0).quiet();
    assert_eq!(sandbox.status("new")["totals"]["launched"], 1);
}

#[test]
fn trouble_that_shows_at_the_end_is_a_warning() {
    let sandbox = Sandbox::new();
    let script = "rm -rf \"$BRK_STATE_DIR\"; : > \"$BRK_STATE_DIR\"; exit 3";
    let done = sandbox.run(&["run", "--name", "n", "--", "sh", "-c", script]);
    done.code(3).says("warning").says("not recorded");
    assert_eq!(done.stderr().lines().count(), 1, "{}", done.all());
}

#[test]
fn asking_never_writes() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "a", "--failures", "1", "--cooldown", "0", "--", "false"]).code(1);
    sandbox.run(&["run", "--name", "b", "--", "true"]).code(0);
    sandbox.run(&["hold", "b", "open", "--for", "1ms"]).code(0);
    until("the override has ended", || sandbox.run(&["check", "b"]).status().code() == Some(0));
    let before = photograph(&sandbox.state());
    for words in [
        &["status"][..],
        &["status", "--json"],
        &["status", "a"],
        &["check", "a"],
        &["check", "b"],
        &["check", "new"],
        &["history", "a"],
        &["history", "b", "--json"],
        &["profiles"],
        &["status", "new"],
    ] {
        sandbox.run(words);
    }
    assert_eq!(photograph(&sandbox.state()), before);
}
