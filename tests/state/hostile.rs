//! Hostile directories and names: what stands in the place of our files is neither followed, nor opened, nor waited
//! for, and no name leaves the directory.

use super::*;

/// What can be put in the place of a file.
const INTRUDERS: [&str; 5] = ["link", "dangling link", "fifo", "directory", "socket"];

fn intrude(what: &str, path: &Path, victim: &Path) {
    let _ = fs::remove_file(path);
    match what {
        "link" => symlink(victim, path).expect("a link"),
        "dangling link" => symlink(victim.with_extension("nowhere"), path).expect("a link"),
        "fifo" => {
            let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
            assert!(made.success());
        }
        "directory" => fs::create_dir(path).expect("a directory"),
        "socket" => {
            // The path of a socket is short; a link to the directory makes it so.
            let dir = tempfile::tempdir().expect("a directory");
            let short = dir.path().join("s");
            symlink(path.parent().expect("a directory"), &short).expect("a link");
            std::os::unix::net::UnixListener::bind(short.join(path.file_name().expect("a name")))
                .expect("a socket");
        }
        other => panic!("no such intruder: {other}"),
    }
}

fn is_untouched(what: &str, path: &Path, victim: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = fs::symlink_metadata(path).expect("still there").file_type();
    let stands = match what {
        "link" | "dangling link" => kind.is_symlink(),
        "fifo" => kind.is_fifo(),
        "directory" => kind.is_dir(),
        _ => kind.is_socket(),
    };
    stands
        && fs::read(victim).expect("the victim") == b"precious\n"
        && !victim.with_extension("nowhere").exists()
}

#[test]
fn what_stands_in_the_place_of_a_file_is_left_alone() {
    for suffix in ["journal", "lock"] {
        for what in INTRUDERS {
            let sandbox = Sandbox::new();
            let victim = sandbox.write("victim", "precious\n");
            sandbox.run(&["run", "--name", "other", "--", "true"]).code(0);
            let path = sandbox.state().join(format!("n.{suffix}"));
            intrude(what, &path, &victim);
            let done = sandbox.run(&["run", "--name", "n", "--", "sh", "-c", "exit 3"]);
            done.code(3).says("warning").says("unguarded").says(&format!("n.{suffix}"));
            assert_eq!(done.stderr().lines().count(), 1, "{what} as {suffix}\n{}", done.all());
            let words = ["run", "--name", "n", "--on-state-error", "refuse", "--", "touch", "launched"];
            sandbox.run(&words).code(125);
            for words in [&["trip", "n"][..], &["hold", "n", "open"]] {
                sandbox.run(words).code(1);
            }
            // One that cannot be read hides no other.
            let done = sandbox.run(&["status"]);
            done.prints("other");
            assert!(is_untouched(what, &path, &victim), "{what} as {suffix}");
            assert!(!sandbox.file("launched").exists());
        }
    }
}

#[test]
fn what_stands_in_a_probes_place_does_not_wedge_the_breaker() {
    for what in INTRUDERS {
        let sandbox = Sandbox::new();
        let victim = sandbox.write("victim", "precious\n");
        sandbox.run(&["trip", "n", "--for", "0"]).code(0);
        let path = sandbox.state().join("n.probe-0");
        intrude(what, &path, &victim);
        let done = sandbox.run(&["run", "--name", "n", "--", "sh", "-c", "exit 0"]);
        done.code(0);
        assert_eq!(fs::read(&victim).expect("the victim"), b"precious\n", "{what}");
        assert!(!victim.with_extension("nowhere").exists(), "{what}");
        if what == "directory" {
            done.says("unguarded");
        } else {
            // What is no directory is moved out of the way, as any stale place.
            assert_eq!(sandbox.status("n")["phase"], "closed", "{what}\n{}", done.all());
        }
    }
}

#[test]
fn what_stands_in_a_slots_place_is_left_alone() {
    for what in INTRUDERS {
        let sandbox = Sandbox::new();
        let victim = sandbox.write("victim", "precious\n");
        sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
        let path = sandbox.state().join("n.slot-0");
        intrude(what, &path, &victim);
        let done = sandbox.run(&["run", "--name", "n", "--max-concurrent", "1", "--", "sh", "-c", "exit 3"]);
        done.code(3).says("warning").says("n.slot-0");
        assert!(is_untouched(what, &path, &victim), "{what}");
    }
}

#[test]
fn a_directory_that_is_a_link_is_the_owners_choice() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.file("real")).expect("a directory");
    symlink(sandbox.file("real"), sandbox.state()).expect("a link");
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0).quiet();
    assert!(sandbox.file("real/n.journal").is_file());
}

#[test]
fn a_link_to_a_file_elsewhere_is_not_a_way_out_of_setting_aside() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
    let journal = sandbox.state().join("n.journal");
    // A hard link has no other side to be followed to; damaged, it is set aside and its bytes stay.
    let twin = sandbox.file("twin");
    fs::write(&twin, "not a journal\n").expect("a file");
    fs::remove_file(&journal).expect("removed");
    fs::hard_link(&twin, &journal).expect("a hard link");
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0).says("set aside");
    assert_eq!(sandbox.read("twin"), "not a journal\n");
    assert_eq!(sandbox.status("n")["phase"], "closed");
}

#[test]
fn nothing_is_written_through_a_hard_link() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "n", "--for", "0"]).code(0);
    let suffixes = ["lock", "probe-0", "slot-0"];
    for suffix in suffixes {
        let victim = sandbox.write(suffix, "precious\n");
        let path = sandbox.state().join(format!("n.{suffix}"));
        let _ = fs::remove_file(&path);
        fs::hard_link(&victim, &path).expect("a hard link");
    }
    // The lock is only locked, and places are made anew.
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0).quiet();
    let limited = ["run", "--name", "n", "--max-concurrent", "1", "--", "sh", "-c", "exit 3"];
    sandbox.run(&limited).code(3).quiet();
    for suffix in suffixes {
        assert_eq!(sandbox.read(suffix), "precious\n", "{suffix}");
    }
}

/// Names that have broken somebody's program.
fn nasty() -> Vec<String> {
    let mut names: Vec<String> = [
        ".",
        "..",
        "...",
        "/",
        "//",
        "a/b",
        "../../etc/passwd",
        "/etc/passwd",
        "-",
        "--",
        "-x",
        "--name",
        "--json",
        "~",
        "~root",
        "$HOME",
        "$(id)",
        "`id`",
        "a b",
        " ",
        " lead",
        "trail ",
        "a'b",
        "a\"b",
        "a\\b",
        "*",
        "?",
        "[a]",
        "{a,b}",
        "!",
        "#",
        "%",
        "%2f",
        "%00",
        "%~",
        "%~a",
        "CON",
        "nul",
        "NUL",
        "n.journal",
        "n.lock",
        ".hidden",
        "n.probe-0",
        "x.corrupt-1",
        "A",
        "a",
        "ünï",
        "u\u{308}ni\u{308}",
        "ÜNÏ",
        "\u{202e}abc",
        "\u{feff}",
        "日本語",
        "👩‍👩‍👧",
        "a;b",
        "a|b",
        "a&b",
        "a>b",
        "a<b",
        "0",
        "-1",
        "true",
        "null",
        "NaN",
        "{}",
        "[]",
        "\u{a0}",
        "\u{2028}",
        "all",
        "--all",
        "open",
        "closed",
    ]
    .iter()
    .map(|name| (*name).to_owned())
    .collect();
    names.extend(["x".repeat(128), "/".repeat(128), "X".repeat(128), "é".repeat(64), "/".repeat(127)]);
    names
}

#[test]
fn any_name_is_safe_and_has_a_breaker_of_its_own() {
    let sandbox = Sandbox::new();
    let names = nasty();
    for (number, name) in names.iter().enumerate() {
        let code = i32::try_from(number % 100 + 1).expect("a code");
        let script = format!("exit {code}");
        let words = ["run", "--name", name, "--failures", "0", "--", "sh", "-c", &script];
        sandbox.run(&words).code(code).quiet();
    }
    let done = sandbox.run(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&done.stdout()).expect("JSON");
    let breakers = status["breakers"].as_array().expect("breakers");
    assert_eq!(breakers.len(), names.len());
    for (number, name) in names.iter().enumerate() {
        let found = breakers.iter().find(|breaker| breaker["name"] == name.as_str());
        let found = found.unwrap_or_else(|| panic!("{name:?} is not in the status"));
        assert_eq!(
            (&found["last"]["exit"], &found["totals"]["launched"]),
            (&(number % 100 + 1).into(), &1.into())
        );
    }
    // Each verb takes each name to the letter, and forgets that one alone.
    for (number, name) in names.iter().enumerate() {
        sandbox.run(&["check", "--", name]).code(0);
        sandbox.run(&["history", "--", name]).code(0);
        sandbox.run(&["forget", "--", name]).code(0);
        let done = sandbox.run(&["status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&done.stdout()).expect("JSON");
        assert_eq!(status["breakers"].as_array().map(Vec::len), Some(names.len() - number - 1), "{name:?}");
    }
    let outside: Vec<_> = fs::read_dir(sandbox.path())
        .expect("the sandbox")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name != "state")
        .collect();
    assert!(outside.is_empty(), "left the state directory: {outside:?}");
    let is_flat = |path: &Path| path.is_file();
    assert!(photograph(&sandbox.state()).iter().all(|(path, ..)| is_flat(path)));
}

#[test]
fn files_of_others_are_no_breakers() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
    for name in
        ["README", "n.journal.bak", ".journal", "A.journal", "%zz.journal", "n.new-1", "core", "x.lock"]
    {
        fs::write(sandbox.state().join(name), "something else\n").expect("a file");
    }
    let done = sandbox.run(&["status", "--json"]);
    done.code(0);
    let status: serde_json::Value = serde_json::from_str(&done.stdout()).expect("JSON");
    assert_eq!(status["breakers"].as_array().map(Vec::len), Some(1), "{status}");
    sandbox.run(&["reset", "--all"]).code(0);
    for name in ["README", "n.journal.bak", "A.journal"] {
        assert_eq!(fs::read(sandbox.state().join(name)).expect("still there"), b"something else\n");
    }
}
