//! Names of users and hosts: found as the system finds them, in time, and without a module of the C library's in the
//! process of `brk`.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::is_root;
use crate::server::{Host, Server};
use crate::tools::needs;
use crate::util::{Done, PATIENCE, Sandbox, brk, finish};

/// A user whom /etc/passwd does not know.
const STRANGER: &str = "54321";

/// A sandbox that everybody may use, with a `brk` that everybody may start.
fn open_to_all() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.shell(&format!("chmod 777 . && cp {} own-brk && chmod 755 own-brk", brk())).code(0);
    sandbox
}

/// A script of root's in a mount namespace of its own.
fn as_root(sandbox: &Sandbox, script: &str) -> Done {
    let mut command: Command = if is_root() { sandbox.command("unshare") } else { sandbox.command("sudo") };
    if !is_root() {
        command.args(["-n", "unshare"]);
    }
    command.args(["--mount", "sh", "-ec", script]);
    finish(command)
}

/// What the one process of `brk` has opened and started, and not what its children have.
#[track_caller]
fn loads_no_module(sandbox: &Sandbox) {
    let trace = sandbox.read("trace");
    assert!(trace.contains("execve("), "nothing was traced:\n{trace}");
    for word in ["libnss", "libc.so", "ld-linux"] {
        assert!(!trace.contains(word), "brk has opened {word}:\n{trace}");
    }
}

/// A stand-in for `getent`, before the real one on the PATH.
fn getent(sandbox: &Sandbox, script: &str) -> String {
    std::fs::create_dir_all(sandbox.file("bin")).expect("a directory");
    sandbox.script("bin/getent", &format!("#!/bin/sh\n{script}"));
    format!("{}:{}", sandbox.file("bin").display(), std::env::var("PATH").unwrap_or_default())
}

/// 0.1.0 dies here of a SIGSEGV: the static binary loads the module that nsswitch.conf names.
#[test]
fn a_user_whom_no_file_knows_can_run() {
    needs!("root or sudo", "setpriv", "mount");
    let sandbox = open_to_all();
    let here = sandbox.path().display().to_string();
    let script = format!(
        "printf 'passwd: files systemd\\ngroup: files systemd\\nhosts: files dns\\n' >nsswitch
        mount --bind nsswitch /etc/nsswitch.conf
        for flags in BRK_STATE_DIR={here}/one XDG_STATE_HOME={here}/two; do
            setpriv --reuid {STRANGER} --clear-groups env -i $flags {here}/own-brk run --name n -- /bin/echo ran
        done
        setpriv --reuid {STRANGER} --clear-groups env -i {here}/own-brk run --name n -- /bin/echo unguarded || echo $?"
    );
    let done = as_root(&sandbox, &script);
    done.code(0).prints("ran\nran\n");
    // Nobody knows a home for this user, so there is no place to remember.
    done.says("warning");
}

#[test]
fn no_module_is_loaded_for_a_user() {
    needs!("root or sudo", "setpriv", "strace");
    let sandbox = open_to_all();
    let here = sandbox.path().display().to_string();
    let script = format!(
        "exec setpriv --reuid {STRANGER} --clear-groups env -i PATH=/usr/bin:/bin BRK_STATE_DIR={here}/state \
         strace -o {here}/trace -e trace=execve,open,openat {here}/own-brk run --name n -- /bin/true"
    );
    as_root(&sandbox, &script).code(0);
    loads_no_module(&sandbox);
    assert!(sandbox.read("trace").contains("/etc/passwd"), "{}", sandbox.read("trace"));
}

#[test]
fn a_home_that_is_named_is_not_looked_up() {
    needs!("strace");
    let sandbox = Sandbox::new();
    for environment in [
        "HOME=/nowhere/home BRK_STATE_DIR=$PWD/state",
        "XDG_CONFIG_HOME=/nowhere XDG_STATE_HOME=$PWD/xdg",
        "BRK_CONFIG=$PWD/config.toml BRK_STATE_DIR=$PWD/state",
    ] {
        sandbox.write("config.toml", "");
        let script = format!(
            "env -i {environment} strace -o trace -e trace=execve,open,openat {} run --name n -- /bin/true",
            brk()
        );
        sandbox.shell(&script).code(0).quiet();
        loads_no_module(&sandbox);
        assert!(!sandbox.read("trace").contains("/etc/passwd"), "{environment}: {}", sandbox.read("trace"));
    }
}

#[test]
fn a_home_that_only_the_system_knows() {
    needs!("root or sudo", "setpriv");
    let sandbox = open_to_all();
    let home = sandbox.path().display().to_string();
    let path = getent(
        &sandbox,
        &format!("test \"$1 $2\" = 'passwd {STRANGER}' && echo \"x:*:{STRANGER}:1::{home}:/bin/sh\""),
    );
    let script = format!(
        "chmod 755 bin bin/getent
        exec setpriv --reuid {STRANGER} --clear-groups env -i PATH={path} {home}/own-brk run --name n -- /bin/true"
    );
    as_root(&sandbox, &script).code(0).quiet();
    assert!(sandbox.file(".local/state/brk/n.journal").exists());
}

#[test]
fn no_module_is_loaded_for_a_host() {
    needs!("strace", "getent");
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("strace");
    command.args([
        "-o",
        "trace",
        "-e",
        "trace=execve,open,openat",
        brk(),
        "run",
        "--name",
        "n",
        "--",
        "true",
    ]);
    command.env("BRK_STORE", "redis://store.invalid");
    finish(command).code(0).says("no such host: store.invalid");
    loads_no_module(&sandbox);
}

#[test]
fn a_host_is_found_by_the_files_and_by_the_system() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let seen = |host: &str, path: &str| {
        let store = format!("redis://{host}:{}", server.port());
        let mut command = Host::new(&sandbox, "one", &store).brk();
        command.env("PATH", path).args(["run", "--name", host, "--", "true"]);
        finish(command).code(0).quiet();
        assert_eq!(server.host(&sandbox, "two").status(host)["totals"]["success"], 1, "{host}");
    };
    // A name of the hosts file asks nobody.
    seen("localhost", &getent(&sandbox, "echo '203.0.113.1 STREAM'"));
    // The first address refuses, the second is the server's.
    let answer = "echo '127.0.0.2 STREAM x'; echo '127.0.0.2 DGRAM'; echo '127.0.0.1 STREAM'";
    seen(
        "db.example.com",
        &getent(&sandbox, &format!("test \"$*\" = 'ahosts db.example.com' || exit 2; {answer}")),
    );
}

#[test]
fn a_lookup_that_hangs_ends_within_the_second() {
    let sandbox = Sandbox::new();
    let path = getent(&sandbox, "echo $$ >began; exec sleep 600");
    let mut command = Host::new(&sandbox, "one", "redis://db.example.com").brk();
    command.current_dir("/").env("PATH", path).args(["run", "--name", "n", "--", "/bin/true"]);
    let start = Instant::now();
    finish(command).code(0).says("no answer within a second");
    assert!(start.elapsed() < PATIENCE / 2, "after {:?}", start.elapsed());
    assert!(start.elapsed() > Duration::from_millis(500), "the time was not used");
}

#[test]
fn without_getent_it_says_what_to_write() {
    let sandbox = Sandbox::new();
    let mut command = Host::new(&sandbox, "one", "redis://db.example.com").brk();
    command.env("PATH", sandbox.path()).args(["run", "--name", "n", "--", "/bin/true"]);
    finish(command).code(0).says("/etc/hosts lacks the name").says("write an IP address: db.example.com");
}
