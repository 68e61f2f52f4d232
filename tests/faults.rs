//! Faults at every step: `brk` is killed at each system call of a run that touches state, and each call that could
//! fail is made to fail. After each: the state is one that an unharmed run passes through, the next run works, and no
//! two probes were ever alive together.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::tools::needs;
use crate::util::{Done, Sandbox, brk, finish, scale, until};

/// A situation, and the run that meets it.
struct Scene {
    what: &'static str,
    /// Makes the state, in a fresh sandbox.
    prepare: fn(&Sandbox),
    flags: &'static [&'static str],
    exit: i32,
}

const SCENES: [Scene; 7] = [
    Scene { what: "first run", prepare: |_| (), flags: &[], exit: 3 },
    Scene { what: "closed", prepare: |sandbox| play(sandbox, &[0]), flags: &[], exit: 3 },
    Scene { what: "tripping", prepare: |sandbox| play(sandbox, &[3]), flags: &["--failures", "2"], exit: 3 },
    Scene { what: "closing", prepare: due, flags: &[], exit: 0 },
    Scene { what: "opening again", prepare: due, flags: &[], exit: 3 },
    Scene { what: "refused", prepare: open, flags: &[], exit: 3 },
    Scene { what: "compacting", prepare: full, flags: &["--failures", "2"], exit: 3 },
];

fn play(sandbox: &Sandbox, exits: &[i32]) {
    for exit in exits {
        let script = format!("exit {exit}");
        sandbox.run(&["run", "--name", "n", "--cooldown", "1h", "--", "sh", "-c", &script]).code(*exit);
    }
}

fn due(sandbox: &Sandbox) {
    play(sandbox, &[0]);
    sandbox.run(&["trip", "n", "--for", "0"]).code(0);
}

fn open(sandbox: &Sandbox) {
    sandbox.run(&["trip", "n", "--for", "1h"]).code(0);
    // Two refusals: the next is counted in place.
    for _ in 0..2 {
        sandbox.run(&["run", "--name", "n", "--", "true"]).code(75);
    }
}

fn full(sandbox: &Sandbox) {
    play(sandbox, &[3]);
    let path = sandbox.state().join("n.journal");
    let line = fs::read(&path).expect("a journal");
    fs::write(&path, line.repeat((1 << 20) / line.len() + 1)).expect("a journal");
}

/// What a fault may leave: the part of the status that a run of one scene can change.
fn state(sandbox: &Sandbox) -> Value {
    let done = sandbox.run(&["status", "n", "--json"]);
    let status: Value = serde_json::from_str(&done.stdout()).unwrap_or_default();
    let breaker = &status["breakers"][0];
    let totals = &breaker["totals"];
    let totals = ["success", "failure", "late", "refused", "opened"].map(|key| totals[key].clone());
    // A probe that was lost may be in it or buried already.
    serde_json::json!([
        breaker["phase"],
        breaker["streak"],
        breaker["level"],
        breaker["window"]["total"],
        totals
    ])
}

fn copy(from: &Path, to: &Path) {
    if !from.exists() {
        return;
    }
    fs::create_dir(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
    }
}

/// A scene with its reference: the states that an unharmed run passes through, and its system calls.
struct Stage {
    scene: &'static Scene,
    template: Sandbox,
    states: Vec<Value>,
    /// Each with its ordinal among the calls of its name, and the text of the call.
    calls: Vec<(String, usize, String)>,
}

/// The command of every run: it notices company, says that it was launched, and looks at the state.
fn script(exit: i32) -> String {
    format!(
        "exec 9>gate; flock -n 9 || echo x > company; echo x >> launched; {} status n --json > middle 2> /dev/null; exit {exit}",
        brk()
    )
}

/// A run of the scene under strace with these options.
fn traced(sandbox: &Sandbox, scene: &Scene, options: &[&str], flags: &[&str]) -> Done {
    let mut command = sandbox.command("strace");
    command.args(["-qq", "-o", "trace"]).args(options).args([
        brk(),
        "run",
        "--name",
        "n",
        "--cooldown",
        "1h",
    ]);
    command.args(scene.flags).args(flags).args(["--", "sh", "-c", &script(scene.exit)]);
    finish(command)
}

impl Stage {
    fn new(scene: &'static Scene) -> Stage {
        let template = Sandbox::new();
        (scene.prepare)(&template);
        let sandbox = Sandbox::new();
        copy(&template.state(), &sandbox.state());
        let mut states = vec![state(&sandbox)];
        traced(&sandbox, scene, &[], &[]);
        let middle: Value = serde_json::from_str(&sandbox.read("middle")).unwrap_or_default();
        sandbox.write("middle", "");
        let after = state(&sandbox);
        // The state after admission is seen by the command itself.
        if let Some(breaker) = middle["breakers"].get(0) {
            let totals =
                ["success", "failure", "late", "refused", "opened"].map(|key| breaker["totals"][key].clone());
            states.push(serde_json::json!([
                breaker["phase"],
                breaker["streak"],
                breaker["level"],
                breaker["window"]["total"],
                totals
            ]));
        }
        states.push(after);
        let mut ordinals: HashMap<String, usize> = HashMap::new();
        let mut calls = Vec::new();
        let mut touches_state = false;
        let dir = sandbox.state().to_string_lossy().into_owned();
        for line in sandbox.read("trace").lines() {
            let Some((name, rest)) = line.split_once('(') else { continue };
            if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                continue;
            }
            let ordinal = ordinals.entry(name.to_owned()).or_default();
            *ordinal += 1;
            touches_state |= rest.contains(&dir) && name != "execve";
            if touches_state {
                calls.push((name.to_owned(), *ordinal, rest.replace(&dir, "STATE")));
            }
        }
        assert!(calls.len() > 12, "{}: {calls:?}", scene.what);
        Stage { scene, template, states, calls }
    }

    /// A fresh sandbox in the state of the scene.
    fn sandbox(&self) -> Sandbox {
        let sandbox = Sandbox::new();
        copy(&self.template.state(), &sandbox.state());
        sandbox
    }

    /// What must hold after any fault.
    fn verify(&self, sandbox: &Sandbox) -> Result<(), String> {
        let found = state(sandbox);
        if !self.states.contains(&found) {
            return Err(format!("a state that no run passes through: {found}, not of {:?}", self.states));
        }
        // An open breaker refuses; one that is due, or was due when its prober died, admits.
        let is_open = sandbox.run(&["check", "n"]).stdout().contains("open after");
        // What is left of a killed probe ends by itself; then the next run works.
        let mut last = None;
        until("the next run works", || {
            let done = sandbox.run(&["run", "--name", "n", "--cooldown", "1h", "--", "sh", "-c", &script(0)]);
            let is_probing = done.stderr().contains("being probed");
            last = Some(done);
            !is_probing
        });
        let done = last.expect("a run");
        let expected = if is_open { 75 } else { 0 };
        let lines = done.stderr().lines().count();
        if done.status().code() != Some(expected) || lines != usize::from(is_open) {
            return Err(format!("the next run: {}", done.all()));
        }
        if sandbox.file("company").exists() {
            return Err("two probes were alive together".to_owned());
        }
        sandbox.run(&["reset", "n"]).code(0);
        let files: Vec<PathBuf> = fs::read_dir(sandbox.state())
            .expect("a directory")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        let is_known = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            ["n.lock", "n.journal", "n.probe-0"].contains(&name.as_str()) || name.starts_with("n.new-")
        };
        let foreign: Vec<&PathBuf> = files.iter().filter(|path| !is_known(path)).collect();
        if foreign.is_empty() { Ok(()) } else { Err(format!("left behind: {foreign:?}")) }
    }

    /// Kills `brk` on entering each of its calls; gives how many kills hit.
    fn kill_everywhere(&self) -> usize {
        let mut hit = 0;
        for (name, ordinal, text) in &self.calls {
            if scale(!CRITICAL.contains(&name.as_str()), name == "exit_group") {
                continue;
            }
            let sandbox = self.sandbox();
            let inject = format!("inject={name}:signal=SIGKILL:when={ordinal}");
            let done = traced(&sandbox, self.scene, &["-e", &inject], &[]);
            use std::os::unix::process::ExitStatusExt;
            hit += usize::from(done.status().signal() == Some(9));
            if let Err(error) = self.verify(&sandbox) {
                panic!("{}: killed at {name} {ordinal} ({text}): {error}\n{}", self.scene.what, done.all());
            }
        }
        hit
    }

    /// Makes each call that touches state fail in several ways; gives how many faults were injected.
    fn fail_everywhere(&self) -> usize {
        let mut injected = 0;
        for (name, ordinal, text) in &self.calls {
            let is_of_state = match name.as_str() {
                "open" | "openat" | "mkdir" | "unlink" | "rename" => text.contains("STATE"),
                name => FAILING.contains(&name),
            };
            if !is_of_state || text.contains(" = -1 ") {
                continue;
            }
            let errors = scale(&["ENOSPC", "EACCES"][..], &["ENOSPC", "EIO", "EDQUOT", "EACCES"]);
            for (turn, error) in errors.iter().enumerate() {
                let sandbox = self.sandbox();
                let inject = format!("inject={name}:error={error}:when={ordinal}");
                let flags: &[&str] = if turn % 2 == 0 { &[] } else { &["--on-state-error", "refuse"] };
                let done = traced(&sandbox, self.scene, &["-e", &inject], flags);
                let told =
                    format!("{}: {name} {ordinal} ({text}) gives {error}\n{}", self.scene.what, done.all());
                let launches = sandbox.read("launched").lines().count();
                let is_refused = done.status().code() == Some(75);
                let is_unlaunched = !flags.is_empty() && done.status().code() == Some(125);
                assert!(launches <= 1, "{told}");
                if launches == 1 {
                    assert_eq!(done.status().code(), Some(self.scene.exit), "{told}");
                } else {
                    assert!(is_refused && self.scene.what == "refused" || is_unlaunched, "{told}");
                }
                assert!(done.stderr().lines().count() <= 1 + usize::from(is_refused), "{told}");
                assert!(!done.stderr().contains("panicked"), "{told}");
                if let Err(error) = self.verify(&sandbox) {
                    panic!("{error}\n{told}");
                }
                injected += 1;
            }
        }
        injected
    }
}

/// The calls that an ordinary run of the tests is killed at; the long one takes all.
const CRITICAL: [&str; 11] = [
    "open",
    "openat",
    "flock",
    "pwrite64",
    "fdatasync",
    "fsync",
    "rename",
    "ftruncate",
    "unlink",
    "mkdir",
    "execve",
];

const FAILING: [&str; 6] = ["flock", "pwrite64", "fdatasync", "fsync", "ftruncate", "pread64"];

fn killed(number: usize) {
    let stage = Stage::new(&SCENES[number]);
    let hit = stage.kill_everywhere();
    println!("proof: crash points: {}: {hit} kills", stage.scene.what);
    assert!(hit >= 4, "{}: only {hit} kills hit", stage.scene.what);
}

fn failed(number: usize) {
    let stage = Stage::new(&SCENES[number]);
    let injected = stage.fail_everywhere();
    println!("proof: faults: {}: {injected} injected", stage.scene.what);
    assert!(injected >= 8, "{}: only {injected} faults", stage.scene.what);
}

/// How often each scene's run syncs the journal: once for each change of phase, and never for a count.
const CHANGES: [usize; 7] = [0, 0, 1, 2, 2, 0, 2];

#[test]
fn changes_of_phase_are_synced_and_counts_are_not() {
    needs!("strace");
    for (scene, changes) in SCENES.iter().zip(CHANGES) {
        let stage = Stage::new(scene);
        let names: Vec<&str> = stage.calls.iter().map(|(name, ..)| name.as_str()).collect();
        let synced: Vec<usize> =
            names.iter().enumerate().filter(|(_, name)| **name == "fdatasync").map(|(at, _)| at).collect();
        assert_eq!(synced.len(), changes, "{}: {names:?}", scene.what);
        for at in synced {
            // What was written, then the directory that may have got a new file, before anything else is done. In
            // between, the lock is given up: nobody waits for the disk of another.
            let before = names[..at].iter().rfind(|name| !["close", "fcntl"].contains(name));
            let is_written = before.is_some_and(|before| ["pwrite64", "write"].contains(before));
            let next = names[at + 1..].iter().find(|name| !["open", "openat", "fstat"].contains(name));
            assert!(is_written && next.is_some_and(|next| ["fsync", "rename"].contains(next)), "{names:?}");
        }
    }
}

#[test]
fn killed_in_a_first_run() {
    needs!("strace");
    killed(0);
}

#[test]
fn killed_while_closed() {
    needs!("strace");
    killed(1);
}

#[test]
fn killed_while_tripping() {
    needs!("strace");
    killed(2);
}

#[test]
fn killed_while_closing() {
    needs!("strace");
    killed(3);
}

#[test]
fn killed_while_opening_again() {
    needs!("strace");
    killed(4);
}

#[test]
fn killed_while_being_refused() {
    needs!("strace");
    killed(5);
}

#[test]
fn killed_while_compacting() {
    needs!("strace");
    killed(6);
}

#[test]
fn faults_in_a_first_run() {
    needs!("strace");
    failed(0);
}

#[test]
fn faults_while_tripping() {
    needs!("strace");
    failed(2);
}

#[test]
fn faults_while_closing() {
    needs!("strace");
    failed(3);
}

#[test]
fn faults_while_being_refused() {
    needs!("strace");
    failed(5);
}

#[test]
fn faults_while_compacting() {
    needs!("strace");
    failed(6);
}

#[test]
fn the_harness_notices_a_break() {
    needs!("strace");
    let stage = Stage::new(&SCENES[2]);
    assert_eq!(stage.verify(&stage.sandbox()), Ok(()));
    let breaks: [fn(&Sandbox); 5] = [
        // A result that nobody reported, one that was lost, a lock that cannot be taken, company, a foreign file.
        |sandbox| play(sandbox, &[0, 0]),
        |sandbox| fs::remove_file(sandbox.state().join("n.journal")).expect("removed"),
        |sandbox| {
            fs::remove_file(sandbox.state().join("n.lock")).expect("removed");
            fs::create_dir(sandbox.state().join("n.lock")).expect("a directory");
        },
        |sandbox| drop(sandbox.write("company", "x\n")),
        |sandbox| fs::write(sandbox.state().join("n.tmp"), "").expect("a file"),
    ];
    for (number, break_it) in breaks.iter().enumerate() {
        let sandbox = stage.sandbox();
        break_it(&sandbox);
        assert!(stage.verify(&sandbox).is_err(), "break {number} went unnoticed");
    }
    println!("proof: breaks: crash points and faults: {0} of {0} noticed", breaks.len());
}
