//! What a command inherits is what `brk` inherited, byte by byte: compared with the same command without `brk`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use crate::process::{Start, Sweeper, guarded, guarded_script, is_alive, send_signal, until_pid};
use crate::tools::needs;
use crate::util::{Sandbox, brk, finish};

/// Prints all that a process inherits, without what differs from one process to the next.
const DESCRIBE: &str = r#"
import os, re
def show(file, keep=lambda line: True):
    for line in open(file, 'rb').read().split(b'\0' if file.endswith(('environ', 'cmdline')) else b'\n'):
        if keep(line): print(file, line)
status = re.compile(rb'Uid|Gid|Umask|Groups|Sig(Pnd|Blk|Ign)|ShdPnd|Cap|NoNewPrivs|Seccomp|Cpus_allowed:|Mems_allowed:')
for name in 'environ', 'cmdline', 'limits': show('/proc/self/' + name)
show('/proc/self/status', status.match)
print(os.getcwd(), os.nice(0), os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0))
for fd in sorted(map(int, os.listdir('/proc/self/fd'))):
    try: print(fd, os.readlink('/proc/self/fd/%d' % fd), open('/proc/self/fdinfo/%d' % fd).read().split()[3])
    except OSError: pass
"#;

const ALL: &[&str] = &["python3", "-I", "describe.py"];

/// Python ignores some signals by itself.
const SIGNALS: &[&str] = &["grep", "-E", "^(Sig(Pnd|Blk|Ign|Cgt)|ShdPnd)", "/proc/self/status"];

/// Runs a command that describes itself, after a setup in shell: without `brk` and with it.
#[track_caller]
fn check_same(describe: &[&str], setup: &str) {
    let sandbox = Sandbox::new();
    sandbox.write("describe.py", DESCRIBE);
    let guarded = [brk(), "run", "--name", "x", "--timeout", "1000", "--"];
    let seen = |words: &[&str]| {
        let script = format!("exec >out 2>err\n{setup}\nexec \"$@\"");
        let mut command = sandbox.command("bash");
        command.args(["-c", &script, "bash"]).args(words);
        finish(command).code(0);
        assert_eq!(sandbox.read("err"), "", "{setup}");
        sandbox.read("out")
    };
    let plain = seen(describe);
    assert!(plain.contains("SigIgn"), "nothing was described: {plain}");
    let with_brk = seen(&[&guarded[..], describe].concat());
    assert_eq!(plain, with_brk, "after {setup}");
}

#[test]
fn all_that_is_inherited_is_passed_on() {
    needs!("bash", "python3");
    check_same(ALL, "");
    check_same(ALL, "umask 0137");
    check_same(ALL, "cd /; exec 2>&1; set -- \"${@/describe.py/$OLDPWD/describe.py}\"");
    check_same(ALL, "ulimit -n 77; ulimit -S -s 4000; ulimit -c 0");
    check_same(ALL, "exec nice -n 5 \"$@\"");
    check_same(ALL, "exec 5</etc/passwd 9>>nine 77<>both");
    check_same(ALL, "exec env -i 'A=1' 'B=x=y' 'C=' \"PATH=$PATH\" \"BRK_STATE_DIR=$BRK_STATE_DIR\" \"$@\"");
}

#[test]
fn signals_are_passed_on_as_they_are() {
    needs!("bash");
    check_same(SIGNALS, "");
    for ignored in ["PIPE", "CHLD", "HUP", "INT", "TERM", "XFSZ", "TSTP", "HUP PIPE CHLD USR1 RTMIN+3"] {
        check_same(SIGNALS, &format!("trap '' {ignored}"));
    }
    for blocked in ["ALRM", "CHLD", "TERM", "PIPE", "RTMIN+3", "ALRM,CHLD,TERM,TSTP"] {
        check_same(SIGNALS, &format!("exec env --block-signal={blocked} \"$@\""));
    }
    check_same(SIGNALS, "exec env --ignore-signal=CHLD,PIPE --block-signal=CHLD,PIPE,CONT \"$@\"");
}

#[test]
fn closed_descriptors_stay_closed() {
    needs!("bash", "python3");
    for closed in ["0<&-", "2>&-", "0<&- 2>&-"] {
        check_same(ALL, &format!("exec {closed}"));
    }
    // With standard output closed there is no place for the description but another descriptor.
    let sandbox = Sandbox::new();
    for closed in ["1>&-", "0<&- 1>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"] {
        let seen = |prefix: &str| {
            let list = "for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && echo $fd >>/dev/fd/7; done; exit 3";
            sandbox.shell(&format!("exec 7>out {closed}; {prefix} sh -c '{list}'")).code(3);
            sandbox.read("out")
        };
        let plain = seen("");
        assert_eq!(plain, seen("brk run --name x --failures 0 --"), "after {closed}");
    }
    // Nothing but the journal's own lines is in the journal.
    assert_eq!(sandbox.history("x").len(), 4);
}

/// Executes its arguments with an environment that no shell could make.
const ODD: &str = r#"
import ctypes, os, sys
entries = [b'A=1', b'no equals sign', b'A=2', b'=empty name', b'', b'BRK_ATTEMPT=old', b'\xff=\xfe', b'A=1',
    b'PATH=' + os.environb[b'PATH'], b'BRK_STATE_DIR=' + os.environb[b'BRK_STATE_DIR'], b'BRK_ATTEMPT=older']
words = [os.fsencode(word) for word in sys.argv[1:]]
array = lambda strings: (ctypes.c_char_p * (len(strings) + 1))(*strings, None)
ctypes.CDLL(None).execve(words[0], array(words), array(entries))
"#;

#[test]
fn odd_environments_are_passed_on() {
    needs!("python3");
    let sandbox = Sandbox::new();
    let seen = |words: &[&str]| {
        let mut command = sandbox.command("python3");
        command.args(["-I", "-c", ODD]).args(words).args(["/bin/cat", "/proc/self/environ"]);
        finish(command).code(0).stdout()
    };
    let plain = seen(&[]);
    assert!(plain.starts_with("A=1\0no equals sign\0A=2\0=empty name\0\0BRK_ATTEMPT=old\0"), "{plain:?}");
    let run = [brk(), "run", "--name", "x", "--"];
    assert_eq!(plain, seen(&run));
    // Retries add one variable in place of all that have its name, and touch nothing else.
    let others = plain.replace("BRK_ATTEMPT=old\0", "").replace("BRK_ATTEMPT=older\0", "");
    let retries = [brk(), "run", "--name", "x", "--retries", "1", "--"];
    assert_eq!(format!("{others}BRK_ATTEMPT=1\0"), seen(&retries));
}

#[test]
fn arguments_are_bytes() {
    let sandbox = Sandbox::new();
    let bytes: Vec<u8> = (1..=255).collect();
    let words = [&bytes[..], b"\xff\xfe", b"", b"a b", b"--name", b"-h", b"--", b"\n"];
    let mut command = guarded(&sandbox, &[], &["printf", "%s|"]);
    command.args(words.map(OsStr::from_bytes));
    let output = command.output().expect("brk");
    let expected: Vec<u8> = words.iter().flat_map(|word| [word, &b"|"[..]].concat()).collect();
    assert_eq!(output.stdout, expected);
    // The program's own name, too.
    let mut program = sandbox.path().as_os_str().as_bytes().to_vec();
    program.extend(b"/\xff\xfe");
    std::os::unix::fs::symlink("/bin/true", OsStr::from_bytes(&program)).expect("a link");
    let mut command = guarded(&sandbox, &[], &[]);
    command.arg(OsStr::from_bytes(&program));
    finish(command).code(0).quiet();
    assert_eq!(sandbox.status("x")["last"]["program"], "\u{fffd}\u{fffd}");
}

#[test]
fn streams_are_inherited_and_nobody_waits_for_their_end() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut command = guarded_script(&sandbox, &[], "cat; sleep 1000 & echo $! >pid; echo error >&2; exit 5");
    let mut child = command
        .stdin(std::fs::File::open(sandbox.write("in", "input\n")).expect("a file"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start();
    // The background child still holds both pipes.
    assert_eq!(child.wait().expect("an end").code(), Some(5));
    let background = until_pid(&sandbox.file("pid"));
    assert!(is_alive(background), "background children are left alone");
    send_signal(background, "KILL");
    let done = child.finish();
    assert_eq!((done.stdout().as_str(), done.stderr().as_str()), ("input\n", "error\n"));
}

#[test]
fn limits_on_files_are_the_commands_and_no_end_of_brk() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("bash");
    command.args([
        "-c",
        r#"ulimit -f 0; exec "$@""#,
        "bash",
        brk(),
        "run",
        "--name",
        "x",
        "--",
        "sh",
        "-c",
        "exit 5",
    ]);
    finish(command).code(5);
}

/// Too few descriptors to stand beside the command: then it stands in the place of `brk`, with all that it inherited.
#[test]
fn with_few_descriptors_the_command_runs_all_the_same() {
    let sandbox = Sandbox::new();
    let few = |limit: u32, words: &str| {
        sandbox.shell(&format!("trap '' PIPE USR1; ulimit -n {limit}; exec brk run --name x {words}"))
    };
    let ignored = sandbox.shell("trap '' PIPE USR1; exec grep SigIgn /proc/self/status").stdout();
    for limit in 4..10 {
        let done = few(limit, "--timeout 1000 -- sh -c 'grep SigIgn /proc/self/status; exit 3'");
        done.code(3).says("Too many open files").says("no timeout, record or report");
        assert_eq!(done.stdout(), ignored, "{limit}");
    }
    few(5, "-- ./no/such").code(127).says("cannot be executed");
    few(5, "--on-state-error refuse -- touch launched").code(125);
    assert!(!sandbox.file("launched").exists());
    few(20, "-- true").code(0).quiet();
}

#[test]
fn what_takes_the_place_of_brk_keeps_nobody_out() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "x", "--for", "0"]).code(0);
    // A shell puts what it redirects above 9.
    let daemon = "ulimit -S -n 100; setsid sleep 600 >/dev/null 2>&1 & echo $! > daemon";
    let limits = "--max-concurrent 1 --timeout 10ms --kill-after 0";
    let done = sandbox.shell(&format!("ulimit -S -n 9; exec brk run --name x {limits} -- sh -c '{daemon}'"));
    done.code(0).says("no timeout, record or report");
    // As a probe, and as one of at most one at once; and what was left running by a normal end is not ended.
    sandbox.run(&["run", "--name", "x", "--max-concurrent", "1", "--", "true"]).code(0).quiet();
    let daemon = sandbox.read("daemon");
    sandbox.shell(&format!("kill -KILL {daemon}")).code(0);
}
