//! Names of the version before: each becomes today's name before the command line is read, and a hint says so.
//!
//! The next version drops this file.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, Command};

/// A command of the version before.
struct OldCommand {
    old: &'static str,
    new: &'static str,
    /// The option that its bare words are values of today.
    words_go_to: Option<&'static str>,
}

const fn command(old: &'static str, new: &'static str) -> OldCommand {
    OldCommand {
        old,
        new,
        words_go_to: None,
    }
}

const COMMANDS: [OldCommand; 12] = [
    command("profilers", "leaderboard --list"),
    command("bench", "dev bench"),
    command("completions", "dev completions"),
    command("man", "dev man"),
    command("dcpi prof", "dcpi report --as prof"),
    command("dcpi calc", "dcpi report --as calc"),
    command("dcpi annotate", "dcpi report --as annotate"),
    command("dcpi cfg", "dcpi report --as cfg"),
    command("dcpi page", "dcpi report --as page"),
    OldCommand {
        words_go_to: Some("--db"),
        ..command("dcpi stats", "dcpi report --as stats")
    },
    OldCommand {
        words_go_to: Some("--db"),
        ..command("dcpi diff", "dcpi report --as diff")
    },
    OldCommand {
        words_go_to: Some("--export"),
        ..command("dcpi export", "dcpi report")
    },
];

/// Options of HPS that `hps profile` had.
const OF_COLLECT: [&str; 8] = [
    "kind",
    "burst",
    "one-in",
    "change",
    "random-period",
    "tail-calls",
    "tables",
    "unrepaired",
];

/// Options of the version before: today's command, the old name, today's name.
const OPTIONS: [(&str, &str, &str); 14] = [
    ("reproduce", "threads", "jobs"),
    ("reproduce", "programs", "program"),
    ("leaderboard", "threads", "jobs"),
    ("dev bench", "skip", "without"),
    ("run", "stats-out", "json"),
    ("profile", "save", "out"),
    ("shadow run", "save", "out"),
    ("shadow run", "sample", "length"),
    ("shadow simulate", "save", "out"),
    ("shadow simulate", "sample", "length"),
    ("shadow simulate", "phases", "by-phase"),
    ("shim overhead", "periods", "period"),
    ("shim dte", "periods", "period"),
    ("dcpi collect", "events", "event"),
];

/// Commands whose periods were bare numbers, with the unit of those.
const PERIODS: [(&str, &str); 2] = [("shadow run", "ms"), ("shadow simulate", "ns")];

/// Commands whose `--json` took its file as the next word.
const JSON_FILES: [&str; 11] = [
    "run",
    "profile",
    "collect",
    "dev bench",
    "validate",
    "shadow run",
    "shim run",
    "shim attach",
    "shim overhead",
    "shim dte",
    "shim microbench",
];

/// A command line with today's names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Renewed {
    /// The words, with the command's own name.
    pub words: Vec<OsString>,
    /// Each name that was found, beside today's.
    pub names: BTreeSet<(String, String)>,
}

impl Renewed {
    /// What to tell the user, if there was an old name.
    pub fn hint(&self) -> Option<String> {
        let names = self.names.iter();
        let said: Vec<String> = names
            .map(|(old, new)| format!("`{old}` is `{new}` now"))
            .collect();
        let old = if said.len() == 1 { "name" } else { "names" };
        (!said.is_empty())
            .then(|| format!("{}; the next version drops the old {old}", said.join(", ")))
    }

    fn note(&mut self, old: &str, new: &str) {
        self.names.insert((old.to_string(), new.to_string()));
    }
}

/// Puts today's names into a command line. Words behind the program, or behind `--`, stay as they are.
pub fn renew(description: &Command, words: Vec<OsString>) -> Renewed {
    let mut all = Renewed::default();
    let mut rest = words.into_iter().peekable();
    all.words.extend(rest.next());
    while let Some(option) = rest.next_if(|word| text(word).starts_with('-')) {
        all.words.push(option);
    }
    let mut rest: Vec<OsString> = rest.collect();
    let words_go_to = rename_command(&mut rest, &mut all);
    let of_collect = "collect";
    if rest.first().is_some_and(|word| word == "profile")
        && let Some(collect) = description.find_subcommand(of_collect)
        && own_options(collect, &rest[1..]).any(|name| OF_COLLECT.contains(&name))
    {
        rest[0] = of_collect.into();
        all.note("hps profile --kind", "hps collect");
    }

    let mut path = Vec::new();
    let mut command = description;
    let mut at = 0;
    while let Some(found) = rest.get(at).and_then(|word| {
        let name = text(word);
        command
            .get_subcommands()
            .find(|inner| inner.get_name() == name)
    }) {
        path.push(found.get_name().to_string());
        command = found;
        at += 1;
    }
    all.words.extend(rest.drain(..at));
    rename_options(command, &path.join(" "), words_go_to, rest, &mut all);
    all
}

fn text(word: &OsString) -> &str {
    word.to_str().unwrap_or_default()
}

/// Renames the command in front of the words; gives the option that its bare words go to.
fn rename_command(words: &mut Vec<OsString>, all: &mut Renewed) -> Option<&'static str> {
    let is_named = |old: &str| {
        let count = old.split(' ').count();
        words.len() >= count && old.split(' ').eq(words[..count].iter().map(text))
    };
    let found = COMMANDS.iter().find(|command| is_named(command.old))?;
    let count = found.old.split(' ').count();
    words.splice(..count, found.new.split(' ').map(OsString::from));
    let today = match found.words_go_to {
        Some("--export") => format!("hps {} --export", found.new),
        _ => format!("hps {}", found.new),
    };
    all.note(&format!("hps {}", found.old), &today);
    found.words_go_to
}

/// The option that a word names, and whether the next word is its value.
fn option<'a>(command: &'a Command, name: &str) -> Option<(&'a Arg, bool)> {
    let found = command
        .get_arguments()
        .find(|arg| match name.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            None => arg
                .get_short()
                .is_some_and(|short| name == format!("-{short}")),
        })?;
    let least = found.get_num_args().map_or(1, |n| n.min_values());
    let takes = found.get_action().takes_values() && least > 0;
    Some((found, takes))
}

/// Names of options in front of the program.
fn own_options<'a>(
    command: &'a Command,
    words: &'a [OsString],
) -> impl Iterator<Item = &'a str> + 'a {
    let mut words = words.iter().map(text);
    std::iter::from_fn(move || {
        let word = words
            .next()
            .filter(|word| word.starts_with("--") && *word != "--")?;
        let (name, value) = word.split_once('=').unzip();
        let name = name.unwrap_or(word);
        if value.is_none() && option(command, name).is_none_or(|(_, takes)| takes) {
            words.next();
        }
        name.strip_prefix("--")
    })
}

fn rename_options(
    command: &Command,
    path: &str,
    words_go_to: Option<&str>,
    words: Vec<OsString>,
    all: &mut Renewed,
) {
    let has_program = command.get_arguments().any(Arg::is_trailing_var_arg_set);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let shown = text(&word).to_string();
        if shown == "--" || (has_program && !shown.starts_with('-')) {
            all.words.push(word);
            break;
        }
        if !shown.starts_with('-') {
            all.words.extend(words_go_to.map(OsString::from));
            all.words.push(word);
            continue;
        }
        let (name, value) = shown.split_once('=').unzip();
        let (name, mut value) = (name.unwrap_or(&shown), value.map(OsString::from));
        let long = name.strip_prefix("--").unwrap_or_default();
        let renamed = OPTIONS
            .iter()
            .find(|(of, old, _)| *of == path && *old == long);
        let mut today = renamed.map_or(name.to_string(), |(_, _, new)| format!("--{new}"));
        let mut says = renamed.map(|_| today.clone());
        if path == "dcpi report" && long == "summary" {
            all.words.push("--as".into());
            (today, says) = ("summary".to_string(), Some("--as summary".to_string()));
        } else if path == "dcpi report" && long == "image" {
            today = "--program".to_string();
            says = Some(today.clone());
        }
        let is_json = today == "--json" && JSON_FILES.contains(&path);
        let takes = option(command, &today).is_some_and(|(_, takes)| takes);
        if value.is_none() && (takes || says.as_deref() == Some("--json")) {
            value = words.next();
        } else if value.is_none() && is_json && words.as_slice().first().is_some_and(is_file) {
            value = words.next();
            says = Some("--json=FILE".to_string());
        }
        let unit = PERIODS
            .iter()
            .find(|(of, _)| *of == path && long == "period");
        if let (Some((_, unit)), Some(period)) = (unit, &mut value)
            && text(period).parse::<f64>().is_ok()
        {
            let with_unit = format!("{}{unit}", text(period));
            all.note(
                &format!("--period {}", text(period)),
                &format!("--period {with_unit}"),
            );
            *period = with_unit.into();
        }
        if let Some(new) = says {
            all.note(name, &new);
        }
        let mut line = OsString::from(today);
        if let Some(value) = value {
            match line.to_str().is_some_and(|name| name.starts_with("--")) {
                true => {
                    line.push("=");
                    line.push(value);
                }
                false => {
                    all.words.push(line);
                    line = value;
                }
            }
        }
        all.words.push(line);
    }
    all.words.extend(words);
}

/// Whether a word behind `--json` is its file, as commands took it, and not the program.
fn is_file(word: &OsString) -> bool {
    let path = Path::new(word);
    path.extension().is_some_and(|end| end == "json") || path.starts_with("/dev")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// The words of a line and what is said of it.
    fn renewed(line: &str) -> (String, Option<String>) {
        let words = line.split(' ').map(OsString::from).collect();
        let all = renew(&Cli::command(), words);
        let words: Vec<&str> = all.words.iter().map(text).collect();
        (words.join(" "), all.hint())
    }

    #[test]
    fn every_old_name_becomes_one_of_today() {
        let today = Cli::command();
        for old in &COMMANDS {
            let (line, hint) = renewed(&format!("hps {}", old.old));
            assert_eq!(line.replace('=', " "), format!("hps {}", old.new));
            assert!(hint.expect("a hint").contains(old.new), "{line}");
        }
        for (path, old, new) in OPTIONS {
            let command = path.split(' ').fold(&today, |command, name| {
                command.find_subcommand(name).expect("a command of today")
            });
            let longs = || command.get_arguments().filter_map(Arg::get_long);
            assert!(longs().any(|long| long == new), "{path} --{new}");
            assert!(longs().all(|long| long != old), "{path} --{old}");
        }
    }

    #[test]
    fn lines_of_the_version_before_are_renewed() {
        for (old, new) in [
            (
                "hps --force bench --skip qemu --json a.json",
                "hps --force dev bench --without=qemu --json=a.json",
            ),
            (
                "hps dcpi stats a b --top 3",
                "hps dcpi report --as=stats --db a --db b --top=3",
            ),
            (
                "hps dcpi calc --summary --image bwt",
                "hps dcpi report --as=calc --as summary --program=bwt",
            ),
            (
                "hps dcpi export --db x pprof:a.gz",
                "hps dcpi report --db=x --export pprof:a.gz",
            ),
            (
                "hps dcpi cfg main -o a.svg",
                "hps dcpi report --as=cfg main -o a.svg",
            ),
            (
                "hps profile --top 3 --kind method --json x.json bwt --kind y",
                "hps collect --top=3 --kind=method --json=x.json bwt --kind y",
            ),
            (
                "hps run --stats-out x --seed 1 bwt --stats-out y",
                "hps run --json=x --seed=1 bwt --stats-out y",
            ),
            (
                "hps shadow run --period 8 gzip --period 8",
                "hps shadow run --period=8ms gzip --period 8",
            ),
            (
                "hps reproduce hps-2005 --programs a,b --threads=1 -- --threads 2",
                "hps reproduce hps-2005 --program=a,b --jobs=1 -- --threads 2",
            ),
        ] {
            let (line, hint) = renewed(old);
            assert_eq!(line, new);
            assert!(hint.is_some(), "{old}");
        }
    }

    #[test]
    fn lines_of_today_stay() {
        for line in [
            "hps profile --json bwt --kind method",
            "hps profile --json=x.json bwt",
            "hps run bwt",
            "hps shadow run --period=8ms gzip",
            "hps leaderboard bwt --with=tip",
            "hps dcpi report main --as=calc",
            "hps",
        ] {
            assert_eq!(renewed(line), (line.to_string(), None));
        }
    }
}
