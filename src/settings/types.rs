//! The types of settings: what each is called, and how it is written in TOML. Not here: how text is read (`value`), and
//! which setting has which type (`table`).

/// What can be written for a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Duration,
    Count,
    PositiveCount,
    Rate,
    PositiveRate,
    Factor,
    /// A count of runs or a duration.
    Window,
    /// A duration, a number of runs, or both.
    Cooldown,
    /// Endings of a command, with commas between them.
    Specs,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Some of these words, with commas between them.
    Words(&'static [&'static str]),
    /// A script of `sh`.
    Command,
    Path,
    Url,
    Bool,
    Signal,
    ExitCode,
    Profile,
    Wait,
}

/// The kinds of values that TOML has and that a setting can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    String,
    Integer,
    Float,
    Boolean,
}

/// Whether an array may stand for several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrays {
    Allowed,
    Refused,
}

impl Type {
    /// How it is called in the help: `--flag <NAME>`.
    pub fn name(self) -> &'static str {
        match self {
            Type::Duration => "DURATION",
            Type::Count | Type::PositiveCount => "N",
            Type::Rate | Type::PositiveRate => "RATE",
            Type::Factor => "FACTOR",
            Type::Window => "N|DURATION",
            Type::Cooldown => "COOLDOWN",
            Type::Specs => "SPEC",
            Type::Word(_) => "WHAT",
            Type::Words(_) => "WHEN",
            Type::Command => "CMD",
            Type::Path => "FILE",
            Type::Url => "URL",
            Type::Bool => "BOOL",
            Type::Signal => "SIGNAL",
            Type::ExitCode => "CODE",
            Type::Profile => "PROFILE",
            Type::Wait => "MAX",
        }
    }

    /// How it is called in the manual.
    pub fn in_words(self) -> String {
        let word = match self {
            Type::Duration => "duration",
            Type::Count => "count",
            Type::PositiveCount => "count, 1 or more",
            Type::Rate => "rate",
            Type::PositiveRate => "rate above 0",
            Type::Factor => "factor",
            Type::Window => "count or duration",
            Type::Cooldown => "duration, runs, or both",
            Type::Specs => "endings",
            Type::Word(words) => return either(words),
            Type::Words(words) => return format!("list of {}", words.join(", ")),
            Type::Command => "command",
            Type::Path => "file",
            Type::Url => "URL",
            Type::Bool => "boolean",
            Type::Signal => "signal",
            Type::ExitCode => "code",
            Type::Profile => "name",
            Type::Wait => "boolean or duration",
        };
        word.to_owned()
    }

    /// What TOML values it can be.
    pub fn kinds(self) -> (&'static [Kind], Arrays) {
        use Kind::{Boolean, Float, Integer, String};
        match self {
            Type::Duration | Type::Window | Type::Cooldown | Type::Signal => {
                (&[String, Integer], Arrays::Refused)
            }
            Type::Wait => (&[String, Integer, Boolean], Arrays::Refused),
            Type::Count | Type::PositiveCount | Type::ExitCode => (&[Integer], Arrays::Refused),
            // An integer is 0 or 1 here.
            Type::Rate | Type::PositiveRate => (&[String, Float, Integer], Arrays::Refused),
            Type::Factor => (&[Float, Integer], Arrays::Refused),
            Type::Bool => (&[Boolean], Arrays::Refused),
            Type::Specs => (&[String, Integer], Arrays::Allowed),
            Type::Words(_) => (&[String], Arrays::Allowed),
            Type::Word(_) | Type::Command | Type::Path | Type::Url | Type::Profile => {
                (&[String], Arrays::Refused)
            }
        }
    }

    /// What was expected in TOML.
    pub fn expected(self) -> String {
        let text = match self {
            Type::Duration => "a string such as \"10m\" or whole seconds such as 90",
            Type::Wait => "true, a string such as \"10m\" or whole seconds such as 90",
            Type::Cooldown => {
                "a string such as \"5m\", \"3runs\" or \"1m,1run\", or whole seconds such as 90"
            }
            Type::Window => "an integer such as 20 or a string such as \"10m\"",
            Type::Count | Type::PositiveCount => "an integer such as 3",
            Type::ExitCode => "an integer such as 75",
            Type::Rate | Type::PositiveRate => "a string such as \"50%\" or a number such as 0.5",
            Type::Factor => "a number such as 2 or 1.5",
            Type::Bool => "true or false",
            Type::Signal => "a string such as \"TERM\" or an integer such as 15",
            Type::Specs => "a string such as \"75,100-110\" or an array such as [75, \"100-110\"]",
            Type::Words(words) => {
                return format!("a string or an array of {}", words.map_quoted().join(", "));
            }
            Type::Word(words) => return either(&words.map_quoted()),
            Type::Command | Type::Path | Type::Url | Type::Profile => "a string",
        };
        text.to_owned()
    }

    /// Whether a value is written in TOML without quotes.
    pub fn is_bare(self, value: &str) -> bool {
        let (kinds, _) = self.kinds();
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let has_numbers = kinds.iter().any(|kind| matches!(kind, Kind::Integer | Kind::Float));
        match value {
            "true" | "false" => kinds.contains(&Kind::Boolean),
            // A window of 20 runs has always been shown as text.
            _ => is_number && has_numbers && !kinds.contains(&Kind::String),
        }
    }

    /// A value that is wrong, if it may be shown: some hold secrets.
    pub fn shown(self, source: &str) -> Option<&str> {
        (self != Type::Url).then_some(source)
    }
}

trait Quoted {
    fn map_quoted(self) -> Vec<String>;
}

impl Quoted for &[&str] {
    fn map_quoted(self) -> Vec<String> {
        self.iter().map(|word| format!("{word:?}")).collect()
    }
}

/// `a, b or c`.
pub fn either<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
