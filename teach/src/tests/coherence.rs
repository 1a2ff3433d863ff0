//! Coherence by messages: states that never contradict each other, and sums that are the counters'.

use super::*;

/// Two threads that write two words of one line.
fn false_sharing() -> String {
    THREADS.replace(
        "first_count: .dword 0\n        .zero 120",
        "first_count: .dword 0",
    )
}

fn coherence(session: &mut Session, line: Option<&str>) -> CoherenceView {
    let line = line.map(str::to_owned);
    ask!(session, Request::Coherence { line }, Answer::Coherence)
}

fn core_of(name: &str) -> Option<usize> {
    name.strip_prefix("core ")?.parse().ok()
}

/// One core that may write, or any number that may read.
fn is_coherent(states: &str) -> bool {
    let count = |letters: &str| {
        states
            .chars()
            .filter(|state| letters.contains(*state))
            .count()
    };
    count("ME") == 0 || (count("ME") == 1 && count("S") == 0)
}

/// The sentences of a message in English.
fn english(message: &Message) -> String {
    let fill = |one: &Sentence| {
        let values = one.values.iter();
        values.fold(one.text.clone(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), value)
        })
    };
    let all: Vec<String> = message.said.iter().map(fill).collect();
    all.join("; ")
}

#[test]
fn messages_say_who_wants_what() {
    let (mut session, _) = started(example(&false_sharing(), "cmp-4"));
    let view = coherence(&mut session, None);
    let mut waits = 0;
    for message in &view.messages {
        let (said, from) = (english(message), &message.from);
        assert!(!said.contains(['{', '}']), "{said}");
        let begins = match message.kind.as_str() {
            "request" => format!("{from} wants "),
            "acknowledgement" => format!("{from} has given its copy up"),
            "invalidation" => format!("{} loses its copy", message.to),
            "right" => format!("{} may write its copy now", message.to),
            "drop" => format!("{from} drops the line for another one"),
            "change" => format!("{from} writes the line that it has alone; nobody is told"),
            "write_back" => "the changed line goes to what all cores share, too".to_owned(),
            _ => String::new(),
        };
        assert!(said.starts_with(&begins), "{}: {said}", message.kind);
        waits += usize::from(said.contains("; the transfer before lasts "));
    }
    assert!(waits > 0);
}

#[test]
fn no_message_leaves_two_writers() {
    for text in [THREADS.to_owned(), false_sharing()] {
        for keys in [
            &[][..],
            &[("chip.coherence", "Snooping")],
            &[("chip.l2", "Shared")],
        ] {
            let mut setup = example(&text, "cmp-4");
            setup.keys.extend(
                keys.iter()
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned())),
            );
            let (mut session, summary) = started(setup);
            let view = coherence(&mut session, None);
            assert!(view.messages.len() > 10, "{keys:?}");
            let mut states: BTreeMap<String, String> = BTreeMap::new();
            let mut last = 0;
            for message in &view.messages {
                assert!(last <= message.cycle && message.cycle <= summary.cycles + 1000);
                last = message.cycle;
                assert!(is_coherent(&message.after), "{keys:?}: {message:?}");
                let before = states.insert(message.line.clone(), message.after.clone());
                let before = before.unwrap_or_else(|| "IIII".to_owned());
                assert_eq!(before, message.before, "{message:?}");
                // A core learns its state by a message to it, or by what it does itself.
                let pairs = message.before.chars().zip(message.after.chars());
                let changed: Vec<usize> = pairs
                    .enumerate()
                    .filter(|(_, (a, b))| a != b)
                    .map(|(at, _)| at)
                    .collect();
                let ends = [core_of(&message.to), core_of(&message.from)];
                assert!(
                    changed.iter().all(|core| ends.contains(&Some(*core))),
                    "{message:?}"
                );
            }
            // The parts of all lines are those of each line.
            let each: usize = view
                .lines
                .iter()
                .map(|line| coherence(&mut session, Some(&line.address)).messages.len())
                .sum();
            assert_eq!(each, view.messages.len());
        }
    }
}

#[test]
fn messages_are_as_many_as_the_machine_counts() {
    let (mut session, summary) = started(example(&false_sharing(), "cmp-4"));
    let view = coherence(&mut session, None);
    let count = |kinds: &[&str]| {
        view.messages
            .iter()
            .filter(|one| kinds.contains(&one.kind.as_str()))
            .count() as u64
    };
    let counter = |name: &str| {
        let all = summary.memory.iter().filter(|(key, _)| key.ends_with(name));
        all.map(|(_, count)| count).sum::<u64>()
    };
    let from_cores = view
        .messages
        .iter()
        .filter(|one| one.kind == "data" && core_of(&one.from).is_some());
    assert_eq!(
        from_cores.count() as u64,
        counter("coherence.transfer_events")
    );
    let lost = |one: &&Message| {
        one.before != one.after && ["invalidation", "forward"].contains(&one.kind.as_str())
    };
    let (dropped, kept): (Vec<_>, Vec<_>) = view.messages.iter().filter(lost).partition(|one| {
        let letters = one.before.chars().zip(one.after.chars());
        letters
            .into_iter()
            .any(|(before, after)| before != after && after == 'I')
    });
    assert_eq!(
        dropped.len() as u64,
        counter("coherence.invalidation_events")
    );
    assert_eq!(kept.len() as u64, counter("coherence.downgrade_events"));
    assert_eq!(count(&["right"]), counter("coherence.upgrade_events"));
}

#[test]
fn a_line_is_there_behind_its_transfer() {
    let (mut session, _) = started(example(&false_sharing(), "cmp-4"));
    let view = coherence(&mut session, None);
    let config = hps_pipeline::config::MachineConfig::preset("cmp-4").expect("a machine");
    let transfer = u64::from(config.chip.transfer_cycles);
    let of = |request: u64, kind: &str| {
        let mut all = view.messages.iter();
        all.find(|one| one.request == request && one.kind == kind)
    };
    let mut checked = 0;
    for forward in view.messages.iter().filter(|one| one.kind == "forward") {
        let asked = of(forward.request, "request").expect("a request");
        let data = of(forward.request, "data").expect("a line");
        assert!(asked.cycle <= forward.cycle, "{asked:?}");
        let sent = forward.cycle + transfer;
        assert!(
            data.said[0].text.starts_with("sent in cycle {cycle};")
                && data.said[0].values["cycle"] == sent.to_string()
        );
        assert!(data.cycle >= sent, "{data:?}");
        assert_eq!((&asked.from, &forward.to), (&data.to, &data.from));
        // The line stays until it is there: no other core is sent it before.
        let mut between = view.messages.iter();
        let taken = between.any(|one| {
            one.kind == "forward"
                && one.line == forward.line
                && (forward.cycle + 1..data.cycle).contains(&one.cycle)
        });
        assert!(!taken, "{forward:?}");
        checked += 1;
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn neighbours_in_a_line_cost_messages() {
    let messages = |text: &str| {
        let (mut session, _) = started(example(text, "cmp-4"));
        let view = coherence(&mut session, None);
        let of = |name: &str| {
            let line = view
                .lines
                .iter()
                .find(|line| line.place.split(", ").any(|one| one == name));
            line.map_or(0, |line| line.messages)
        };
        (of("first_count"), of("second_count"), of("done"))
    };
    let (first, second, done) = messages(THREADS);
    assert_eq!((first, second), (0, 0));
    assert!(done > 3, "{done}");
    let (first, second, _) = messages(&false_sharing());
    assert!(first == second && first > 200, "{first}");
}

#[test]
fn one_core_has_nobody_to_agree_with() {
    for machine in ["hps-4wide", "smt-2"] {
        let (mut session, _) = started(example(THREADS, machine));
        let view = coherence(&mut session, None);
        assert!(view.missing.contains("one core") && view.messages.is_empty());
    }
}
