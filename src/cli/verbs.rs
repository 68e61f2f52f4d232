//! The arguments of the verbs that show breakers, and of those by which an operator changes them.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::breaker::time::Millis;
use crate::name::Name;
use crate::profile::Profile;
use crate::settings::value;

/// Say whether a run would be admitted now: exit 0 yes, 75 no
///
/// It changes nothing, and decides by the policy of the breaker's last run. 'brk explain' has the details.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The breaker; an unknown name would be admitted
    #[arg(value_name = "NAME")]
    pub name: Name,

    /// Print nothing
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Show all breakers, or some in detail
///
/// Breakers that are not closed come first. RECENT shows the last outcomes, the newest on the right: a low bar is a
/// success, half a bar a slow one, a full bar a failure; a point is an ignored run, '!' a late result, '?' a lost
/// probe. If the locale has no UTF-8, the bars are '.', 'o' and 'x', and the point is '-'.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
      brk status
      brk status 'db-*' --watch=5s
      brk status db-backup
      brk status --json | jq -r '.breakers[] | select(.phase != \"closed\") | .name'")]
pub struct StatusArgs {
    /// Names, or patterns with * and ?
    #[arg(value_name = "NAME|GLOB")]
    pub names: Vec<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Print only the names, one a line
    #[arg(long = "names", conflicts_with_all = ["json", "watch"])]
    pub only_names: bool,

    /// Refresh until q or Ctrl-C [default: every 2s]
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "2s", value_name = "EVERY", value_parser = value::interval)]
    pub watch: Option<Millis>,
}

/// Show what happened to a breaker, newest last
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
      brk history db-backup -n 20
      brk history db-backup --since 1d --timeline
      brk history db-backup --follow --json
      brk history db-backup --svg db-backup.svg")]
pub struct HistoryArgs {
    /// The breaker
    #[arg(value_name = "NAME")]
    pub name: Name,

    /// Only the last N events [default: all; with --follow, 10]
    #[arg(short = 'n', long, value_name = "N", value_parser = value::count, allow_hyphen_values = true)]
    pub lines: Option<u32>,

    /// Only events that are not older than this
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub since: Option<Millis>,

    /// Print JSON Lines
    #[arg(long)]
    pub json: bool,

    /// Keep printing new events, until Ctrl-C
    #[arg(short, long)]
    pub follow: bool,

    /// Draw phases and outcomes over time instead of listing events
    #[arg(long, conflicts_with_all = ["json", "follow"])]
    pub timeline: bool,

    /// Write phases and outcomes over time into FILE, as a picture
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["json", "follow", "timeline"])]
    pub svg: Option<PathBuf>,
}

/// Say in sentences what would happen to a run now, and why
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The breaker
    #[arg(value_name = "NAME")]
    pub name: Name,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Print metrics in the OpenMetrics text format
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  For the textfile collector of node_exporter, from cron or a timer:
      brk metrics --output /var/lib/prometheus/node-exporter/brk.prom")]
pub struct MetricsArgs {
    /// Names, or patterns with * and ? [default: all breakers]
    #[arg(value_name = "NAME|GLOB")]
    pub names: Vec<String>,

    /// Replace FILE atomically, with the mode that the umask gives, instead of printing
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// Close breakers and clear their counters; the history stays
#[derive(Debug, Args)]
pub struct ResetArgs {
    /// Names, or patterns with * and ?
    #[arg(value_name = "NAME|GLOB")]
    pub names: Vec<String>,

    /// All breakers
    #[arg(long, conflicts_with = "names")]
    pub all: bool,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Open a breaker now
#[derive(Debug, Args)]
pub struct TripArgs {
    /// The breaker; created if missing
    #[arg(value_name = "NAME")]
    pub name: Name,

    /// For how long [default: the cooldown of its last run]
    #[arg(long = "for", value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true)]
    pub length: Option<Millis>,

    /// Reason to record
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Refuse every run, or admit every run, until released
#[derive(Debug, Args)]
pub struct HoldArgs {
    /// The breaker; created if missing
    #[arg(value_name = "NAME")]
    pub name: Name,

    /// open refuses, closed admits
    #[arg(value_name = "open|closed", hide_possible_values = true)]
    pub state: HoldState,

    /// End the override by itself after this long
    #[arg(long = "for", value_name = "DURATION", value_parser = value::positive_duration, allow_hyphen_values = true)]
    pub length: Option<Millis>,

    /// Reason to record
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HoldState {
    Open,
    Closed,
}

/// End an override
#[derive(Debug, Args)]
pub struct ReleaseArgs {
    /// Names, or patterns with * and ?
    #[arg(value_name = "NAME|GLOB", required = true)]
    pub names: Vec<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Remove breakers and their history
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// Names, or patterns with * and ?
    #[arg(value_name = "NAME|GLOB", required = true)]
    pub names: Vec<String>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Show the settings that a run would have, and where each comes from
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// The breaker; without one, the settings for a name without its own section
    #[arg(value_name = "NAME")]
    pub name: Option<Name>,

    /// Only check all files and all sections; exit 2 if something is wrong
    #[arg(long)]
    pub check: bool,
}

/// Show the built-in exit-code profiles
#[derive(Debug, Args)]
pub struct ProfilesArgs {
    /// The profile to show in full
    #[arg(value_name = "PROFILE", value_parser = value::profile)]
    pub profile: Option<&'static Profile>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Print only the names, one a line
    #[arg(long = "names", conflicts_with_all = ["json", "profile"])]
    pub only_names: bool,
}

/// Print a completion script
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
      brk completions bash > ~/.local/share/bash-completion/completions/brk
      brk completions zsh > ~/.zfunc/_brk
      brk completions fish > ~/.config/fish/completions/brk.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Write the manual pages into a directory
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The directory; created if missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}
