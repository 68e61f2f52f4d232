//! How the value of a key is written in TOML: numbers as numbers, and what has a unit as text. The command line knows
//! texts alone, and says by the name of a flag's value what that is.

use super::file::{Key, Kind, Values};

/// What can be written for a value of some name, and an example.
struct Form {
    kinds: &'static [Kind],
    may_be_list: bool,
    right: &'static str,
}

/// Says what would be right where a key's value is of a kind that it cannot have. `value_name` is its flag's.
pub fn check(key: &Key, values: &Values, value_name: &str) -> Result<(), String> {
    let form = form(value_name);
    let fits = values.all.iter().all(|value| form.kinds.contains(&value.kind));
    if fits && (form.may_be_list || !values.is_list) {
        return Ok(());
    }
    Err(format!("{}: {} is not what it takes; write {}", key.name, key.source, form.right))
}

fn form(value_name: &str) -> Form {
    use Kind::{Float, Text, Truth, Whole};
    let one = |kinds, right| Form { kinds, may_be_list: false, right };
    let list = |kinds, right| Form { kinds, may_be_list: true, right };
    match value_name {
        "DURATION" => one(&[Text, Whole], "a string (\"10m\", \"1.5s\") or whole seconds (90)"),
        "COOLDOWN" => one(&[Text, Whole], "a string (\"5m\", \"3runs\", \"1m,1run\") or whole seconds (90)"),
        "MAX" => one(&[Text, Whole, Truth], "true, a string (\"10m\") or whole seconds (90)"),
        "N|DURATION" => one(&[Text, Whole], "a whole number of runs (20) or a string (\"10m\")"),
        "N" | "CODE" => one(&[Whole], "a whole number without quotes (3)"),
        // A whole number is 0 or 1 here.
        "RATE" => one(&[Text, Float, Whole], "a string (\"50%\") or a number (0.5)"),
        "FACTOR" => one(&[Float, Whole], "a number without quotes (2 or 1.5)"),
        "BOOL" => one(&[Truth], "true or false, without quotes"),
        "SIGNAL" => one(&[Text, Whole], "a string (\"TERM\") or a number (15)"),
        "SPEC" => list(&[Text, Whole], "a string (\"75,100-110\"), or a list ([75, \"100-110\"])"),
        "WHEN" => list(&[Text], "a string (\"refused,failure\"), or a list ([\"refused\", \"failure\"])"),
        _ => one(&[Text], "a string, in quotes"),
    }
}
