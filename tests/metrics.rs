//! `brk metrics`, read by the parser of Prometheus's own client for Python.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::json::eventful;
use crate::tools::{feed, needs, run_python};
use crate::util::{Sandbox, finish};

/// The samples of a text, as `name{label=value,…}` with their values; a text that is no OpenMetrics fails.
fn samples(sandbox: &Sandbox, text: &str) -> serde_json::Value {
    const SCRIPT: &str = r#"
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
samples = {}
for family in text_string_to_metric_families(sys.stdin.read()):
    assert family.documentation and family.type in ("gauge", "counter"), family
    for sample in family.samples:
        labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
        samples[f"{sample.name}{{{labels}}}"] = sample.value
print(json.dumps(samples))
"#;
    let done = run_python(sandbox, "prometheus_client", SCRIPT, &[], text);
    done.code(0);
    serde_json::from_str(&done.stdout()).expect("JSON")
}

#[test]
fn a_real_parser_reads_it() {
    needs!("python:prometheus_client");
    let sandbox = eventful();
    let odd = "quo\"te, back\\slash, \u{fc} {}";
    sandbox.run(&["run", "--name", odd, "--", "true"]).code(0);
    let done = sandbox.run(&["metrics"]);
    done.code(0);
    assert!(done.stdout().ends_with("# EOF\n"), "{}", done.all());
    let samples = samples(&sandbox, &done.stdout());
    let check = |sample: &str, expected: Option<f64>| {
        assert_eq!(samples[sample].as_f64(), expected, "{sample} in\n{samples:#}");
    };
    check("brk_phase{name=broken,phase=open}", Some(1.0));
    check("brk_phase{name=broken,phase=closed}", Some(0.0));
    check("brk_phase{name=broken,phase=half-open}", Some(0.0));
    check("brk_phase{name=calm,phase=closed}", Some(1.0));
    check("brk_runs_total{name=calm,outcome=success}", Some(2.0));
    check("brk_runs_total{name=calm,outcome=failure}", Some(2.0));
    check("brk_runs_total{name=calm,outcome=ignored}", Some(1.0));
    check("brk_runs_total{name=moved,outcome=late}", Some(1.0));
    check("brk_refused_total{name=broken}", Some(2.0));
    check("brk_opened_total{name=broken}", Some(1.0));
    check("brk_probes_total{name=lost}", Some(2.0));
    check("brk_failure_streak{name=broken}", Some(1.0));
    check("brk_last_success_timestamp_seconds{name=broken}", None);
    check("brk_retry_timestamp_seconds{name=calm}", None);
    check(&format!("brk_failure_streak{{name={odd}}}"), Some(0.0));
    let status = sandbox.status("broken");
    let at = |name: &str| samples[format!("{name}{{name=broken}}")].as_f64().expect(name);
    let wait = at("brk_retry_timestamp_seconds") - at("brk_last_run_timestamp_seconds");
    let cooldown = status["cooldown_ms"].as_f64().expect("a cooldown") / 1e3;
    assert!((wait - cooldown).abs() < 0.01, "{wait} is not {cooldown}");
    let took = status["last"]["duration_ms"].as_f64().expect("a duration") / 1e3;
    assert!((at("brk_last_duration_seconds") - took).abs() < 1e-9, "{status:#}");
}

#[test]
fn names_and_patterns_choose() {
    needs!("python:prometheus_client");
    let sandbox = Sandbox::new();
    for name in ["db-1", "db-2", "api"] {
        sandbox.run(&["run", "--name", name, "--", "true"]).code(0);
    }
    let done = sandbox.run(&["metrics", "db-*", "nothing"]);
    done.code(1).says("\"nothing\": no such breaker");
    let samples = samples(&sandbox, &done.stdout());
    assert_eq!(samples["brk_failure_streak{name=db-1}"], 0.0);
    assert_eq!(samples["brk_failure_streak{name=db-2}"], 0.0);
    assert!(samples["brk_failure_streak{name=api}"].is_null());
    let none = Sandbox::new();
    none.run(&["metrics"]).code(0).prints("# EOF\n");
}

#[test]
fn a_file_is_replaced_and_its_mode_follows_the_umask() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "db", "--", "true"]).code(0);
    for (umask, mode) in [("022", 0o644), ("027", 0o640), ("002", 0o664)] {
        sandbox.write("brk.prom", "old");
        let old = std::fs::File::open(sandbox.file("brk.prom")).expect("the old file");
        sandbox.shell(&format!("umask {umask}; brk metrics --output brk.prom")).code(0).quiet();
        let text = sandbox.read("brk.prom");
        assert!(text.ends_with("# EOF\n"), "{text}");
        let metadata = std::fs::metadata(sandbox.file("brk.prom")).expect("the new file");
        assert_eq!(metadata.permissions().mode() & 0o777, mode, "under umask {umask}");
        assert_eq!(std::io::read_to_string(old).expect("text"), "old", "replaced, not written over");
    }
    let left: Vec<_> = std::fs::read_dir(sandbox.path())
        .expect("the sandbox")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().contains("tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let done = sandbox.run(&["metrics", "--output", "missing/brk.prom"]);
    done.code(1).says("cannot write missing/brk.prom: No such file or directory");
    sandbox.run(&["metrics", "--output", "/dev/null"]).code(0).quiet();
    assert!(!std::fs::metadata("/dev/null").expect("/dev/null").is_file(), "a device stays one");
}

#[test]
fn ten_thousand_breakers_do_not_matter() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "first", "--", "true"]).code(0);
    let journal = std::fs::read(sandbox.state().join("first.journal")).expect("a journal");
    for number in 0..10_000 {
        std::fs::write(sandbox.state().join(format!("b{number}.journal")), &journal).expect("a journal");
    }
    // No limit of time is set here: what would grow too fast, or keep every file open, would not end at all.
    let mut limited = sandbox.command("sh");
    limited.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""]).arg(crate::util::brk()).arg("metrics");
    let done = finish(limited);
    done.code(0);
    assert_eq!(done.stdout().matches("brk_failure_streak{").count(), 10_001);
    let table = sandbox.run(&["status"]);
    table.code(0).prints("10001 breakers: 10001 closed");
    let names = sandbox.run(&["status", "--names"]);
    assert_eq!(names.stdout().lines().count(), 10_001);
    let one = sandbox.run(&["status", "b77", "--json"]);
    one.code(0).prints("\"b77\"");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    needs!("bash");
    let sandbox = Sandbox::new();
    for number in 0..300 {
        let journal = format!("b{number}");
        sandbox.run(&["trip", &journal]).code(0);
    }
    for verb in ["metrics", "status", "status --json", "history b1 --follow", "status --watch=100ms"] {
        let script =
            format!("set -o pipefail; timeout 60 brk {verb} | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}");
        let mut command = sandbox.command("bash");
        let bin = std::path::Path::new(crate::util::brk()).parent().expect("a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", bin.display())).args(["-c", &script]).stdin(Stdio::null());
        let done = feed(command, "");
        assert_eq!((done.stdout().as_str(), done.stderr().as_str()), ("0\n", ""), "{verb}\n{}", done.all());
    }
}
