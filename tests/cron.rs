//! A crontab of four lines, run by a real cron daemon: who gets mail, and when. The daemon has a mount and a process
//! namespace of its own, so that it changes nothing of the system and leaves nobody behind, and its clock alone runs
//! sixty times as fast. Its mails end as files.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{Running, Start};
use crate::tools::needs;
use crate::util::{PATIENCE, Sandbox, brk};

/// Runs as process 1 of its namespace. All that cron reads and writes is hidden behind a file system in memory; what
/// it calls to send a mail is the sandbox's script. A line on standard input ends the daemon and lets its jobs and
/// their mails come to their end; end-of-file (the test has failed, or died) ends them all at once.
const STAGE: &str = r#"
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
user=$1
command -v cron && preload=$(faketime -f +0 printenv LD_PRELOAD) || {
    echo 'needs the Debian packages cron and faketime; tests/run installs them' >&2
    exit 1
}
mount -t tmpfs -o mode=0755 none /run
mkdir /run/sbin /run/programs /run/cron.d /run/spool /run/spool/crontabs
mount --bind /usr/sbin /run/programs
ln -s /run/programs/* /run/sbin/
cp --remove-destination sendmail /run/sbin/sendmail
: >/run/crontab
for what in auth account session; do echo "$what required pam_permit.so"; done >/run/pam
cp crontab "/run/spool/crontabs/$user"
chmod 600 "/run/spool/crontabs/$user"
chown "$user" "/run/spool/crontabs/$user"
mount --bind /run/crontab /etc/crontab
mount --bind /run/cron.d /etc/cron.d
mount --bind /run/spool /var/spool/cron
mount --bind /run/pam /etc/pam.d/cron
mount --bind /run/sbin /usr/sbin
mount -t tmpfs -o mode=1777 none /dev/shm
if [ -S /dev/log ]; then mount --bind /dev/null /dev/log; fi

LD_PRELOAD=$preload FAKETIME='+0 x60' NO_FAKE_STAT=1 cron -f </dev/null &
cron=$!
read -r _
kill "$cron"
for _ in $(seq 600); do
    set -- /proc/[0-9]*
    [ $# -gt 1 ] || exit 0
    sleep 0.1
done
echo 'these have not ended:' >&2
ps -ef >&2
exit 1
"#;

/// What the stage asks of the machine.
const NEEDS: &str =
    "the test of cron needs root, or sudo without a password, and the right to mount (CAP_SYS_ADMIN)";

/// One mail is one file. Its name has no `new` before all of it is there.
const SENDMAIL: &str = r#"#!/bin/sh
mail=$(mktemp MAILS/XXXXXXXX)
cat >"$mail"
mv "$mail" "$mail.new"
"#;

const CRONTAB: &str = r#"
MAILTO=admin@example.org
HOME=HERE
PATH=BIN:/usr/bin:/bin
BRK_STATE_DIR=HERE/state

* * * * * brk run --name db --output on-change --cooldown 1500ms --max-cooldown 3s --on-open 'echo "$BRK_NAME: open, $BRK_REASON"' --on-close 'echo "$BRK_NAME: closed"' -- ./backup
* * * * * brk run --name feed --output on-change --failure-rate 50\% -- ./feed
* * * * * brk run --name sync --max-concurrent 1 -- ./sync
* * * * * brk run --name report-sales -- ./report
"#;

const CONFIG: &str = r#"
[breaker."report-*"]
output = "on-change"
timeout = "300ms"
failures = 1
cooldown = "1h"
on-open = 'echo "$BRK_NAME: open, $BRK_REASON"'
"#;

/// A daemon at work.
struct Cron<'a> {
    sandbox: &'a Sandbox,
    child: Running,
}

/// A mail, as the daemon has sent it.
struct Mail {
    text: String,
}

impl Mail {
    fn body(&self) -> &str {
        self.text.split_once("\n\n").map_or("", |(_, body)| body)
    }

    fn is_about(&self, name: &str) -> bool {
        let subject = self.text.lines().find(|line| line.starts_with("Subject: ")).unwrap_or_default();
        subject.contains(&format!(" brk run --name {name} "))
    }
}

impl<'a> Cron<'a> {
    fn start(sandbox: &'a Sandbox) -> Cron<'a> {
        let user = rustix::process::getuid();
        let mut command = if user.is_root() { sandbox.command("unshare") } else { sandbox.command("sudo") };
        if !user.is_root() {
            command.args(["-n", "unshare"]);
        }
        command.args([
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            STAGE,
            "stage",
        ]);
        command.arg(login());
        let log = File::create(sandbox.file("stage.log")).expect("a file");
        command.stdin(Stdio::piped()).stdout(log.try_clone().expect("a file")).stderr(log);
        let child = command.start();
        Cron { sandbox, child }
    }

    fn mails(&self) -> Vec<Mail> {
        let entries = std::fs::read_dir(self.sandbox.file("mails")).expect("the mailbox");
        let paths = entries.map(|entry| entry.expect("a mail").path());
        let whole = paths.filter(|path| path.extension().is_some_and(|extension| extension == "new"));
        whole.map(|path| Mail { text: std::fs::read_to_string(path).expect("a mail") }).collect()
    }

    fn mails_about(&self, name: &str) -> Vec<Mail> {
        self.mails().into_iter().filter(|mail| mail.is_about(name)).collect()
    }

    /// How many events of this kind the breaker's history holds. One that nobody has run yet has none.
    fn count(&self, name: &str, event: &str) -> usize {
        if self.sandbox.run(&["status", name]).status().code() != Some(0) {
            return 0;
        }
        let of = |one: &serde_json::Value| {
            if one["event"] == event { one["count"].as_u64().unwrap_or(1) } else { 0 }
        };
        let count = self.sandbox.history(name).iter().map(of).sum::<u64>();
        usize::try_from(count).expect("a count")
    }

    /// Waits for a sign of what the jobs have done.
    #[track_caller]
    fn until(&mut self, what: &str, sign: impl Fn(&Cron) -> bool) {
        let start = Instant::now();
        while !sign(self) {
            let ended = self.child.try_wait().expect("a status");
            assert!(ended.is_none(), "the daemon has ended, {ended:?}; {NEEDS}\n{}", self.all());
            assert!(start.elapsed() < PATIENCE, "waited in vain: {what}\n{}", self.all());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the daemon; what it has started, mails included, comes to its end.
    #[track_caller]
    fn settle(&mut self) {
        self.child.stdin.as_mut().expect("a pipe").write_all(b"settle\n").expect("a stage that listens");
        let status = self.child.wait().expect("a status");
        assert!(status.success(), "{status}\n{}", self.all());
    }

    fn all(&self) -> String {
        use std::fmt::Write;
        let mut all = format!("stage:\n{}", self.sandbox.read("stage.log"));
        for mail in self.mails() {
            write!(all, "\nmail:\n{}", mail.text).expect("a string");
        }
        for name in ["db", "feed", "sync", "report-sales"] {
            write!(all, "\n{}", self.sandbox.run(&["history", name]).all()).expect("a string");
        }
        all
    }
}

impl Drop for Cron<'_> {
    fn drop(&mut self) {
        // The end of its standard input ends the stage, and with it the namespace and all that live there.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The name of the user who runs the tests; the crontab is theirs.
fn login() -> String {
    let output = Command::new("id").arg("-un").output().expect("id");
    String::from_utf8(output.stdout).expect("a name").trim().to_owned()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let here = sandbox.path().to_str().expect("a path");
    let bin = Path::new(brk()).parent().and_then(Path::to_str).expect("a path");
    std::fs::create_dir(sandbox.file("mails")).expect("a mailbox");
    std::fs::create_dir_all(sandbox.file(".config/brk")).expect("a directory");
    sandbox.write(".config/brk/config.toml", CONFIG);
    sandbox.write("crontab", CRONTAB.replace("HERE", here).replace("BIN", bin));
    sandbox.script("sendmail", &SENDMAIL.replace("MAILS", &format!("{here}/mails")));
    sandbox.script(
        "backup",
        "#!/bin/sh\nif [ -e down ]; then echo 'backup: no answer'; exit 1; fi\necho 'backup: done'\n",
    );
    sandbox.script("feed", "#!/bin/sh\necho 'feed: 12 entries'\necho 'feed: 3 are new' >&2\n");
    // Says so if two are ever alive at once.
    let sync = "mkdir alone || echo 'two at once'
        while [ ! -e go ]; do sleep 0.05; done
        rmdir alone";
    sandbox.script("sync", &format!("#!/bin/sh\n{sync}\n"));
    // The child that asks has left the group.
    let report = "echo 'report: asks the warehouse'; setsid sleep 1000 & exec sleep 1000";
    sandbox.script("report", &format!("#!/bin/sh\n{report}\n"));
    sandbox
}

/// A mail without what the moment decides: of a change, only from which phase to which.
fn without_times(body: &str) -> String {
    let change = |line: &str| {
        let is_change = line.starts_with("brk: ") && line.contains(" -> ");
        let end = line.find("; next try").or_else(|| line.find(" after ")).filter(|_| is_change);
        format!("{}\n", &line[..end.unwrap_or(line.len())])
    };
    body.lines().map(change).collect()
}

#[test]
fn a_crontab_of_four_lines_sends_the_right_mails_and_no_others() {
    needs!("cron", "faketime", "mount", "root or sudo");
    let sandbox = sandbox();
    let mut cron = Cron::start(&sandbox);
    cron.until("two good backups", |cron| cron.count("db", "success") >= 2);
    sandbox.write("down", "");
    cron.until("the backup's breaker refuses", |cron| cron.count("db", "refused") >= 2);
    cron.until("a failed probe", |cron| {
        cron.count("db", "half-open") >= 1 && cron.count("db", "failure") >= 4
    });
    std::fs::remove_file(sandbox.file("down")).expect("the outage");
    cron.until("two overlaps are refused", |cron| cron.mails_about("sync").len() >= 2);
    sandbox.write("go", "");
    cron.until("the backup's breaker is closed", |cron| cron.count("db", "closed") == 1);
    let before = cron.count("db", "success");
    cron.until("it goes on", |cron| cron.count("db", "success") >= before + 2);
    cron.until("the next sync runs", |cron| cron.count("sync", "success") >= 2);
    cron.until("the report is refused", |cron| cron.count("report-sales", "refused") >= 2);
    cron.settle();

    let bodies = |name: &str| {
        let mut bodies: Vec<_> =
            cron.mails_about(name).iter().map(|mail| without_times(mail.body())).collect();
        bodies.sort();
        bodies
    };
    let all = cron.all();
    let db = [
        "brk: db: exit 1 (1 of 3 failures)\nbackup: no answer\n",
        "db: closed\nbrk: db: open -> closed\nbackup: done\n",
        "db: open, 3 failures (last: exit 1)\nbrk: db: closed -> open\nbackup: no answer\n",
    ];
    assert_eq!(bodies("db"), db, "it breaks, opens and recovers\n{all}");
    assert_eq!(bodies("feed"), [""; 0], "what is well is silent\n{all}");
    let report = "report-sales: open, 1 failure (last: timed out)\nbrk: report-sales: closed -> open\nreport: asks the warehouse\n";
    assert_eq!(bodies("report-sales"), [report], "it opens once\n{all}");
    let busy = bodies("sync");
    assert_eq!(busy.len(), cron.count("sync", "refused"), "each overlap is refused\n{all}");
    for body in &busy {
        let is_refusal = body.starts_with("brk: sync: busy") && body.lines().count() == 1;
        assert!(is_refusal, "not a refusal: {body:?}\n{all}");
    }
    let sum = db.len() + 1 + busy.len();
    assert_eq!(cron.mails().len(), sum, "there are others\n{all}");
    for mail in cron.mails() {
        assert!(mail.text.contains("To: admin@example.org\n"), "{}", mail.text);
    }

    assert!(cron.count("feed", "success") >= 4, "the healthy job has run all the time\n{all}");
    assert_eq!(cron.count("report-sales", "failure"), 1, "{all}");
}
