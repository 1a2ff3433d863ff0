//! A set of files to tables, guest code and initial values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hps_isa::inst::OpClass;

use crate::config::MAX_SEQUENCE;
use crate::error::{Diagnostic, DiseError};
use crate::lang::ast::{Control, File, Replacement, SequenceBody};
use crate::lang::fragments::Fragments;
use crate::lang::layout::place;
use crate::lang::lower::Lowering;
use crate::lang::parser::dise_register;
use crate::lang::sequence;
use crate::lang::source::{Name, Source};
use crate::lang::symbols::Symbols;
use crate::set::{DataArea, Handler, LoadOptions};
use crate::tables::{Micro, Production, Sequence, Tables, Template};

/// Result of compiling a set of files.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub tables: Tables,
    pub symbols: Symbols,
    pub handlers: Vec<Handler>,
    pub code: Vec<u8>,
    pub data: Vec<DataArea>,
    pub register_init: Vec<(u8, u64)>,
    pub warnings: Vec<Diagnostic>,
}

/// Compiles files together. Labels are local to their file, all other names are shared.
pub(crate) fn compile(files: &[Arc<File>], options: &LoadOptions) -> Result<Compiled, DiseError> {
    let files: Vec<&File> = files.iter().map(AsRef::as_ref).collect();
    let mut out = Compiled {
        tables: Tables::default(),
        symbols: Symbols::collect(&files, &options.params, options.isa)?,
        handlers: Vec::new(),
        code: Vec::new(),
        data: Vec::new(),
        register_init: Vec::new(),
        warnings: Vec::new(),
    };
    for file in &files {
        out.warnings.extend(file.warnings.iter().cloned());
    }
    place(&files, options.handler_base, &mut out)?;
    let several = files
        .iter()
        .filter(|file| !file.productions.is_empty())
        .count()
        > 1;
    let fragments = Fragments::collect(&files)?;
    for file in &files {
        let prefix = if several {
            format!("{}:", stem(&file.source.name))
        } else {
            String::new()
        };
        FileCompiler::new(file, &out.symbols, &fragments)?.productions(&prefix, &mut out)?;
    }
    initial_values(&files, &mut out)?;
    Ok(out)
}

fn stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.split('.').next().unwrap_or(file)
}

/// `init` and `counter` definitions.
fn initial_values(files: &[&File], out: &mut Compiled) -> Result<(), DiseError> {
    let mut values: BTreeMap<u8, u64> = BTreeMap::new();
    let mut counters: BTreeMap<u8, u8> = BTreeMap::new();
    for file in files {
        let source = &file.source;
        for (counter, name) in &file.counters {
            let register = out.symbols.register(source, name)?;
            if counters
                .insert(*counter, register)
                .is_some_and(|old| old != register)
            {
                let message = format!("counter {counter} is already loaded from another register");
                return Err(source.error(name.at, message));
            }
        }
        for (name, expr) in &file.inits {
            let register = out.symbols.register(source, name)?;
            let value = out.symbols.evaluate(expr, source)? as u64;
            if values
                .insert(register, value)
                .is_some_and(|old| old != value)
            {
                let message = format!("`{}` already has another initial value", name.text);
                return Err(source.error(name.at, message));
            }
        }
    }
    let loaded: BTreeSet<u8> = counter_registers(&out.tables)
        .chain(counters.values().copied())
        .collect();
    for file in files {
        for (name, _) in &file.inits {
            let register = out.symbols.register(&file.source, name)?;
            let value = values.get(&register).copied().unwrap_or(0);
            if loaded.contains(&register) && value > u64::from(u32::MAX) {
                let message = format!(
                    "`{}` starts at {}, which no counter can hold",
                    name.text, value as i64
                );
                let help = "counters hold 0 to MAX (4294967295)";
                return Err(file.source.error_help(name.at, message, help));
            }
        }
    }
    out.tables.initial = counters.into_iter().collect();
    out.register_init = values.into_iter().collect();
    Ok(())
}

/// Registers that `set_N` reads.
pub(crate) fn counter_registers(tables: &Tables) -> impl Iterator<Item = u8> + '_ {
    tables
        .productions
        .iter()
        .flat_map(|p| &p.control)
        .filter_map(|micro| match micro {
            Micro::Set { register, .. } => Some(*register),
            _ => None,
        })
}

/// Resolves the labels of one file.
struct FileCompiler<'a> {
    file: &'a File,
    fragments: &'a Fragments<'a>,
    symbols: Symbols,
    sequences: BTreeMap<&'a str, Sequence>,
    controls: BTreeMap<&'a str, Vec<Micro>>,
}

impl<'a> FileCompiler<'a> {
    fn new(
        file: &'a File,
        symbols: &Symbols,
        fragments: &'a Fragments<'a>,
    ) -> Result<Self, DiseError> {
        let labels = file.productions.iter().map(|p| &p.name);
        unique(
            &file.source,
            labels
                .chain(file.sequences.iter().map(|s| &s.0))
                .chain(file.controls.iter().map(|c| &c.0)),
        )?;
        let mut compiler = FileCompiler {
            file,
            fragments,
            symbols: symbols.clone(),
            sequences: BTreeMap::new(),
            controls: BTreeMap::new(),
        };
        for (name, items) in &file.controls {
            let control = compiler.control(items)?;
            compiler.controls.insert(&name.text, control);
        }
        for (name, body) in &file.sequences {
            let sequence = compiler.sequence(body, name)?;
            compiler.sequences.insert(&name.text, sequence);
        }
        Ok(compiler)
    }

    fn productions(&self, prefix: &str, out: &mut Compiled) -> Result<(), DiseError> {
        let source = &self.file.source;
        let mut used = BTreeSet::new();
        for production in &self.file.productions {
            let lowering = Lowering {
                symbols: &self.symbols,
                source,
                at: production.name.at,
            };
            let entries = lowering.entries(&production.pattern)?;
            if entries.is_empty() {
                let message = format!(
                    "no instruction can match the pattern of {}",
                    production.name.text
                );
                out.warnings
                    .push(source.diagnostic(production.name.at, message, None));
            }
            let replacement = match &production.replacement {
                Replacement::Null => None,
                Replacement::Inline(body) => Some(self.sequence(body, &production.name)?),
                Replacement::Label(name) => {
                    used.insert(name.text.as_str());
                    Some(self.labelled_sequence(name)?.clone())
                }
            };
            used.extend(production.control.iter().filter_map(|item| match item {
                Control::Label(name) => Some(name.text.as_str()),
                _ => None,
            }));
            if replacement
                .as_ref()
                .is_some_and(|s| !s.templates.contains(&Template::Trigger))
            {
                let message = format!(
                    "{} replaces its trigger: the sequence has no T.INSN",
                    production.name.text
                );
                let help = "add T.INSN unless the program's instruction is to disappear";
                out.warnings.push(source.diagnostic(
                    production.name.at,
                    message,
                    Some(help.to_owned()),
                ));
            }
            let control = self.control(&production.control)?;
            let name = format!("{prefix}{}", production.name.text);
            out.tables.productions.push(Production {
                name,
                entries,
                replacement,
                control,
            });
        }
        self.report_unused(&used, out);
        Ok(())
    }

    fn report_unused(&self, used: &BTreeSet<&str>, out: &mut Compiled) {
        let composed = self.file.sequences.iter().flat_map(|(_, body)| match body {
            SequenceBody::Compose(parts) => parts.as_slice(),
            SequenceBody::Lines(_) => &[],
        });
        let used: BTreeSet<&str> = used
            .iter()
            .copied()
            .chain(composed.map(|n| n.text.as_str()))
            .collect();
        let labels = self
            .file
            .sequences
            .iter()
            .map(|s| &s.0)
            .chain(self.file.controls.iter().map(|c| &c.0));
        for label in labels.filter(|label| !used.contains(label.text.as_str())) {
            let message = format!("`{}` is not used", label.text);
            out.warnings
                .push(self.file.source.diagnostic(label.at, message, None));
        }
    }

    fn labelled_sequence(&self, name: &Name) -> Result<&Sequence, DiseError> {
        self.sequences.get(name.text.as_str()).ok_or_else(|| {
            let known = self.sequences.keys().copied().chain(["null"]);
            let help = format!("define it: `{}: {{ ...; T.INSN }}`", name.text);
            self.file
                .source
                .unknown(name, "replacement sequence", known, &help)
        })
    }

    fn sequence(&self, body: &SequenceBody, owner: &Name) -> Result<Sequence, DiseError> {
        match body {
            SequenceBody::Lines(lines) => {
                let lines = self.fragments.expand(lines, &self.file.source)?;
                sequence::assemble(&lines, owner.at, &self.file.source, &self.symbols)
                    .map(Sequence::new)
            }
            SequenceBody::Compose(parts) => {
                let parts = parts
                    .iter()
                    .map(|name| self.labelled_sequence(name))
                    .collect::<Result<Vec<_>, _>>()?;
                let sequence = compose(&parts);
                if sequence.templates.len() > MAX_SEQUENCE {
                    let message = format!(
                        "the composed sequence has {} instructions",
                        sequence.templates.len()
                    );
                    let help = format!("at most {MAX_SEQUENCE} are possible");
                    return Err(self.file.source.error_help(owner.at, message, help));
                }
                Ok(sequence)
            }
        }
    }

    fn control(&self, items: &[Control]) -> Result<Vec<Micro>, DiseError> {
        let source = &self.file.source;
        let mut control = Vec::new();
        for item in items {
            match item {
                Control::Inc(counter) => control.push(Micro::Inc(*counter)),
                Control::Dec(counter) => control.push(Micro::Dec(*counter)),
                Control::Set(counter, name) => {
                    let register = self.symbols.register(source, name)?;
                    control.push(Micro::Set {
                        counter: *counter,
                        register,
                    });
                }
                Control::Label(name) => match self.controls.get(name.text.as_str()) {
                    Some(micros) => control.extend(micros),
                    None => {
                        let known = self.controls.keys().copied().chain(["null"]);
                        let help = format!("define it: `{}: inc_1;`", name.text);
                        return Err(source.unknown(name, "conditional control", known, &help));
                    }
                },
            }
        }
        Ok(control)
    }
}

/// Sequences one after the other; the trigger runs once, where the last of them has it.
fn compose(parts: &[&Sequence]) -> Sequence {
    let mut templates: Vec<Template> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let keep_trigger = i + 1 == parts.len();
        let start = templates.len();
        let mut moved = Vec::with_capacity(part.templates.len());
        let mut kept = start;
        for template in &part.templates {
            moved.push(kept);
            kept += usize::from(keep_trigger || *template != Template::Trigger);
        }
        for template in part
            .templates
            .iter()
            .filter(|t| keep_trigger || **t != Template::Trigger)
        {
            templates.push(relocate(*template, &moved));
        }
    }
    Sequence {
        templates,
        composed: parts.len() > 1,
    }
}

fn relocate(mut template: Template, moved: &[usize]) -> Template {
    if let Template::Inst { inst, .. } = &mut template
        && inst.class == OpClass::DiseBranch
        && let Some(target) = usize::try_from(inst.imm).ok().and_then(|i| moved.get(i))
    {
        inst.imm = *target as i64;
    }
    template
}

fn unique<'a>(source: &Source, labels: impl Iterator<Item = &'a Name>) -> Result<(), DiseError> {
    let mut seen = BTreeSet::new();
    for label in labels {
        if !seen.insert(&label.text) {
            let message = format!("label `{}` is defined twice", label.text);
            return Err(source.error_help(label.at, message, "use another label"));
        }
        if dise_register(&label.text).is_some() {
            return Err(source.error(label.at, format!("`{}` is a register", label.text)));
        }
    }
    Ok(())
}
