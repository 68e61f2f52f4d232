//! The command line: what can be written, and how it is explained. No behaviour.
//!
//! The settings of a run are at the same time the keys of the configuration: a key is a long flag, and its values are
//! read by the same parsers.

mod fast;
pub mod flags;
pub mod usage;
mod verbs;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueHint};

use crate::name::Name;
use crate::settings::Settings;
use crate::settings::table::{STORE, STORE_PASSWORD_FILE};

pub use verbs::{
    CheckArgs, CompletionsArgs, ConfigArgs, ExplainArgs, ForgetArgs, HistoryArgs, HoldArgs, HoldState,
    ManArgs, MetricsArgs, ProfilesArgs, ReleaseArgs, ResetArgs, StatusArgs, TripArgs,
};

#[derive(Debug, Parser)]
#[command(
    name = "brk",
    version,
    about = "A circuit breaker for commands: it remembers what has been failing, and stops launching it for a while",
    long_about = "A circuit breaker for commands. It remembers, across runs and processes, whether the thing that a command \
        depends on has been failing, and stops launching the command while it does. After a cooldown exactly one run \
        tries again.",
    after_help = "Put it before a command, with a name for what the command depends on:\n\n  \
        brk run --name db-backup --timeout 30m -- pg_dump -h db -f prod.sql prod\n  \
        brk status\n  \
        brk history db-backup\n\n\
        'brk help COMMAND' explains a command; 'brk run --help' has examples.",
    disable_help_subcommand = false,
    args_override_self = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

/// What stands behind the verb, of a line that begins with it.
#[derive(Debug, Parser)]
#[command(args_override_self = true, disable_version_flag = true)]
pub struct Line<A: Args> {
    #[command(flatten)]
    pub global: Global,
    #[command(flatten)]
    pub args: A,
}

#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub struct Global {
    /// Where breakers are remembered [default: BRK_STATE_DIR, STATE_DIRECTORY, XDG_STATE_HOME/brk, or ~/.local/state/brk]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Global options")]
    pub state_dir: Option<PathBuf>,

    /// The only configuration file to read [default: BRK_CONFIG, or /etc/brk/config.toml and then ~/.config/brk/config.toml]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Global options")]
    pub config: Option<PathBuf>,

    #[arg(long, global = true, help = format!("{} [default: BRK_STORE]", STORE.help), value_name = "URL", value_hint = ValueHint::Url, help_heading = "Global options")]
    pub store: Option<String>,

    #[arg(long, global = true, help = STORE_PASSWORD_FILE.help, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Global options")]
    pub store_password_file: Option<PathBuf>,

    /// When to use colour; auto asks whether it is a terminal, and NO_COLOR
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value_t,
        hide_default_value = true,
        help_heading = "Global options"
    )]
    pub color: ColorChoice,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    Run(Box<RunArgs>),
    Check(CheckArgs),
    Status(StatusArgs),
    History(HistoryArgs),
    Explain(ExplainArgs),
    Metrics(MetricsArgs),
    Reset(ResetArgs),
    Trip(TripArgs),
    Hold(HoldArgs),
    Release(ReleaseArgs),
    Forget(ForgetArgs),
    Config(ConfigArgs),
    Profiles(ProfilesArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

const EXAMPLES: &str = "\
Exit codes: the command's own; 124 timed out; 75 refused; 125 brk itself failed;
126 not executable; 127 not found. If a signal kills the command, brk dies of it too.

Examples:
  A backup that is ended after half an hour. After three failures in a row the
  database is left alone for a minute, then two, four, … up to an hour:
      brk run --name db-backup --timeout 30m -- pg_dump -h db -f prod.sql prod
  Open when half of the last twenty runs failed, by what curl's codes mean:
      brk run --name api --profile curl --failure-rate 50% -- \\
          curl -fsS https://api.example.com/sync
  Ask cheaply before the real thing starts again:
      brk run --name db --probe 'pg_isready -q -h db' -- ./nightly-report
  For cron: mail when it breaks, opens and recovers, and never two at once:
      brk run --name sync --output on-change --timeout 10m --max-concurrent 1 -- ./sync";

const LIMITS: &str = "\
Limits:
  A set-uid program (sudo) gets no signal when brk dies.
  What another manager starts (a container engine, systemd-run, at) is not stopped
  with the command, because it is not a descendant of brk.
  A signal sent to both brk and the command is delivered twice: by systemd unless
  the unit says KillMode=mixed, and by a shell's 'kill %1'.
  A further attempt of --retries finds standard input where the last one left it.";

/// Run a command if its breaker admits it
///
/// The command runs as it would without brk: same streams, same environment, same exit code. While what it depends on
/// is failing, it is not launched, and the exit code is 75.
#[derive(Debug, Args)]
#[group(skip)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{LIMITS}"))]
pub struct RunArgs {
    /// The name of what the command depends on; runs with the same name share a breaker
    #[arg(long, value_name = "NAME", required = true, allow_hyphen_values = true)]
    pub name: Name,

    #[command(flatten)]
    pub settings: Settings,

    /// The command and its arguments; the options of brk end here
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
