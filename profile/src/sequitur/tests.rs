//! Sequitur's two constraints and its expansion, on random and on nasty input, and a comparison
//! with a naive implementation that scans the whole grammar after each symbol.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// Pushed symbols: a terminal, or `None` for a terminator.
type Input = Vec<Option<u64>>;

fn build(input: &[Option<u64>]) -> Sequitur {
    let mut sequitur = Sequitur::new();
    for symbol in input {
        match symbol {
            Some(terminal) => sequitur.push(*terminal),
            None => sequitur.push_terminator(),
        }
    }
    sequitur
}

/// The input without the terminators that say nothing.
fn normalized(input: &[Option<u64>]) -> Input {
    let mut result = Input::new();
    for &symbol in input {
        if symbol.is_some() || matches!(result.last(), Some(Some(_))) {
            result.push(symbol);
        }
    }
    result
}

fn verify(sequitur: &Sequitur, input: &[Option<u64>]) -> Result<(), String> {
    let grammar = sequitur.grammar();
    let mut expansion = Input::new();
    grammar.for_each_symbol(Grammar::START, |symbol| expansion.push(symbol));
    if expansion != normalized(input) {
        return Err(format!("expands to {expansion:?}"));
    }
    let mut digrams = HashMap::new();
    let mut uses = vec![0; grammar.rules() as usize];
    let mut symbols = 0;
    for rule in 0..grammar.rules() {
        let body = grammar.body(rule);
        symbols += body.len() + 1;
        if rule != Grammar::START && body.len() < 2 {
            return Err(format!("rule {rule} has the body {body:?}"));
        }
        if rule != Grammar::START && body.contains(&GrammarSymbol::Terminator) {
            return Err(format!("rule {rule} holds a terminator"));
        }
        grammar
            .used_rules(rule)
            .for_each(|used| uses[used as usize] += 1);
        for (at, pair) in body.windows(2).enumerate() {
            if pair.contains(&GrammarSymbol::Terminator) {
                continue;
            }
            let (other, place) = *digrams.entry((pair[0], pair[1])).or_insert((rule, at));
            if other != rule || place.abs_diff(at) > 1 {
                return Err(format!(
                    "digram {pair:?} in rule {other} at {place} and {rule} at {at}"
                ));
            }
        }
    }
    if let Some(rule) = (1..uses.len()).find(|&rule| uses[rule] < 2) {
        return Err(format!("rule {rule} is used {} times", uses[rule]));
    }
    if (sequitur.symbols(), sequitur.rules()) != (symbols, grammar.rules() as usize) {
        return Err(format!(
            "{} symbols are counted, {symbols} live",
            sequitur.symbols()
        ));
    }
    Ok(())
}

fn text(sequitur: &Sequitur) -> String {
    let grammar = sequitur.grammar();
    // Rules are named in the order of their first appearance, depth first.
    let mut names = vec![usize::MAX; grammar.rules() as usize];
    let order = grammar.reverse_postorder();
    for (name, &rule) in order.iter().enumerate() {
        names[rule as usize] = name;
    }
    let mut lines = Vec::new();
    for rule in order {
        let body: Vec<_> = grammar
            .body(rule)
            .iter()
            .map(|symbol| match symbol {
                GrammarSymbol::Terminal(number) => {
                    char::from(grammar.terminals()[*number as usize] as u8).to_string()
                }
                GrammarSymbol::Rule(used) => format!("<{}>", names[*used as usize]),
                GrammarSymbol::Terminator => "|".into(),
            })
            .collect();
        lines.push(body.concat());
    }
    lines.join("\n")
}

fn letters(text: &str) -> Input {
    text.bytes()
        .map(|byte| (byte != b'|').then_some(u64::from(byte)))
        .collect()
}

#[test]
fn published_examples() {
    // Figures 1 and 4 of the JAIR paper.
    assert_eq!(text(&build(&letters("abcdbc"))), "a<1>d<1>\nbc");
    assert_eq!(
        text(&build(&letters("abcdbcabcdbc"))),
        "<1><1>\na<2>d<2>\nbc"
    );
}

#[test]
fn runs_of_one_symbol() {
    assert_eq!(text(&build(&letters("aaa"))), "aaa");
    assert_eq!(text(&build(&letters("aaaa"))), "<1><1>\naa");
    for length in 0..300 {
        let input = vec![Some(7); length];
        verify(&build(&input), &input).unwrap();
    }
}

#[test]
fn terminators_are_in_no_rule() {
    let input = letters("||abc||abc|abc|");
    let sequitur = build(&input);
    assert_eq!(text(&sequitur), "<1>|<1>|<1>|\nabc");
    verify(&sequitur, &input).unwrap();
    // Across the terminator there is no digram `ba`, although it is there twice in the input.
    assert_eq!(text(&build(&letters("ab|ac|db|ae"))), "ab|ac|db|ae");
}

#[test]
fn every_short_input_over_two_and_three_letters() {
    for (letters, longest) in [(2u64, 13u32), (3, 8)] {
        for length in 0..=longest {
            for number in 0..letters.pow(length) {
                let input: Input = (0..length)
                    .map(|place| Some(number / letters.pow(place) % letters))
                    .collect();
                verify(&build(&input), &input).unwrap_or_else(|error| panic!("{input:?}: {error}"));
            }
        }
    }
}

#[test]
fn long_random_inputs_keep_the_constraints() {
    let mut state = 1u64;
    for letters in [2u64, 3, 5, 30] {
        for terminator_in in [20u64, 1_000_000] {
            let input: Input = (0..20_000)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    let random = state >> 33;
                    (random % terminator_in != 1).then_some(random / 64 % letters)
                })
                .collect();
            verify(&build(&input), &input).unwrap();
        }
    }
}

#[test]
fn a_cleared_grammar_starts_afresh() {
    let (first, second) = (letters("abcabcabdabd"), letters("xyxyzxyz"));
    let mut sequitur = build(&first);
    sequitur.clear();
    assert_eq!((sequitur.symbols(), sequitur.rules()), (1, 1));
    for symbol in &second {
        sequitur.push(symbol.unwrap());
    }
    assert_eq!(text(&sequitur), text(&build(&second)));
}

#[test]
fn a_periodic_sequence_needs_logarithmic_space() {
    let mut sequitur = Sequitur::new();
    for at in 0..100_000u64 {
        sequitur.push(at % 50);
    }
    assert!(sequitur.symbols() < 200, "{} symbols", sequitur.symbols());
}

/// Sequitur by its definition: after each symbol, as long as there is a repeated digram or a rule
/// with a single use, remove it. Quadratic and worse.
mod naive {
    use super::Input;

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Symbol {
        Terminal(u64),
        Terminator,
        Rule(usize),
    }

    /// Bodies by rule number; deleted rules have none.
    #[derive(Default)]
    struct Rules(Vec<Option<Vec<Symbol>>>);

    impl Rules {
        /// The later of two equal digrams that do not overlap, and the earlier one.
        fn repeated_digram(&self) -> Option<((usize, usize), (usize, usize))> {
            let places: Vec<_> = self
                .0
                .iter()
                .enumerate()
                .flat_map(|(rule, body)| {
                    let pairs = body.as_deref().unwrap_or(&[]).len().saturating_sub(1);
                    (0..pairs).map(move |at| (rule, at))
                })
                .collect();
            let pair = |&(rule, at): &(usize, usize)| {
                let body = self.0[rule].as_ref().expect("a live rule");
                [body[at], body[at + 1]]
            };
            for (i, a) in places.iter().enumerate() {
                for b in &places[i + 1..] {
                    let overlap = a.0 == b.0 && b.1 == a.1 + 1;
                    if pair(a) == pair(b) && !overlap && !pair(a).contains(&Symbol::Terminator) {
                        return Some((*b, *a));
                    }
                }
            }
            None
        }

        fn replace(&mut self, place: (usize, usize), rule: usize) {
            let body = self.0[place.0].as_mut().expect("a live rule");
            body.splice(place.1..place.1 + 2, [Symbol::Rule(rule)]);
        }

        fn is_whole(&self, place: (usize, usize)) -> bool {
            place.0 != 0 && self.0[place.0].as_ref().is_some_and(|body| body.len() == 2)
        }

        fn remove_repetition(&mut self, one: (usize, usize), other: (usize, usize)) {
            if self.is_whole(other) {
                self.replace(one, other.0);
            } else if self.is_whole(one) {
                self.replace(other, one.0);
            } else {
                let body = self.0[one.0].as_ref().expect("a live rule");
                let pair = vec![body[one.1], body[one.1 + 1]];
                let rule = self.0.len();
                self.0.push(Some(pair));
                // The later place first, so that the earlier one does not move.
                self.replace(one, rule);
                self.replace(other, rule);
            }
        }

        fn expand_underused(&mut self) -> bool {
            for rule in 1..self.0.len() {
                let mut uses = Vec::new();
                for (user, body) in self.0.iter().enumerate() {
                    for (at, symbol) in body.iter().flatten().enumerate() {
                        if *symbol == Symbol::Rule(rule) {
                            uses.push((user, at));
                        }
                    }
                }
                if let [(user, at)] = uses[..] {
                    let inner = self.0[rule].take().expect("a used rule");
                    self.0[user]
                        .as_mut()
                        .expect("a live rule")
                        .splice(at..=at, inner);
                    return true;
                }
            }
            false
        }
    }

    fn write(rules: &Rules, symbol: Symbol, out: &mut String) {
        match symbol {
            Symbol::Terminal(terminal) => out.push(char::from(terminal as u8)),
            Symbol::Terminator => out.push('|'),
            Symbol::Rule(rule) => {
                out.push('<');
                for &inner in rules.0[rule].as_ref().expect("a live rule") {
                    write(rules, inner, out);
                }
                out.push('>');
            }
        }
    }

    /// The input with a pair of brackets around each use of a rule, which tells the grammar apart
    /// from any other one.
    pub fn parse(input: &Input) -> String {
        let mut rules = Rules(vec![Some(Vec::new())]);
        for symbol in super::normalized(input) {
            let symbol = symbol.map_or(Symbol::Terminator, Symbol::Terminal);
            rules.0[0].as_mut().expect("the start rule").push(symbol);
            while let Some((one, other)) = rules.repeated_digram() {
                rules.remove_repetition(one, other);
                while rules.expand_underused() {}
            }
        }
        let mut text = String::new();
        write(&rules, Symbol::Rule(0), &mut text);
        text
    }
}

/// The bracketed input of our own grammar.
fn parse(grammar: &Grammar, rule: u32, out: &mut String) {
    out.push('<');
    for symbol in grammar.body(rule) {
        match symbol {
            GrammarSymbol::Terminal(number) => {
                out.push(char::from(grammar.terminals()[*number as usize] as u8));
            }
            GrammarSymbol::Terminator => out.push('|'),
            GrammarSymbol::Rule(used) => parse(grammar, *used, out),
        }
    }
    out.push('>');
}

#[test]
fn same_grammar_as_the_naive_implementation() {
    let mut state = 99u64;
    for round in 0..400u64 {
        let letters = 2 + round % 4;
        let input: Input = (0..70)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let random = state >> 33;
                (random & 31 != 0).then_some(u64::from(b'a') + (random >> 7) % letters)
            })
            .collect();
        let mut ours = String::new();
        parse(&build(&input).grammar(), Grammar::START, &mut ours);
        assert_eq!(ours, naive::parse(&input), "{input:?}");
    }
}

/// Appends one symbol by the published algorithm, without pending matches.
fn push_by_the_book(sequitur: &mut Sequitur, symbol: Option<u64>) {
    match symbol {
        Some(terminal) => {
            let number = sequitur.numbers.of(terminal);
            let last = sequitur.append(number);
            sequitur.check(last);
            sequitur.check_pending();
        }
        None => sequitur.push_terminator(),
    }
}

/// Sequences in which earlier parts come again, whole or cut, with other symbols in between.
fn repetitive(random: &mut impl FnMut(u64) -> u64, length: usize) -> Input {
    let letters = 2 + random(12);
    let longest = 2 + random(40);
    let fresh_in = 2 + random(12);
    let mut input: Input = vec![Some(0)];
    while input.len() < length {
        if random(fresh_in) == 0 {
            input.push((random(40) != 0).then(|| random(letters)));
        } else {
            let from = random(input.len() as u64) as usize;
            let to = (from + 1 + random(longest) as usize).min(input.len());
            for _ in 0..1 + random(3) {
                input.extend_from_within(from..to);
            }
        }
    }
    input
}

/// Rounds of the comparisons below.
const ROUNDS: usize = 3_000;

fn random_numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// The sizes are compared after every symbol, because they say where a segment ends.
#[test]
fn pending_matches_do_not_change_the_grammar() {
    let mut random = random_numbers(7);
    for _ in 0..ROUNDS {
        let length = 10 + random(400) as usize;
        let input = repetitive(&mut random, length);
        let (mut lazy, mut eager) = (Sequitur::new(), Sequitur::new());
        for (at, &symbol) in input.iter().enumerate() {
            match symbol {
                Some(terminal) => lazy.push(terminal),
                None => lazy.push_terminator(),
            }
            push_by_the_book(&mut eager, symbol);
            assert_eq!(
                (lazy.symbols(), lazy.rules()),
                (eager.symbols(), eager.rules()),
                "{:?}",
                &input[..=at]
            );
            if random(50) == 0 {
                assert_eq!(lazy.grammar(), eager.grammar(), "{:?}", &input[..=at]);
            }
        }
        assert_eq!(lazy.grammar(), eager.grammar(), "{input:?}");
    }
}

#[test]
fn many_at_once_stop_where_one_at_a_time_do() {
    let mut random = random_numbers(8);
    for _ in 0..ROUNDS / 10 {
        let length = 10 + random(2_000) as usize;
        let mut input: Vec<u64> = repetitive(&mut random, length)
            .into_iter()
            .flatten()
            .collect();
        let limit = 2 + random(600) as usize;
        let (mut single, mut batch) = (Sequitur::new(), Sequitur::new());
        while !input.is_empty() {
            let count = input.len().min(1 + random(200) as usize);
            let pushed = batch.push_all(&input[..count], limit);
            for &terminal in &input[..pushed] {
                assert!(single.symbols() < limit);
                let before = single.symbols();
                single.push(terminal);
                assert!(single.symbols() <= before + MOST_GROWTH);
            }
            assert_eq!(single.grammar(), batch.grammar());
            if single.symbols() >= limit {
                single.clear();
                batch.clear();
            } else {
                assert_eq!(pushed, count);
            }
            input.drain(..pushed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn constraints_hold_after_every_symbol(
        input in prop::collection::vec(prop::option::weighted(0.95, 0u64..4), 0..120)
    ) {
        let mut sequitur = Sequitur::new();
        for (at, symbol) in input.iter().enumerate() {
            match symbol {
                Some(terminal) => sequitur.push(*terminal),
                None => sequitur.push_terminator(),
            }
            verify(&sequitur, &input[..=at]).map_err(TestCaseError::fail)?;
        }
    }
}
