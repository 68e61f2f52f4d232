//! `brk` on a terminal, under a shell with job control: what a person types reaches the command as if `brk` were not
//! there.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::process::{
    Running, Start, Sweeper, group, is_alive, is_stopped, left, parent, send_signal, stat, until_pid,
};
use crate::tools::needs;
use crate::util::{Sandbox, brk, until, until_file};

const CTRL_C: &str = "\x03";
const CTRL_Z: &str = "\x1a";
const CTRL_BACKSLASH: &str = "\x1c";

/// A pseudo-terminal and the leader of its session.
struct Terminal {
    /// None: hung up.
    keyboard: Option<Arc<File>>,
    screen: Arc<Mutex<String>>,
    /// Up to where the screen has been looked at.
    seen: usize,
    leader: Running,
}

impl Terminal {
    /// A command as the leader of a session on a new terminal.
    fn new(sandbox: &Sandbox, command: &[&str]) -> Terminal {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).expect("grantpt");
        unlockpt(&master).expect("unlockpt");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let open = || {
            let path = Path::new(name.to_str().expect("a path"));
            Stdio::from(File::options().read(true).write(true).open(path).expect("the terminal"))
        };
        let bin = Path::new(brk()).parent().expect("a directory").display();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut setsid: Command = sandbox.command("setsid");
        setsid.args(["--ctty", "--wait"]).args(command);
        setsid.env("PATH", format!("{bin}:{path}")).env("TERM", "dumb").env("PS1", "$ ").env("PS2", "");
        let leader = setsid.stdin(open()).stdout(open()).stderr(open()).start();
        let keyboard = Arc::new(File::from(master));
        let reader = Arc::downgrade(&keyboard);
        let screen = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 1024];
            let pause = rustix::event::Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
            while let Some(master) = reader.upgrade() {
                let mut fds = [rustix::event::PollFd::new(&*master, rustix::event::PollFlags::IN)];
                match rustix::event::poll(&mut fds, Some(&pause)) {
                    Ok(1..) => {}
                    _ => continue,
                }
                // An error says that nobody has the terminal open at the moment.
                let count = (&*master).read(&mut bytes).unwrap_or(0);
                shown.lock().expect("the screen").push_str(&String::from_utf8_lossy(&bytes[..count]));
                if count == 0 {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        Terminal { keyboard: Some(keyboard), screen, seen: 0, leader }
    }

    /// An interactive shell.
    fn shell(sandbox: &Sandbox) -> Terminal {
        let mut terminal = Terminal::new(sandbox, &["bash", "--norc", "--noprofile", "--noediting", "-i"]);
        terminal.shows("$ ");
        terminal
    }

    fn types(&mut self, keys: &str) {
        let mut keyboard: &File = self.keyboard.as_ref().expect("a terminal");
        keyboard.write_all(keys.as_bytes()).expect("the terminal");
    }

    /// The line is cut.
    fn hangs_up(&mut self) {
        self.keyboard = None;
    }

    /// Waits until a text appears that was not there at the last look.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        let screen = Arc::clone(&self.screen);
        let what = || format!("{text:?} on a screen that shows:\n{}", screen.lock().expect("the screen"));
        let deadline = std::time::Instant::now() + crate::util::PATIENCE;
        loop {
            let at = self.screen.lock().expect("the screen")[self.seen..].find(text);
            if let Some(at) = at {
                self.seen += at + text.len();
                return;
            }
            assert!(std::time::Instant::now() < deadline, "waited in vain for {}", what());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Runs a command line of `brk run` flags and a script of its own, which writes its number into `pid`. Gives the
    /// numbers of `brk` and of the command.
    #[track_caller]
    fn starts(&mut self, sandbox: &Sandbox, flags: &str, script: &str) -> (u32, u32) {
        drop(std::fs::remove_file(sandbox.file("pid")));
        sandbox.script("command", &format!("#!/bin/sh\necho $$ >pid\n{script}\n"));
        self.types(&format!("brk run --name x --failures 0 {flags} -- ./command\n"));
        let command = until_pid(&sandbox.file("pid"));
        (parent(command).expect("a parent"), command)
    }

    /// Asks the shell for the last status.
    #[track_caller]
    fn code(&mut self, expected: i32) {
        self.types("echo co''de=$?.\n");
        self.shows(&format!("code={expected}."));
    }
}

fn lines(sandbox: &Sandbox, name: &str) -> usize {
    sandbox.read(name).lines().count()
}

#[test]
fn one_ctrl_c_is_one_sigint() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    for round in 1..=3 {
        for name in ["got", "go"] {
            drop(std::fs::remove_file(sandbox.file(name)));
        }
        let script = "trap 'echo int >>got' INT; echo rea''dy; until [ -e go ]; do sleep 0.01; done; exit 5";
        terminal.starts(&sandbox, "", script);
        terminal.shows("ready");
        terminal.types(CTRL_C);
        until("the command is told", || lines(&sandbox, "got") > 0);
        sandbox.write("go", "");
        terminal.code(5);
        assert_eq!(lines(&sandbox, "got"), 1, "round {round}");
        assert_eq!(sandbox.history("x").last().expect("a run")["ending"], "interrupted");
    }
}

#[test]
fn ctrl_c_and_ctrl_backslash_end_both() {
    needs!("bash");
    for (key, code) in [(CTRL_C, 130), (CTRL_BACKSLASH, 131)] {
        let sandbox = Sandbox::new();
        let _sweeper = Sweeper(&sandbox);
        let mut terminal = Terminal::shell(&sandbox);
        let (brk, command) =
            terminal.starts(&sandbox, "--timeout 1000", "ulimit -c 0; echo rea''dy; exec sleep 1000");
        terminal.shows("ready");
        assert_eq!(group(brk), group(command), "one group on one terminal");
        terminal.types(key);
        terminal.code(code);
        assert!(!is_alive(brk) && !is_alive(command));
        assert_eq!(sandbox.events("x"), ["ignored"]);
    }
}

#[test]
fn ctrl_z_stops_both_and_fg_resumes_both() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    let (brk, command) =
        terminal.starts(&sandbox, "--timeout 1000", "echo rea''dy; read line; echo \"<$line>\"; exit 6");
    terminal.shows("ready");
    for _ in 0..3 {
        terminal.types(CTRL_Z);
        terminal.shows("Stopped");
        until("both are stopped", || is_stopped(brk) && is_stopped(command));
        terminal.types("fg\n");
        until("both are continued", || !is_stopped(brk) && !is_stopped(command));
    }
    terminal.types("typed\n");
    terminal.shows("<typed>");
    terminal.code(6);
}

#[test]
fn the_timer_stands_still_while_stopped() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    let (brk, command) = terminal.starts(&sandbox, "--timeout 3s", "echo rea''dy; read line; exit 6");
    terminal.shows("ready");
    terminal.types(CTRL_Z);
    terminal.shows("Stopped");
    until("both are stopped", || is_stopped(brk) && is_stopped(command));
    std::thread::sleep(Duration::from_millis(3_500));
    terminal.types("fg\n");
    until("both are continued", || !is_stopped(brk) && !is_stopped(command));
    terminal.types("typed\n");
    terminal.code(6);
}

#[test]
fn a_program_that_stops_itself_stops_the_job() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    for signal in ["STOP", "TSTP"] {
        drop(std::fs::remove_file(sandbox.file("pid")));
        let (brk, command) =
            terminal.starts(&sandbox, "", &format!("kill -{signal} $$; echo ba''ck; exit 6"));
        terminal.shows("Stopped");
        until("both are stopped", || is_stopped(brk) && is_stopped(command));
        terminal.types("fg\n");
        terminal.shows("back");
        terminal.code(6);
    }
}

#[test]
fn a_stopped_command_of_a_script_still_times_out() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    sandbox.write("script", "brk run --name x --timeout 300ms -- sh -c 'kill -STOP $$'; exit $?");
    terminal.types("sh ./script\n");
    terminal.code(124);
}

#[test]
fn reading_from_the_terminal_works() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    // At the prompt, and from a script, where the group is the script's.
    sandbox.write(
        "script",
        "brk run --name x --timeout 1000 -- sh -c 'echo rea''dy; read line; echo \"<$line>\"; exit 6'",
    );
    for line in [". ./script\n", "sh ./script\n", "sh ./script | cat; (exit ${PIPESTATUS[0]})\n"] {
        terminal.types(line);
        terminal.shows("ready");
        terminal.types("typed\n");
        terminal.shows("<typed>");
        terminal.code(6);
    }
}

#[test]
fn it_never_takes_the_terminal() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    sandbox.script("command", "#!/bin/sh\necho $$ >pid\nexec sleep 1000\n");
    sandbox.write("script", "echo $$ >script-pid; brk run --name x --timeout 1000 -- ./command; :");
    terminal.types("sh ./script\n");
    let (script, command) = (until_pid(&sandbox.file("script-pid")), until_pid(&sandbox.file("pid")));
    let foreground = stat(script, 8).and_then(|group| group.parse().ok());
    assert_eq!(foreground, group(script), "the script has the terminal");
    assert_eq!(group(command), group(script));
    assert_eq!(parent(command).and_then(group), group(script));
    terminal.types(CTRL_C);
    until("all are gone", || !is_alive(command) && !is_alive(script));
    terminal.code(130);
}

#[test]
fn siblings_in_a_pipeline_are_left_alone() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    let sibling = "sh -c 'cat; echo sib''ling; exit 3'";
    terminal.types(&format!(
        "brk run --name x --timeout 300ms -- sleep 1000 | {sibling}; echo co''des=${{PIPESTATUS[*]}}.\n"
    ));
    terminal.shows("sibling");
    terminal.shows("codes=124 3.");
    let flags = "--timeout 300ms --kill-after 0";
    terminal.types(&format!("brk run --name x {flags} -- sh -c 'trap \"\" TERM; sleep 1000' | {sibling}; echo co''des=${{PIPESTATUS[*]}}.\n"));
    terminal.shows("sibling");
    terminal.shows("codes=124 3.");
}

#[test]
fn a_tree_is_ended_on_a_terminal_too() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    let script = "trap '' TERM; sleep 1000 & setsid sleep 1000 & (sh -c 'sleep 1000 &' &); sleep 1000; :";
    for flags in [
        "--timeout 300ms --kill-after 200ms",
        "--timeout 300ms --kill-after 0",
        "--timeout 300ms --signal KILL",
    ] {
        terminal.starts(&sandbox, flags, script);
        terminal.code(124);
        let left = left(&sandbox);
        assert!(
            left.iter().all(|(_, line)| line.starts_with("bash") || line.starts_with("setsid")),
            "{left:?}"
        );
    }
}

#[test]
fn a_command_that_has_left_the_group_still_hears_the_keys() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    sandbox.script("sleeper", "#!/bin/sh\ntrap 'exit 9' INT\necho rea''dy\nwhile :; do sleep 0.01; done\n");
    // `timeout` goes into a group of its own.
    terminal.types("brk run --name x -- timeout 1000 ./sleeper\n");
    terminal.shows("ready");
    terminal.types(CTRL_C);
    terminal.code(9);
}

#[test]
fn a_background_job_that_reads_is_stopped_and_continued() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    sandbox.script("command", "#!/bin/sh\necho $$ >pid\nread line\necho \"<$line>\"\nexit 6\n");
    terminal.types("brk run --name x -- ./command &\n");
    let command = until_pid(&sandbox.file("pid"));
    let brk = parent(command).expect("a parent");
    until("both are stopped", || is_stopped(brk) && is_stopped(command));
    terminal.types("fg\n");
    until("both are continued", || !is_stopped(brk) && !is_stopped(command));
    terminal.types("typed\n");
    terminal.shows("<typed>");
    terminal.code(6);
}

#[test]
fn a_signal_from_a_process_is_passed_on_on_a_terminal_too() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    let script =
        "trap 'echo told >>got' USR1; echo rea''dy; until [ -e go ]; do sleep 0.01; done; exec sleep 1000";
    let (brk, _) = terminal.starts(&sandbox, "--kill-after 1000", script);
    terminal.shows("ready");
    send_signal(brk, "USR1");
    until_file(&sandbox.file("got"));
    sandbox.write("go", "");
    send_signal(brk, "TERM");
    terminal.code(143);
    assert_eq!(lines(&sandbox, "got"), 1);
}

#[test]
fn a_key_before_the_command_is_there_is_passed_on() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    // Two seconds before the new process is made, with signals already caught.
    terminal.types(
        "strace -f -o trace -e trace=clone -e inject=clone:delay_enter=2000000 brk run --name x -- sleep 1000\n",
    );
    until("brk catches SIGINT", || {
        left(&sandbox)
            .iter()
            .filter(|(_, line)| line.contains("/brk run") || line.starts_with("brk run"))
            .any(|(pid, _)| {
                let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
                caught.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 2 != 0)
            })
    });
    terminal.types(CTRL_C);
    terminal.code(130);
    until("all are gone", || !left(&sandbox).iter().any(|(_, line)| line.contains("1000")));
    assert_eq!(sandbox.events("x"), ["ignored"]);
}

#[test]
fn a_key_starts_no_clock() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    let script = "trap 'echo int >>got' INT; echo rea''dy; until [ -e go ]; do sleep 0.01; done; exit 5";
    terminal.starts(&sandbox, "--kill-after 0", script);
    terminal.shows("ready");
    terminal.types(CTRL_C);
    until("the command is told", || lines(&sandbox, "got") > 0);
    sandbox.write("go", "");
    terminal.code(5);
}

#[test]
fn a_hangup_ends_the_job() {
    needs!("bash");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut terminal = Terminal::shell(&sandbox);
    let (brk, command) = terminal.starts(
        &sandbox,
        "",
        "trap 'echo hup >>got; exit 7' HUP; echo rea''dy; while :; do sleep 0.01; done",
    );
    terminal.shows("ready");
    terminal.hangs_up();
    until("all are gone", || !is_alive(brk) && !is_alive(command));
    assert!(lines(&sandbox, "got") >= 1);
}

#[test]
fn the_leader_of_a_session_passes_a_hangup_on() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    sandbox.script(
        "command",
        "#!/bin/sh\ntrap 'echo hup >>got; exit 7' HUP\necho rea''dy\nwhile :; do sleep 0.01; done\n",
    );
    let mut terminal = Terminal::new(&sandbox, &[brk(), "run", "--name", "x", "--", "./command"]);
    terminal.shows("ready");
    // The kernel tells the leader, and nobody else.
    terminal.hangs_up();
    assert_eq!(terminal.leader.wait().expect("an end").code(), Some(7));
    assert_eq!(lines(&sandbox, "got"), 1);
}
