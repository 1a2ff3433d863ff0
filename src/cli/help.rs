//! Descriptions that the command gives of itself: commands in groups, and a screen for `-h`.

use clap::{Command, CommandFactory};

use super::Cli;

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Run and look", &["run", "profile", "analyze", "teach"]),
    ("Collect with HPS", &["collect", "dise"]),
    (
        "Compare",
        &["leaderboard", "sweep", "reproduce", "results", "cluster"],
    ),
    (
        "DCPI (Digital Continuous Profiling Infrastructure)",
        &["dcpi"],
    ),
    ("Native programs", &["shim", "shadow", "validate"]),
    ("The lab", &["programs", "root", "machine", "doctor", "dev"]),
];

/// Options that `-h` leaves to `--help`.
const RARE: [&str; 68] = [
    // Slices.
    "slice_length",
    "slice_warm",
    "slice_run_in",
    "slice_jobs",
    "slice_part",
    "choose",
    "choose_most",
    "slices_in",
    "regions",
    "regions_out",
    "slices_check",
    "no_translator",
    "checkpoint_every",
    "checkpoints",
    // Surroundings that few programs need.
    "cwd",
    "no_files",
    "writable",
    "uid",
    "gid",
    "start_time",
    "seed",
    "address_seed",
    "memory_limit",
    "output_limit",
    "file_limit",
    "limit",
    "max_open_files",
    "time_slice",
    "thread_seed",
    "max_threads",
    "env",
    // Details of how something is measured.
    "sample_period",
    "sample_unit",
    "sample_warm_up",
    "trace_cycles",
    "between_markers",
    "warm",
    "params",
    "set_ups",
    "expect_exit",
    "tail_calls",
    "tables",
    "period_seed",
    "unrepaired",
    "merge_every",
    "daemon_loops",
    "turn_cycles",
    "event_period",
    "entries",
    "flush_every",
    "costs",
    "chips",
    "orders",
    "observed_on",
    "observed_instructions",
    "simulated_instrumented",
    "slack",
    "again",
    "copy",
    "sbatch",
    "chunk",
    "retry",
    "phases",
    "samples",
    "bias",
    "by_program",
    "arguments",
    "table",
];

/// The description of the command, of which help, completions and man pages are made.
pub fn description() -> Command {
    let command = Cli::command();
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups += &format!("{title}:\n");
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(Command::get_about)
                .map(ToString::to_string);
            groups += &format!("  {name:<12} {}\n", about.unwrap_or_default());
        }
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\nOptions:\n{{options}}\n\n\
         `hps COMMAND -h` names the options of a command, `--help` teaches it.{{after-help}}"
    );
    brief(command).help_template(template)
}

/// A command and those inside it, whose `-h` names common options in short and leaves the others to `--help`.
fn brief(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let rare = RARE.contains(&arg.get_id().as_str());
        let Some(help) = arg.get_help().map(ToString::to_string) else {
            return arg;
        };
        let arg = match arg.get_long_help() {
            Some(_) => arg,
            None => arg.help(first_clause(&help).to_string()).long_help(help),
        };
        arg.hide_short_help(rare)
    });
    command.mut_subcommands(brief)
}

/// A help text up to where details begin.
fn first_clause(help: &str) -> &str {
    let ends = ["; ", ". ", ": ", " (", " [default"].map(|end| help.find(end));
    let end = ends.into_iter().flatten().filter(|&end| end > 24).min();
    &help[..end.unwrap_or(help.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_group() {
        let command = Cli::command();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn what_short_help_leaves_out_is_an_option() {
        fn has(command: &Command, id: &str) -> bool {
            command.get_arguments().any(|arg| arg.get_id() == id)
                || command.get_subcommands().any(|inner| has(inner, id))
        }
        let command = Cli::command();
        for id in RARE {
            assert!(has(&command, id), "{id}");
        }
    }

    #[test]
    fn short_help_of_all_is_a_screen() {
        let text = description().render_help().to_string();
        let lines = text.lines().count();
        assert!((24..=42).contains(&lines), "{lines} lines:\n{text}");
    }
}
