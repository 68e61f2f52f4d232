//! The completion scripts in the real shells: commands, flags, and the names of breakers.

use crate::tools::{feed, needs};
use crate::util::{Done, Sandbox, brk};

/// A sandbox with breakers, and the shell's script in a file.
fn prepared(shell: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["api", "db backup", "db-main", "mail"] {
        sandbox.run(&["run", "--name", name, "--", "true"]).code(0);
    }
    sandbox.run(&["--state-dir", "other", "trip", "elsewhere"]).code(0);
    let done = sandbox.run(&["completions", shell]);
    done.code(0);
    sandbox.write("script", done.stdout());
    sandbox
}

fn run(sandbox: &Sandbox, shell: &[&str], script: &str) -> Done {
    let bin = std::path::Path::new(brk()).parent().expect("a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    // A shell that waits for what never comes is a failure, not a hang.
    let mut command = sandbox.command("timeout");
    command.env("PATH", format!("{}:{path}", bin.display())).env("TERM", "xterm").arg("60").args(shell);
    feed(command, script)
}

/// What bash offers for these words, the last of which is being typed.
fn bash(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "source ./script\n\
         registered=$(complete -p brk); registered=${{registered#* -F }}\n\
         COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
         compopt() {{ :; }}\n\
         ${{registered%% *}} brk \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        quoted.join(" ")
    );
    let done = run(sandbox, &["bash", "--norc", "--noprofile"], &script);
    done.code(0);
    assert_eq!(done.stderr(), "", "{}", done.all());
    done.stdout().lines().map(str::to_owned).collect()
}

#[test]
fn bash_offers_commands_flags_and_names() {
    needs!("bash");
    let sandbox = prepared("bash");
    let check = |words: &[&str], expected: &[&str]| {
        assert_eq!(bash(&sandbox, words), expected, "for {words:?}");
    };
    check(&["brk", "hist"], &["history"]);
    check(&["brk", "status", "--js"], &["--json"]);
    check(&["brk", "run", "--slow-a"], &["--slow-after"]);
    let all = ["api", "db\\ backup", "db-main", "mail"];
    for verb in
        ["check", "explain", "history", "metrics", "status", "reset", "trip", "hold", "release", "forget"]
    {
        check(&["brk", verb, ""], &all);
    }
    check(&["brk", "history", "db-"], &["db-main"]);
    check(&["brk", "status", "api", "m"], &["mail"]);
    check(&["brk", "run", "--name", ""], &all);
    check(&["brk", "run", "--name", "=", "ma"], &["mail"]);
    check(&["brk", "run", "--profile", "cu"], &["curl"]);
    check(&["brk", "profiles", "rs"], &["rsync"]);
    check(&["brk", "hold", "api", ""], &["open", "closed"]);
    check(&["brk", "--state-dir", "other", "reset", ""], &["elsewhere"]);
    check(&["brk", "--state-dir", "=", "other", "reset", ""], &["elsewhere"]);
    check(&["brk", "--color", "never", "reset", "a"], &["api"]);
}

#[test]
fn fish_offers_commands_flags_and_names() {
    needs!("fish");
    let sandbox = prepared("fish");
    let check = |line: &str, expected: &[&str]| {
        let script = format!("source ./script\ncomplete -C '{line}'\n");
        let done = run(&sandbox, &["fish", "--no-config"], &script);
        done.code(0);
        let stdout = done.stdout();
        let offered: Vec<_> =
            stdout.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
        assert_eq!(offered, expected, "for {line:?}\n{}", done.all());
    };
    check("brk hist", &["history"]);
    check("brk status --js", &["--json"]);
    let all = ["api", "db backup", "db-main", "mail"];
    for verb in
        ["check", "explain", "history", "metrics", "status", "reset", "trip", "hold", "release", "forget"]
    {
        check(&format!("brk {verb} "), &all);
    }
    check("brk run --name ", &all);
    check("brk run --profile cur", &["curl"]);
    check("brk profiles rsy", &["rsync"]);
    check("brk hold api ", &["closed", "open"]);
    check("brk --state-dir other reset ", &["elsewhere"]);
    check("brk --state-dir=other reset ", &["elsewhere"]);
}

#[test]
fn zsh_offers_commands_flags_and_names() {
    needs!("zsh");
    let sandbox = prepared("zsh");
    std::fs::rename(sandbox.file("script"), sandbox.file("_brk")).expect("a new name");
    // A shell at a terminal of its own, asked by the key that lists what could come next. What is waited for is never
    // what was typed.
    let check = |line: &str, expected: &[&str]| {
        let script = format!(
            "zmodload zsh/zpty\n\
             zpty shell 'PS1=\"ready> \" zsh -f -i'\n\
             zpty -w shell 'fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; LISTMAX=0; echo se\"\"t'\n\
             zpty -r shell text '*set*ready> '\n\
             zpty -w -n shell '{line}'$'\\x04'\n\
             zpty -r shell text '*{}*'\n\
             print -r -- \"$text\"\n\
             zpty -d shell\n",
            expected.join("*")
        );
        let done = run(&sandbox, &["zsh", "-f"], &script);
        done.code(0);
        for word in expected {
            done.prints(word);
        }
    };
    check("brk hi", &["story"]);
    check("brk status --", &["--color", "--json", "--names", "--watch"]);
    for verb in ["history", "status", "hold", "reset"] {
        check(&format!("brk {verb} "), &["api", "db\\ backup", "db-main", "mail"]);
    }
    check("brk run --name=", &["api", "mail"]);
    check("brk profiles ", &["curl", "rsync"]);
    check("brk hold api ", &["closed", "open"]);
    check("brk --state-dir other reset e", &["lsewhere"]);
}
