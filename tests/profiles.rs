//! The tables of `--profile` against the real programs: what a dead dependency makes of them is a failure, and what no
//! waiting can mend is none, if the program says so. What a program's every code means is tested beside the tables.

use crate::tools::needs;
use crate::util::Sandbox;

/// A port below those that are given out, and that nothing listens on.
const DEAD: &str = "127.0.0.1:1";

/// Runs a command line under a profile, and requires its exit code and what it counted as.
#[track_caller]
fn check(profile: &str, line: &str, code: i32, counted: &str) {
    let sandbox = Sandbox::new();
    let mailbox = "IMAPAccount a\nHost 127.0.0.1\nPort 1\nUser u\nPass p\nSSLType None\n\nIMAPStore far\nAccount a\n\n\
                   MaildirStore near\nPath m/\nInbox m/in\n\nChannel c\nFar :far:\nNear :near:\n";
    sandbox.write("mbsyncrc", mailbox);
    std::fs::create_dir(sandbox.file("m")).expect("a directory");
    std::fs::create_dir_all(sandbox.file("lists/partial")).expect("a directory");
    sandbox.write("sources.list", format!("deb http://{DEAD}/ stable main\n"));
    let done = sandbox.shell(&format!("brk run --name job --profile {profile} -- {line}"));
    done.code(code);
    let totals = &sandbox.status("job")["totals"];
    assert_eq!(totals[counted], 1, "{line} should be {counted}: {totals}\n{}", done.all());
}

#[test]
fn a_dead_dependency_is_a_failure() {
    needs!("pg_dump", "git", "mbsync", "tar", "apt-get");
    let apt = "-o Dir::State::lists=$PWD/lists -o Dir::Cache=$PWD -o Dir::Etc::sourcelist=$PWD/sources.list \
               -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root";
    for (profile, line, code) in [
        ("pg_dump", "pg_dump --host 127.0.0.1 --port 1 prod", 1),
        ("pg-dump", "pg_dumpall --host 127.0.0.1 --port 1", 1),
        ("git", "git ls-remote http://127.0.0.1:1/it.git", 128),
        ("mbsync", "mbsync --config mbsyncrc c", 1),
        ("tar", "tar --create --file gone/a.tar mbsyncrc", 2),
        ("apt-get", &format!("apt-get {apt} --error-on=any update"), 100),
    ] {
        check(profile, line, code, "failure");
    }
}

#[test]
fn a_wrong_option_is_ignored_if_the_program_tells_it_apart() {
    needs!("git", "tar");
    check("git", "git ls-remote --nothing", 129, "ignored");
    check("tar", "tar --nothing", 64, "ignored");
}

#[test]
fn a_documented_answer_is_a_success() {
    needs!("git", "tar");
    check("git", "sh -c 'git init --quiet --bare a && git ls-remote --exit-code ./a'", 2, "success");
    check(
        "tar",
        "sh -c 'tar --create --file a.tar mbsyncrc && echo more >>mbsyncrc && tar --diff --file a.tar'",
        1,
        "success",
    );
}

/// A dump that fails each night opens its breaker. Under the profile of another program it would go on for ever.
#[test]
fn the_breaker_of_a_dump_opens() {
    needs!("pg_dump");
    let sandbox = Sandbox::new();
    let dump = "brk run --name db --profile pg_dump -- pg_dump --host 127.0.0.1 --port 1 prod";
    for _ in 0..3 {
        sandbox.shell(dump).code(1).says("Connection refused");
    }
    sandbox.shell(dump).code(75).lacks("Connection refused");
}

#[test]
fn an_unknown_profile_is_told_with_those_that_there_are() {
    let sandbox = Sandbox::new();
    let done = sandbox.run(&["run", "--name", "a", "--profile", "pgdump", "--", "true"]);
    done.code(125).says("unknown profile; known profiles: base, curl, ").says(", tar");
    sandbox.run(&["profiles", "pgdump"]).code(2).says("unknown profile; known profiles: base, curl, ");
    for name in [
        "pg_dump",
        "pg_restore",
        "mysqldump",
        "tar",
        "docker-pull",
        "podman-pull",
        "certbot",
        "mbsync",
        "git",
        "apt-get",
    ] {
        sandbox.run(&["profiles", name]).code(0).prints("  source    ").prints("  version   ");
    }
}
