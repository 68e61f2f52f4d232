//! How a command ended, and what that says about the thing it depends on. The question put to every ending: can
//! leaving the dependency alone for a while make this go away?
//!
//! Not here: the tables of known programs (`profile`), and the words of a SPEC (`cli`).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// How a process ended by itself or by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Exited(u8),
    /// The signal's number.
    Signaled(i32),
}

/// Why nothing was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unstartable {
    NotFound,
    NotExecutable,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    Exited(u8),
    Signaled(i32),
    /// With the command's own status, where there was one to collect.
    TimedOut(Option<Status>),
    /// `brk` was told to stop, and the command then ended otherwise than with 0.
    Interrupted(Option<Status>),
    NotStarted(Unstartable),
}

/// What a run says about the dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Success,
    Failure,
    /// Says nothing about the dependency.
    Ignored,
}

/// What the rules say of an ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Success,
    Failure,
    Ignored,
    /// A failure that opens the breaker at once.
    Trip,
}

/// A set of endings that a rule speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    Codes(RangeInclusive<u8>),
    Signal(i32),
    AnySignal,
    Timeout,
    NotStarted,
}

/// A total function from endings to verdicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    codes: [Verdict; 256],
    signals: BTreeMap<i32, Verdict>,
    any_signal: Verdict,
    timeout: Verdict,
    not_started: Verdict,
}

/// HUP, INT, QUIT, PIPE and TERM: a person, an init system or a closed pipe stopped the run. Their numbers are the
/// same on every Unix.
const STOPPED_FROM_OUTSIDE: [i32; 5] = [1, 2, 3, 13, 15];

impl Ending {
    /// The command's own status, where there was one.
    pub fn status(&self) -> Option<Status> {
        match *self {
            Ending::Exited(code) => Some(Status::Exited(code)),
            Ending::Signaled(signal) => Some(Status::Signaled(signal)),
            Ending::TimedOut(status) | Ending::Interrupted(status) => status,
            Ending::NotStarted(_) => None,
        }
    }

    pub fn exit(&self) -> Option<u8> {
        match self.status() {
            Some(Status::Exited(code)) => Some(code),
            _ => None,
        }
    }

    pub fn signal(&self) -> Option<i32> {
        match self.status() {
            Some(Status::Signaled(signal)) => Some(signal),
            _ => None,
        }
    }

    /// Whether a command was really started.
    pub fn was_launched(&self) -> bool {
        !matches!(self, Ending::NotStarted(_))
    }

    /// The word that machines read.
    pub fn as_str(&self) -> &'static str {
        match self {
            Ending::Exited(_) => "exited",
            Ending::Signaled(_) => "signaled",
            Ending::TimedOut(_) => "timed-out",
            Ending::Interrupted(_) => "interrupted",
            Ending::NotStarted(_) => "not-started",
        }
    }
}

impl From<Status> for Ending {
    fn from(status: Status) -> Ending {
        match status {
            Status::Exited(code) => Ending::Exited(code),
            Status::Signaled(signal) => Ending::Signaled(signal),
        }
    }
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::Failure => "failure",
            Outcome::Ignored => "ignored",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Verdict {
    pub fn outcome(self) -> Outcome {
        match self {
            Verdict::Success => Outcome::Success,
            Verdict::Failure | Verdict::Trip => Outcome::Failure,
            Verdict::Ignored => Outcome::Ignored,
        }
    }
}

impl Rules {
    /// The default: what a shell, `timeout` and the kernel mean by their codes and signals. The data of profile
    /// `base` says the same of the codes, and a test compares them.
    pub fn base() -> Rules {
        let mut codes = [Verdict::Failure; 256];
        codes[0] = Verdict::Success;
        for code in [126, 127, 129, 130, 131, 141, 143] {
            codes[code] = Verdict::Ignored;
        }
        Rules {
            codes,
            signals: STOPPED_FROM_OUTSIDE.map(|signal| (signal, Verdict::Ignored)).into(),
            any_signal: Verdict::Failure,
            timeout: Verdict::Failure,
            not_started: Verdict::Ignored,
        }
    }

    /// Every code gets the verdict; signals and the other endings stay as they are.
    pub fn set_all_codes(&mut self, verdict: Verdict) {
        self.codes = [verdict; 256];
    }

    pub fn set(&mut self, spec: &Spec, verdict: Verdict) {
        match spec {
            Spec::Codes(range) => {
                for code in range.clone() {
                    self.codes[usize::from(code)] = verdict;
                }
            }
            Spec::Signal(signal) => {
                self.signals.insert(*signal, verdict);
            }
            Spec::AnySignal => self.any_signal = verdict,
            Spec::Timeout => self.timeout = verdict,
            Spec::NotStarted => self.not_started = verdict,
        }
    }

    /// The rules with explicit ones on top. A named signal beats `signal`, whichever came first, and `signal`
    /// beats what the rules below say of single signals.
    pub fn overridden(mut self, by_hand: &[(Spec, Verdict)]) -> Rules {
        if by_hand.iter().any(|(spec, _)| *spec == Spec::AnySignal) {
            self.signals.clear();
        }
        for (spec, verdict) in by_hand {
            self.set(spec, *verdict);
        }
        self
    }

    pub fn classify(&self, ending: &Ending) -> Verdict {
        match ending {
            Ending::Exited(code) => self.codes[usize::from(*code)],
            Ending::Signaled(signal) => self.signals.get(signal).copied().unwrap_or(self.any_signal),
            Ending::TimedOut(_) => self.timeout,
            Ending::Interrupted(_) => Verdict::Ignored,
            Ending::NotStarted(_) => self.not_started,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(by_hand: &[(Spec, Verdict)], ending: Ending, expected: Verdict) {
        let rules = Rules::base().overridden(by_hand);
        assert_eq!(rules.classify(&ending), expected, "{by_hand:?} on {ending:?}");
    }

    #[test]
    fn base_rules() {
        use Verdict::*;
        check(&[], Ending::Exited(0), Success);
        for code in 1..=255 {
            let ignored = [126, 127, 129, 130, 131, 141, 143].contains(&code);
            check(&[], Ending::Exited(code), if ignored { Ignored } else { Failure });
        }
        for signal in 1..=64 {
            let ignored = STOPPED_FROM_OUTSIDE.contains(&signal);
            check(&[], Ending::Signaled(signal), if ignored { Ignored } else { Failure });
        }
        check(&[], Ending::TimedOut(Some(Status::Exited(0))), Failure);
        check(&[], Ending::Interrupted(Some(Status::Exited(1))), Ignored);
        check(&[], Ending::NotStarted(Unstartable::NotFound), Ignored);
    }

    #[test]
    fn rules_by_hand() {
        use Verdict::*;
        check(&[(Spec::Codes(3..=5), Success)], Ending::Exited(5), Success);
        check(&[(Spec::Codes(3..=5), Success)], Ending::Exited(6), Failure);
        check(&[(Spec::AnySignal, Ignored)], Ending::Signaled(9), Ignored);
        check(&[(Spec::AnySignal, Failure)], Ending::Signaled(15), Failure);
        let named_first = [(Spec::Signal(9), Success), (Spec::AnySignal, Ignored)];
        check(&named_first, Ending::Signaled(9), Success);
        check(&named_first, Ending::Signaled(6), Ignored);
        check(&[(Spec::Timeout, Ignored)], Ending::TimedOut(None), Ignored);
        check(&[(Spec::NotStarted, Failure)], Ending::NotStarted(Unstartable::NotFound), Failure);
        check(&[(Spec::Signal(15), Trip)], Ending::Signaled(15), Trip);
    }
}
