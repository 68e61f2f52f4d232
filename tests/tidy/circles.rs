//! No two source files import each other, be it through what a third one re-exports. Not here: circles of three and
//! more, and who may know whom at all (`tidy`).

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, has_word, modules, paths};

/// Circles that are still there. It only gets shorter: an entry that is no longer needed is an error.
const KNOWN: &[(&str, &str)] = &[("breaker", "breaker::mirror"), ("store", "store::place")];

type Path = Vec<String>;

/// A source file with what it imports.
struct File {
    module: Path,
    /// The paths that its code names, but for those that it only passes on.
    named: BTreeSet<Path>,
    /// What stands for another path in this file, and for those who name it through this file.
    aliases: BTreeMap<String, Path>,
}

impl File {
    fn new(source: &Source) -> File {
        let module = if source.room == "main" { Path::new() } else { split(&source.room) };
        let mut file = File { module, named: BTreeSet::new(), aliases: BTreeMap::new() };
        let children = children(&source.code);
        let inner = inner_modules(&source.code);
        let mut code = source.code.clone();
        for (at, _) in source.code.match_indices("use ").filter(|(at, _)| is_start(&source.code, *at)) {
            let Some(len) = source.code[at..].find(';') else { continue };
            let statement = &source.code[at + "use ".len()..at + len];
            let depth = depth(&inner, at);
            for path in paths(&one_line(statement)) {
                let path = file.absolute(&path, depth, &children);
                if depth == 0
                    && let Some(name) = path.last().filter(|name| *name != "*")
                {
                    file.aliases.insert(name.clone(), path.clone());
                }
            }
            if is_passed_on(&source.code[..at]) {
                let blank: String = source.code[at..at + len].chars().map(|_| ' ').collect();
                code.replace_range(at..at + len, &blank);
            }
        }
        let starts = ["crate::", "super::", "self::"].map(str::to_owned).into_iter();
        for start in starts.chain(children.iter().map(|child| format!("{child}::"))) {
            for (at, _) in code.match_indices(&start).filter(|(at, _)| is_start(&code, *at)) {
                for path in paths(&one_line(&code[at..])) {
                    let path = file.absolute(&path, depth(&inner, at), &children);
                    file.named.insert(path);
                }
            }
        }
        file
    }

    /// A path as the code has it, from the crate's root on.
    fn absolute(&self, path: &str, depth: usize, children: &[String]) -> Path {
        let mut words: &[String] = &split(path);
        let first = words.first().map(String::as_str);
        if first == Some("crate") {
            return words[1..].to_vec();
        }
        let mut start = self.module.clone();
        let mut depth = depth;
        while let [word, rest @ ..] = words
            && (word == "super" || word == "self")
        {
            words = rest;
            if word == "super" {
                // A module within the file is above nothing but the file.
                if depth > 0 { depth -= 1 } else { drop(start.pop()) }
            }
        }
        let is_relative = words.len() < split(path).len()
            || first.is_some_and(|word| children.iter().any(|child| child == word));
        if is_relative { [&start, words].concat() } else { words.to_vec() }
    }
}

/// The pairs of modules, in order, that name each other.
fn circles(sources: &[Source]) -> BTreeSet<(String, String)> {
    let files: BTreeMap<Path, File> =
        sources.iter().map(File::new).map(|file| (file.module.clone(), file)).collect();
    let mut edges = BTreeSet::new();
    for file in files.values() {
        let found = file.named.iter().filter_map(|path| home(&files, path, 0));
        edges.extend(found.filter(|home| *home != file.module).map(|home| (file.module.clone(), home)));
    }
    let both = edges.iter().filter(|(from, to)| from < to && edges.contains(&(to.clone(), from.clone())));
    both.map(|(from, to)| (from.join("::"), to.join("::"))).collect()
}

/// The file that what a path names is written in, re-exports followed.
fn home(files: &BTreeMap<Path, File>, path: &[String], hops: usize) -> Option<Path> {
    let len = (0..=path.len()).rev().find(|len| files.contains_key(&path[..*len]))?;
    let (module, rest) = path.split_at(len);
    let alias = rest.first().and_then(|name| files[module].aliases.get(name));
    match alias {
        Some(alias) if hops < 9 => {
            home(files, &[alias, &rest[1..]].concat(), hops + 1).or(Some(module.to_vec()))
        }
        _ => Some(module.to_vec()),
    }
}

fn split(path: &str) -> Path {
    path.split("::").filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A statement may have several lines; a path ends at a blank.
fn one_line(code: &str) -> String {
    let end = code.find(';').unwrap_or(code.len());
    let words: Vec<_> = code[..end].split_whitespace().collect();
    // `a as b` is `a`.
    let joined = words.join(" ");
    joined.replace("{ ", "{").replace(" }", "}").replace(", ", ",").replace(",}", "}")
}

/// Whether a word or path starts here, and does not go on.
fn is_start(code: &str, at: usize) -> bool {
    let before = code[..at].chars().next_back().unwrap_or(' ');
    !(before.is_alphanumeric() || before == '_' || before == ':')
}

/// Whether the `use` that follows this code is a `pub use`.
fn is_passed_on(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    has_word(line, "pub")
}

/// The modules that this one has as files of their own.
fn children(code: &str) -> Vec<String> {
    let lines = code.lines().filter_map(|line| line.trim().strip_suffix(';')?.split_once("mod "));
    lines
        .map(|(_, name)| name.to_owned())
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .collect()
}

/// Where modules begin and end that are written in the file itself.
fn inner_modules(code: &str) -> Vec<std::ops::Range<usize>> {
    let starts = code.match_indices("mod ").filter(|(at, _)| is_start(code, *at));
    let braces = starts.filter_map(|(at, _)| {
        let line = code[at..].lines().next()?;
        line.trim_end().ends_with('{').then(|| at + line.rfind('{').expect("a brace"))
    });
    braces.map(|brace| brace..brace + body(&code[brace..])).collect()
}

/// The length of what stands in braces.
fn body(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

fn depth(inner: &[std::ops::Range<usize>], at: usize) -> usize {
    inner.iter().filter(|range| range.contains(&at)).count()
}

#[test]
fn no_two_files_import_each_other() {
    let sources = modules();
    assert!(sources.len() > 30, "only {} files found", sources.len());
    let found = circles(&sources);
    let known: BTreeSet<_> = KNOWN.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(new.is_empty(), "these import each other; move what both need to a third: {new:?}");
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(gone.is_empty(), "these circles are gone; take them out of KNOWN: {gone:?}");
}

#[test]
fn a_circle_is_noticed_in_whatever_way_it_is_written() {
    let check = |expected: bool, files: &[(&str, &str)]| {
        let sources: Vec<_> = files.iter().map(|(room, text)| super::source(room, text)).collect();
        assert_eq!(!circles(&sources).is_empty(), expected, "{files:?}");
    };
    check(true, &[("a", "use crate::b::B;"), ("b", "fn f() { crate::a::g() }")]);
    check(true, &[("a::b", "use super::c::C;"), ("a::c", "use super::b;"), ("a", "mod b;\nmod c;")]);
    check(true, &[("a", "mod b;\nuse b::B;\nstruct A;"), ("a::b", "use super::A;")]);
    check(true, &[("a", "mod b;\nfn f() { b::g() }"), ("a::b", "use super::{A, B};")]);
    check(true, &[("a", "use crate::{\n    b::{C, D},\n};"), ("b", "use crate::{c, a::A};"), ("c", "")]);
    // Through re-exports, of one file or of two.
    check(
        true,
        &[("a", "mod b;\nmod c;\npub use b::B;"), ("a::b", "use super::c::C;"), ("a::c", "use super::B;")],
    );
    check(
        true,
        &[
            ("main", "mod a;\nmod d;"),
            ("a", "mod b;\npub(crate) use b::B;"),
            ("a::b", "mod c;\npub use self::c::B;"),
            ("a::b::c", "use crate::d::D;"),
            ("d", "use crate::a::B;"),
        ],
    );
    // A parent that only passes on what its child has; modules within a file; comments and texts.
    check(false, &[("a", "mod b;\npub use b::B;\nstruct A;"), ("a::b", "use super::A;")]);
    check(false, &[("a", "mod b;\nuse b::B;"), ("a::b", "struct A;\nmod c {\n    use super::A;\n}")]);
    check(false, &[("a", "use crate::b::B;"), ("b", "// use crate::a::A;\nfn f() { g(\"crate::a\") }")]);
    check(false, &[("a", "use crate::b::B;"), ("b", "use crate::c::C;"), ("c", "use crate::a::A;")]);
    check(false, &[("a", "use crate::b::B;"), ("b", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}")]);
}
