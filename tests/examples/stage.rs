//! A sandbox where the programs of the examples exist, and work, fail or hang as a file says.

use std::io::Read;
use std::process::{Command, Stdio};

use super::source::Block;
use crate::process::{Running, Start, Sweeper, left, send_signal};
use crate::server::Server;
use crate::util::{Sandbox, brk, until};

/// The address of the examples' shared store.
const STORE: &str = "redis://redis.example.com/0";

const PROGRAMS: &[&str] = &[
    "pg_dump",
    "pg_isready",
    "mysqldump",
    "curl",
    "wget",
    "docker",
    "podman",
    "ssh",
    "rsync",
    "restic",
    "borg",
    "rclone",
    "mbsync",
    "certbot",
    "mail",
    "logger",
    "CMD",
];

const OWN_PROGRAMS: &[&str] = &["sync", "nightly-report", "job", "report", "backup"];

/// What they do. A message to somebody is no dependency; a container's command is run; the rest depends on `world`.
const PROGRAM: &str = r#"#!/bin/sh
me=${0##*/}
case "$me $*" in
    "mail "* | *"@-"*) cat >/dev/null; echo >>"$HOME/sent"; exit 0 ;;
    "logger "* | *"//chat."* | *"//hooks."* | *"//log."* | *"//health."* | *"//hc."*) echo >>"$HOME/sent"; exit 0 ;;
    "docker run "* | "podman run "*) while [ "$1" != brk ]; do shift; done; exec "$@" ;;
esac
read world <"$HOME/world"
if [ "$world" = hangs ]; then
    echo >"$HOME/hanging"
    exec sleep 600
fi
if [ "$world" = works ]; then
    case "$me $*" in
        "pg_dump "*-f* | "pg_dump "*--file* | pg_isready\ *-q*) ;;
        "pg_dump "* | "mysqldump "*) echo '-- the dump' ;;
        "pg_isready "*) echo 'accepting connections' ;;
        "curl "*" -o "*)
            while [ "$1" != -o ]; do shift; done
            echo '{"sky": "blue"}' >"$2"
            ;;
        "curl "*) echo '{"sky": "blue"}' ;;
        "docker "* | "podman "*) echo 'Status: Image is up to date' ;;
        "ssh "*) echo ' 03:00:00 up 9 days' ;;
        "restic "* | "borg "*) echo 'snapshot saved' ;;
    esac
    exit 0
fi
case $me in
    pg_isready) case "$*" in *-q*) ;; *) echo 'no response' ;; esac; exit 2 ;;
esac
echo "$me: the dependency is down" >&2
case $me in
    curl) exit 7 ;;
    wget) exit 4 ;;
    podman) exit 125 ;;
    ssh) exit 255 ;;
    rsync) exit 10 ;;
    mysqldump | borg) exit 2 ;;
    *) exit 1 ;;
esac
"#;

/// How often each is run while the dependency is in a state.
const FEW: usize = 2;
const MANY: usize = 10;
const HANGING: usize = 4;

/// How the runs of each of the block's examples ended: `1!*3` is three that exited with 1 and printed something, and
/// `1@` one whose hook told somebody.
pub fn play(block: &Block) -> Vec<String> {
    let mut told = vec![String::new(); block.units.len()];
    let mut tell = |phase: &str, runs: Vec<String>| {
        for (told, runs) in told.iter_mut().zip(runs) {
            *told += &format!("{}{phase} {runs}", if told.is_empty() { "" } else { "  " });
        }
    };
    let stage = Stage::new(block);
    tell("works", stage.runs("works", FEW));
    tell("fails", stage.runs("fails", MANY));
    stage.make_due();
    tell("recovers", stage.runs("works", FEW));
    let stage = Stage::new(block);
    tell("hangs", stage.runs("hangs", HANGING));
    stage.make_due();
    tell("recovers", stage.runs("works", FEW));
    told
}

struct Stage {
    sandbox: Sandbox,
    units: Vec<String>,
    config: Option<String>,
    has_timeout: Vec<bool>,
    server: Option<Server>,
}

impl Stage {
    fn new(block: &Block) -> Stage {
        let sandbox = Sandbox::new();
        for dir in [
            "bin",
            ".config/brk",
            ".config/fish/completions",
            ".zfunc",
            ".local/share/bash-completion/completions",
        ] {
            std::fs::create_dir_all(sandbox.file(dir)).expect("a directory");
        }
        for dir in ["lib/prometheus/node-exporter", "lib/node_exporter", "backups", "log"] {
            std::fs::create_dir_all(sandbox.file("var").join(dir)).expect("a directory");
        }
        std::os::unix::fs::symlink(brk(), sandbox.file("bin/brk")).expect("brk");
        for program in PROGRAMS {
            sandbox.script(&format!("bin/{program}"), PROGRAM);
        }
        for program in OWN_PROGRAMS {
            sandbox.script(program, PROGRAM);
        }
        let mut server = None;
        let mut here = |text: &String| {
            // By a word that no path has, for the sandbox may be below /var itself.
            let var = sandbox.file("var").display().to_string();
            let mut text = text.replace("/var/lib/brk", "BRK-STATE").replace("/var/", "VAR-HERE/");
            text =
                text.replace("BRK-STATE", &sandbox.state().display().to_string()).replace("VAR-HERE", &var);
            for dir in ["/usr/local/bin/", "/usr/bin/"] {
                text = text.replace(dir, "");
            }
            if text.contains(STORE) {
                text = text.replace(STORE, &server.get_or_insert_with(Server::start).url());
            }
            text
        };
        let units: Vec<_> = block.units.iter().map(&mut here).collect();
        let config = block.config.as_ref().map(&mut here);
        let is_timed = |text: &String| text.contains("--timeout ") || text.contains("\ntimeout = ");
        let has_timeout =
            units.iter().map(|unit| is_timed(unit) || config.as_ref().is_some_and(is_timed)).collect();
        Stage { sandbox, units, config, has_timeout, server }
    }

    fn has_runs(&self) -> bool {
        self.units.iter().any(|unit| unit.contains("brk run "))
    }

    fn set(&self, world: &str) {
        self.sandbox.write("world", format!("{world}\n"));
        if let Some(config) = &self.config {
            self.sandbox.write(".config/brk/config.toml", in_time(config, world));
        }
        if self.has_runs() {
            return;
        }
        // They look at breakers, or change them: here are some that have met this world.
        for name in ["db", "db-backup", "mail"] {
            let flags = ["run", "--name", name, "--failures", "1", "--timeout", "300ms"];
            self.sandbox.run(&[&flags[..], &["--", "bin/pg_dump", "-f", "dump"]].concat());
        }
    }

    /// How the runs of each example end. What only looks needs no second look.
    fn runs(&self, world: &str, times: usize) -> Vec<String> {
        self.set(world);
        let mut ends: Vec<Vec<String>> = vec![Vec::new(); self.units.len()];
        for _ in 0..if self.has_runs() { times } else { 1 } {
            for (unit, ends) in ends.iter_mut().enumerate() {
                ends.push(self.run(unit, world));
            }
        }
        ends.iter().map(|ends| in_short(ends)).collect()
    }

    fn run(&self, unit: usize, world: &str) -> String {
        let text = &in_time(&self.units[unit], world);
        let _sweeper = Sweeper(&self.sandbox);
        let _ = std::fs::remove_file(self.sandbox.file("hanging"));
        let sent = self.sandbox.read("sent").len();
        let mut running = self.command(text).start();
        let words = text.split(" #").next().unwrap_or_default();
        if words.contains("--watch") || words.contains("--follow") {
            return self.endless(running);
        }
        if !self.has_timeout[unit] {
            until("the command ends or hangs", || {
                self.sandbox.file("hanging").exists() || running.try_wait().expect("a child").is_some()
            });
            if running.try_wait().expect("a child").is_none() {
                return self.until_stopped(running);
            }
        }
        let done = running.finish();
        let code = done.status().code().unwrap_or_else(|| panic!("{}", done.all()));
        let all = done.stdout() + &done.stderr();
        assert!(code != 127 && !all.contains("not found"), "a program has no stand-in: {text}\n{all}");
        assert!(code != 125 && code != 2, "brk does not accept it: {text}\n{all}");
        let printed = if all.is_empty() { "" } else { "!" };
        format!("{code}{printed}{}", if self.sandbox.read("sent").len() > sent { "@" } else { "" })
    }

    /// Nothing ends it but a signal, which it gets.
    fn until_stopped(&self, running: Running) -> String {
        self.signal("TERM");
        // What the shell says of that is not brk's.
        running.finish();
        "stopped".to_owned()
    }

    /// It prints, and goes on until Ctrl-C.
    fn endless(&self, mut running: Running) -> String {
        let mut byte = [0];
        let mut pipe = running.stdout.take().expect("a pipe");
        let read = pipe.read(&mut byte).expect("an output");
        self.signal("INT");
        running.finish();
        drop(pipe);
        format!("endless{}", if read > 0 { "!" } else { "" })
    }

    /// Signals the `brk` that runs.
    fn signal(&self, signal: &str) {
        let here = left(&self.sandbox);
        let (brk, _) =
            here.iter().find(|(_, line)| line.starts_with("brk ")).unwrap_or_else(|| panic!("{here:?}"));
        send_signal(*brk, signal);
    }

    fn command(&self, script: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = self.sandbox.command("sh");
        command.env("PATH", format!("{}:{path}", self.sandbox.file("bin").display())).arg("-c").arg(script);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Ends the cooldown of what is open.
    fn make_due(&self) {
        let store = self.server.as_ref().map(Server::url).unwrap_or_default();
        let names = self.sandbox.run(&["--store", &store, "status", "--names"]).stdout();
        for name in names.lines() {
            let check = self.sandbox.run(&["--store", &store, "check", "--quiet", name]);
            if check.status().code() == Some(75) {
                self.sandbox.run(&["--store", &store, "trip", name, "--for", "0"]);
            }
        }
    }
}

/// `["1!", "1!", "75"]` is `1!*2 75`.
fn in_short(ends: &[String]) -> String {
    let mut short: Vec<(String, usize)> = Vec::new();
    for end in ends {
        match short.last_mut() {
            Some((last, count)) if last == end => *count += 1,
            _ => short.push((end.clone(), 1)),
        }
    }
    let words =
        short.iter().map(|(end, count)| if *count == 1 { end.clone() } else { format!("{end}*{count}") });
    words.collect::<Vec<_>>().join(" ")
}

/// A text whose timeouts are short if that is what is waited for.
fn in_time(text: &str, world: &str) -> String {
    let mut short = text.to_owned();
    if world != "hangs" {
        return short;
    }
    for (start, end) in [("--timeout ", " "), ("\ntimeout = \"", "\"")] {
        let mut done = String::new();
        while let Some(at) = short.find(start) {
            let (before, rest) = short.split_at(at + start.len());
            let rest = &rest[rest.find(end).unwrap_or(rest.len())..];
            done += &format!("{before}300ms");
            short = rest.to_owned();
        }
        short = done + &short;
    }
    short
}
