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

const COMMANDS: [OldCommand; 15] = [
    command("profilers", "leaderboard --list"),
    command("bench", "dev bench"),
    command("completions", "dev completions"),
    command("man", "dev man"),
    command("machine list", "machine show"),
    command("shim machine", "doctor"),
    command("shim dte", "shim overhead --kept"),
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
const OPTIONS: [(&str, &str, &str); 15] = [
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
    ("dcpi collect", "events", "event"),
    ("dcpi report", "image", "program"),
    ("dcpi report", "summary", "as=summary"),
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
    "shim microbench",
    "shim analyze",
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
    /// Text that tells the user today's names, if there was an old one.
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
    let (of_collect, of_profile) = ("collect", "profile");
    let known: Vec<&Command> = [of_collect, of_profile]
        .iter()
        .filter_map(|name| description.find_subcommand(name))
        .collect();
    if rest.first().is_some_and(|word| word == of_profile)
        && has_option(&known, &rest[1..], &OF_COLLECT)
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

/// Whether an option of one of the commands takes the next word as its value.
fn takes_value(commands: &[&Command], name: &str) -> bool {
    let is_named = |arg: &&Arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg
            .get_short()
            .is_some_and(|short| name == format!("-{short}")),
    };
    let mut arguments = commands.iter().flat_map(|command| command.get_arguments());
    arguments.find(is_named).is_some_and(|arg| {
        let least = arg.get_num_args().map_or(1, |n| n.min_values());
        arg.get_action().takes_values() && least > 0
    })
}

/// Whether a word can be the value of the option in front of it.
fn is_value(word: &OsString) -> bool {
    word == "-" || !text(word).starts_with('-')
}

/// Whether the words in front of the program, of one of the commands, have one of these options.
fn has_option(commands: &[&Command], words: &[OsString], names: &[&str]) -> bool {
    let mut words = words.iter().peekable();
    while let Some(word) = words.next_if(|word| text(word).starts_with('-') && *word != "--") {
        let (name, value) = text(word).split_once('=').unzip();
        let name = name.unwrap_or(text(word));
        if name
            .strip_prefix("--")
            .is_some_and(|long| names.contains(&long))
        {
            return true;
        }
        if value.is_none() && takes_value(commands, name) {
            words.next_if(|word| is_value(word));
        }
    }
    false
}

/// Renames options in front of the program. Words with today's names stay as they are.
fn rename_options(
    command: &Command,
    path: &str,
    words_go_to: Option<&str>,
    words: Vec<OsString>,
    all: &mut Renewed,
) {
    let has_program = command.get_arguments().any(Arg::is_trailing_var_arg_set);
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next_if(|word| !(has_program && is_value(word)) && *word != "--") {
        if is_value(&word) {
            all.words.extend(words_go_to.map(OsString::from));
            all.words.push(word);
            continue;
        }
        let (name, value) = text(&word).split_once('=').unzip();
        let name = name.unwrap_or(text(&word));
        let long = name.strip_prefix("--").unwrap_or_default();
        let renamed = OPTIONS
            .iter()
            .find(|(of, old, _)| *of == path && *old == long);
        let today = renamed.map_or(name.to_string(), |(_, _, new)| format!("--{new}"));
        let had_file = today == "--json" && JSON_FILES.contains(&path);
        let is_next = value.is_none()
            && (takes_value(&[command], &today)
                || (had_file && (renamed.is_some() || words.peek().is_some_and(is_file))));
        let next = if is_next {
            words.next_if(is_value)
        } else {
            None
        };
        let mut value = value.map(OsString::from).or(next.clone());
        let mut named = name.to_string();
        let mut says = renamed.map(|_| today.clone());
        if had_file && renamed.is_none() && next.is_some() {
            says = Some("--json=FILE".to_string());
        }
        let unit = PERIODS
            .iter()
            .find(|(of, _)| *of == path && long == "period");
        if let (Some((_, unit)), Some(period)) = (unit, &mut value)
            && text(period).parse::<f64>().is_ok()
        {
            let today = format!("{}{unit}", text(period));
            named = format!("--period {}", text(period));
            says = Some(format!("--period {today}"));
            *period = today.into();
        }
        let Some(says) = says else {
            all.words.push(word);
            all.words.extend(next);
            continue;
        };
        all.note(&named, &says);
        let mut line = OsString::from(today);
        if let Some(value) = value {
            line.push("=");
            line.push(value);
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

    /// The renewed words of a command line, and the hint about them.
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
            assert_eq!(line, format!("hps {}", old.new));
            assert!(hint.expect("a hint").contains(old.new), "{line}");
        }
        for (path, old, new) in OPTIONS {
            let command = path.split(' ').fold(&today, |command, name| {
                command.find_subcommand(name).expect("a command of today")
            });
            let longs = || command.get_arguments().filter_map(Arg::get_long);
            let (new, _) = new.split_once('=').unwrap_or((new, ""));
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
                "hps dcpi report --as stats --db a --db b --top 3",
            ),
            (
                "hps dcpi calc --summary --image bwt",
                "hps dcpi report --as calc --as=summary --program=bwt",
            ),
            (
                "hps dcpi export --db x pprof:a.gz",
                "hps dcpi report --db x --export pprof:a.gz",
            ),
            (
                "hps dcpi cfg main -o a.svg",
                "hps dcpi report --as cfg main -o a.svg",
            ),
            (
                "hps profile --top 3 --kind method --json x.json bwt --kind y",
                "hps collect --top 3 --kind method --json=x.json bwt --kind y",
            ),
            (
                "hps profile --force --timeline --one-in 5 bwt",
                "hps collect --force --timeline --one-in 5 bwt",
            ),
            (
                "hps run --stats-out x --seed 1 bwt --stats-out y",
                "hps run --json=x --seed 1 bwt --stats-out y",
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
            "hps leaderboard bwt --with tip --threads-of x",
            "hps dcpi report main --as calc",
            "hps run --machine --core x bwt",
            "hps shadow run --period 8us -- gzip",
            "hps profile --force --with a bwt --kind method",
            "hps",
        ] {
            assert_eq!(renewed(line), (line.to_string(), None));
        }
    }
}
