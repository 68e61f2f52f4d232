//! Where a shared store is: flags, variable and configuration, secrets, TLS.

use crate::server::{Host, Server, free_port};
use crate::tools::needs;
use crate::util::Sandbox;
#[cfg(feature = "tls")]
use crate::util::finish;

const SECRET: &str = "hunter2-secret";
const PASS: [&str; 5] = ["run", "--name", "x", "--", "true"];

#[test]
fn a_malformed_url_is_bad_usage() {
    let sandbox = Sandbox::new();
    for url in [
        "nonsense",
        "http://u:hunter2-secret@host",
        "redis://",
        "redis://:hunter2-secret@host:99999",
        "redis://h/x",
    ] {
        let host = Host::new(&sandbox, "one", url);
        for (words, code) in [(&PASS[..], 125), (&["status"], 2), (&["trip", "x"], 2), (&["forget", "x"], 2)]
        {
            let done = host.run(words);
            done.code(code).says("BRK_STORE: ").says("redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]");
            assert!(
                !done.all().split("stderr:").nth(1).unwrap_or_default().contains(SECRET),
                "{}",
                done.all()
            );
        }
        let done = Host::new(&sandbox, "one", "").run(&[&["--store", url][..], &PASS].concat());
        done.code(125).says("--store: ");
        assert_eq!(done.stderr().lines().count(), 1);
    }
}

#[test]
fn a_flag_beats_the_variable_and_that_the_configuration() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let nowhere = format!("redis://127.0.0.1:{}", free_port());
    let store = |host: &Host, words: &[&str]| {
        let done = host.run(&[words, &["status", "--json", "x"]].concat());
        serde_json::from_str::<serde_json::Value>(done.code(0).stdout().as_str()).expect("JSON")["breakers"]
            [0]["store"]
            .clone()
    };
    let ours = format!("{}/0", server.url());
    let host = server.host(&sandbox, "one");
    host.run(&PASS).code(0);
    assert_eq!(store(&host, &[]), ours);
    assert_eq!(store(&host.with_store(&nowhere).with_store(""), &["--store", &server.url()]), ours);
    assert_eq!(store(&host.with_store(&nowhere), &["--store", &server.url()]), ours);
    let config = sandbox.write("config.toml", format!("[defaults]\nstore = \"{}\"\n", server.url()));
    let config = config.to_str().expect("text");
    assert_eq!(store(&host.with_store(""), &["--config", config]), ours);
    let own = host.with_store("");
    own.run(&PASS).code(0);
    assert_ne!(
        store(&own, &["--config", config, "--store", ""]),
        ours,
        "an empty URL is this host's own files"
    );
}

#[test]
fn what_the_configuration_says_is_checked_and_masked() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start_with(&["--requirepass", SECRET]));
    let host = server.host(&sandbox, "one").with_store("");
    let url = format!("redis://:{SECRET}@127.0.0.1:{}", server.port());
    let config = sandbox.write("config.toml", format!("[defaults]\ncooldown = \"2m\"\nstore = \"{url}\"\n"));
    let config = config.to_str().expect("text");
    host.run(&[&["--config", config][..], &PASS].concat()).code(0).quiet();
    let done = host.run(&["--config", config, "config", "x"]);
    done.code(0).prints(&format!("store = \"redis://127.0.0.1:{}/0\"  # {config}:3\n", server.port()));
    assert!(!done.stdout().contains(SECRET), "{}", done.all());

    let config = sandbox.write("bad.toml", format!("[defaults]\nstore = \"reds://:{SECRET}@host\"\n"));
    let config = config.to_str().expect("text");
    for words in [&PASS[..], &["config", "--check"]] {
        let done = host.run(&[&["--config", config][..], words].concat());
        done.says(&format!("{config}:2: ")).says("scheme");
        assert!(!done.stderr().contains(SECRET), "{}", done.all());
        assert_ne!(done.status().code(), Some(0));
    }
    let config = sandbox.write("section.toml", "[breaker.x]\nstore = \"redis://host\"\n");
    let config = config.to_str().expect("text");
    host.run(&["--config", config, "config", "--check"]).code(2).says(":2: store: ").says("[defaults]");
}

#[test]
fn a_password_is_neither_shown_nor_kept() {
    needs!("redis-server", "redis-cli");
    let (sandbox, mut server) = (Sandbox::new(), Server::start_with(&["--requirepass", SECRET]));
    let url = format!("redis://:{SECRET}@127.0.0.1:{}", server.port());
    let host = Host::new(&sandbox, "one", &url);
    let file = sandbox.write("password", format!("{SECRET}\n"));
    let with_file = ["--store-password-file", file.to_str().expect("text")];
    let by_file = server.host(&sandbox, "two");
    by_file.run(&[&with_file[..], &PASS].concat()).code(0).quiet();
    let mut said = String::new();
    let words: [&[&str]; 7] = [
        &["run", "--name", "x", "--failures", "1", "--report", "report", "--", "false"],
        &["run", "--name", "x", "--on-change", "env", "--", "true"],
        &["status", "x"],
        &["status", "--json"],
        &["history", "x", "--json"],
        &["config", "x"],
        &["trip", "x"],
    ];
    for _ in 0..2 {
        for words in words {
            // A hook has the environment that brk had, and nothing of ours in it.
            let done = host.run(words);
            let own =
                done.stderr().lines().filter(|line| !line.starts_with("BRK_STORE=")).collect::<String>();
            said += &(done.stdout() + &own);
        }
        server.stop();
    }
    said += &sandbox.read("report");
    assert!(said.contains("cannot be used"), "{said}");
    for text in [&said, &host.everything_kept(), &by_file.everything_kept()] {
        assert!(!text.contains(SECRET), "{text}");
    }
}

#[test]
fn numbered_databases_are_apart() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    let host = server.host(&sandbox, "one").with_store(&format!("{}/3", server.url()));
    host.run(&PASS).code(0).quiet();
    host.with_store(&server.url()).run(&["status", "x"]).code(1);
    assert_eq!(host.status("x")["store"], format!("{}/3", server.url()));
}

#[cfg(not(feature = "tls"))]
#[test]
fn without_tls_it_says_so() {
    let done = Host::new(&Sandbox::new(), "one", "rediss://127.0.0.1").run(&PASS);
    done.code(125).says("BRK_STORE: this brk was built without TLS; build it with the cargo feature 'tls'");
}

#[cfg(feature = "tls")]
#[test]
fn over_tls() {
    needs!("redis-server", "redis-cli", "openssl");
    let sandbox = Sandbox::new();
    let made = sandbox.shell(
        "exec 2>/dev/null
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem &&
        openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr &&
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' > names &&
        openssl x509 -req -days 2 -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out server.pem",
    );
    made.code(0);
    let file = |name: &str| sandbox.file(name).display().to_string();
    let port = free_port().to_string();
    let options = [
        "--tls-port",
        &port,
        "--tls-cert-file",
        &file("server.pem"),
        "--tls-key-file",
        &file("server.key"),
        "--tls-ca-cert-file",
        &file("ca.pem"),
        "--tls-auth-clients",
        "no",
    ];
    let server = Server::start_with(&options);
    let host = server.host(&sandbox, "one").with_store(&format!("rediss://127.0.0.1:{port}"));
    let run = |authorities: &str| {
        let mut command = host.brk();
        command.env("SSL_CERT_FILE", authorities).args(["run", "--name", "x", "--", "true"]);
        finish(command)
    };
    run(&file("ca.pem")).code(0).quiet();
    assert_eq!(server.host(&sandbox, "two").status("x")["totals"]["success"], 1);
    // The certificate is for a name; the address that is dialled is what the name stands for.
    let mut by_name = host.with_store(&format!("rediss://localhost:{port}")).brk();
    by_name.env("SSL_CERT_FILE", file("ca.pem")).args(["run", "--name", "y", "--", "true"]);
    finish(by_name).code(0).quiet();
    let mut by_another = host.with_store(&format!("rediss://ip6-localhost:{port}")).brk();
    by_another.env("SSL_CERT_FILE", file("ca.pem")).args(["run", "--name", "y", "--", "true"]);
    finish(by_another).code(0).says("warning: the shared store rediss://ip6-localhost");
    assert_eq!(server.host(&sandbox, "two").status("y")["totals"]["success"], 1);
    // Nobody vouches for this server: it is not used.
    run(&file("server.csr")).code(0).says("warning: the shared store rediss://127.0.0.1");
    assert_eq!(server.host(&sandbox, "two").status("x")["totals"]["success"], 1);
}
