//! The built-in exit-code tables of known programs. The tables are data (`profiles.toml`); this reads them, and only
//! when one is asked for.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, de};

use crate::breaker::outcome::{Outcome, Rules, Spec, Verdict};

/// What a program means by its exit codes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    pub success: Codes,
    pub failure: Codes,
    pub ignored: Codes,
    /// The verdict for a code that no list names.
    pub unlisted: Outcome,
    /// The versions that the table was made from.
    pub version: String,
    pub source: String,
    pub meaning: String,
}

/// A list of exit codes, and its text in the table.
#[derive(Debug)]
pub struct Codes {
    pub text: String,
    specs: Vec<Spec>,
}

#[derive(Deserialize)]
struct Tables {
    profile: Vec<Profile>,
}

static TABLES: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    let tables: Tables =
        toml::from_str(include_str!("profiles.toml")).expect("the built-in profiles are valid");
    tables.profile
});

/// All profiles, in the order of their table.
pub fn all() -> &'static [Profile] {
    &TABLES
}

/// The profile of this name or alias.
pub fn find(name: &str) -> Option<&'static Profile> {
    all().iter().find(|profile| profile.name == name || profile.aliases.iter().any(|alias| alias == name))
}

impl Profile {
    /// The rules for this program: its own codes, and signals as in every profile.
    pub fn rules(&self) -> Rules {
        let mut rules = Rules::base();
        rules.set_all_codes(verdict(self.unlisted));
        let lists = [
            (&self.success, Verdict::Success),
            (&self.failure, Verdict::Failure),
            (&self.ignored, Verdict::Ignored),
        ];
        for (codes, verdict) in lists {
            for spec in &codes.specs {
                rules.set(spec, verdict);
            }
        }
        rules
    }
}

impl Codes {
    pub fn contains(&self, code: u8) -> bool {
        self.specs.iter().any(|spec| matches!(spec, Spec::Codes(range) if range.contains(&code)))
    }
}

fn verdict(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::Success => Verdict::Success,
        Outcome::Failure => Verdict::Failure,
        Outcome::Ignored => Verdict::Ignored,
    }
}

impl<'de> Deserialize<'de> for Codes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Codes, D::Error> {
        let text = String::deserialize(deserializer)?;
        let specs = text.split(',').map(codes).collect::<Option<_>>();
        let specs =
            specs.ok_or_else(|| de::Error::custom(format_args!("not a list of exit codes: {text:?}")))?;
        Ok(Codes { text, specs })
    }
}

fn codes(text: &str) -> Option<Spec> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(Spec::Codes(first.parse().ok()?..=last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::outcome::Ending;

    #[test]
    fn every_profile_can_be_read_and_found() {
        assert!(all().len() >= 27, "{}", all().len());
        for profile in all() {
            for name in std::iter::once(&profile.name).chain(&profile.aliases) {
                assert_eq!(find(name).map(|found| &found.name), Some(&profile.name));
            }
            assert!(!profile.source.is_empty() && !profile.meaning.is_empty(), "{}", profile.name);
            assert_eq!(profile.rules().classify(&Ending::Exited(0)), Verdict::Success, "{}", profile.name);
        }
        assert!(find("").is_none() && find("Curl").is_none());
    }

    #[test]
    fn the_table_of_the_base_profile_is_the_default() {
        assert_eq!(find("base").expect("base").rules(), Rules::base());
    }

    #[test]
    fn no_code_is_in_two_lists() {
        for profile in all() {
            let lists = [&profile.success, &profile.failure, &profile.ignored];
            for code in 0..=255 {
                let count = lists.iter().filter(|codes| codes.contains(code)).count();
                assert!(count <= 1, "{} in {count} lists of {}", code, profile.name);
            }
        }
    }

    #[test]
    fn samples() {
        let code =
            |profile: &str, code| find(profile).expect("a profile").rules().classify(&Ending::Exited(code));
        assert_eq!(code("curl", 7), Verdict::Failure);
        assert_eq!(code("curl", 67), Verdict::Ignored);
        assert_eq!(code("rsync", 24), Verdict::Success);
        assert_eq!(code("ssh", 1), Verdict::Ignored);
        assert_eq!(code("ssh", 255), Verdict::Failure);
        assert_eq!(code("msmtp", 75), Verdict::Failure);
        for (program, failure, ignored) in [
            ("pg_dump", 1, 127),
            ("pg_restore", 1, 127),
            ("mysqldump", 2, 1),
            ("mariadb-dump", 2, 5),
            ("tar", 2, 64),
            ("docker-pull", 1, 125),
            ("podman-pull", 125, 127),
            ("certbot", 1, 2),
            ("mbsync", 1, 127),
            ("git", 128, 129),
            ("git", 1, 129),
            ("apt-get", 100, 127),
        ] {
            assert_eq!(code(program, failure), Verdict::Failure, "{program}");
            assert_eq!(code(program, ignored), Verdict::Ignored, "{program}");
        }
        assert_eq!(code("tar", 1), Verdict::Success);
        assert_eq!(code("git", 2), Verdict::Success);
    }
}
