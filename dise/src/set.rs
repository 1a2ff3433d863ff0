//! A set of productions: what a loader and an engine need of one or more production files.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hps_isa::inst::reg;
use hps_isa::isa::Isa;

use crate::config::DiseConfig;
use crate::engine::DiseEngine;
use crate::error::{Diagnostic, DiseError};
use crate::lang::ast::File;
use crate::lang::compile::{Compiled, compile};
use crate::lang::parser;
use crate::lang::source::Source;
use crate::tables::Tables;

/// Where handlers lie in guest memory unless the loader says otherwise: above everything that
/// Linux programs map by themselves in the guest's address space.
pub const HANDLER_BASE: u64 = 0x2_0000_0000;

/// How to load production files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Values for parameters (`param`), by name; others keep their defaults.
    pub params: HashMap<String, i64>,
    /// Guest address of the first handler, a multiple of 4096.
    pub handler_base: u64,
    /// The instruction set of the programs to run: that of handlers and replacement sequences.
    pub isa: Isa,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            params: HashMap::new(),
            handler_base: HANDLER_BASE,
            isa: Isa::Riscv64,
        }
    }
}

impl LoadOptions {
    /// Changes the instruction set of these options.
    #[must_use]
    pub fn for_isa(self, isa: Isa) -> Self {
        LoadOptions { isa, ..self }
    }

    /// Defaults with the given parameters.
    #[must_use]
    pub fn with_params<'a>(params: impl IntoIterator<Item = (&'a str, i64)>) -> Self {
        let params = params
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        LoadOptions {
            params,
            ..LoadOptions::default()
        }
    }
}

/// A handler in guest memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// Name of the handler.
    pub name: String,
    /// Guest address of its first instruction.
    pub address: u64,
    /// Size of its code in bytes.
    pub size: u64,
}

/// A guest data area: readable, writable, initially zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataArea {
    /// Name of the data area.
    pub name: String,
    /// Guest address.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Productions with their handlers, data areas and initial values, checked and ready to run.
#[derive(Clone, Debug)]
pub struct ProductionSet {
    files: Vec<Arc<File>>,
    options: LoadOptions,
    compiled: Compiled,
}

impl ProductionSet {
    /// Reads one production file.
    ///
    /// # Errors
    /// [`DiseError::Text`] points at the first mistake; [`DiseError::UnknownParam`] if the
    /// options set a parameter that the file does not declare.
    pub fn parse(text: &str, file_name: &str, options: &LoadOptions) -> Result<Self, DiseError> {
        Self::parse_files(&[(text, file_name)], options)
    }

    /// Reads several files, given as text and name, that share constants, registers, parameters,
    /// handlers and data. Labels are local to their file.
    ///
    /// # Errors
    /// Like [`ProductionSet::parse`].
    pub fn parse_files(files: &[(&str, &str)], options: &LoadOptions) -> Result<Self, DiseError> {
        let parse = |(text, name): &(&str, &str)| {
            let source = Source {
                name: (*name).to_owned(),
                text: (*text).to_owned(),
            };
            parser::parse(source, options.isa).map(Arc::new)
        };
        let files = files.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        Self::build(files, options.clone())
    }

    /// Puts sets together, in order: a sampling framework and a profile type, for example. Handlers
    /// and data are laid out anew. Names that several sets define must mean the same.
    ///
    /// # Errors
    /// If definitions contradict each other, or the sets were loaded with different values for the
    /// same parameter, for different instruction sets or at different addresses.
    pub fn merge(sets: impl IntoIterator<Item = ProductionSet>) -> Result<Self, DiseError> {
        let mut files = Vec::new();
        let mut merged: Option<LoadOptions> = None;
        for set in sets {
            files.extend(set.files);
            let Some(options) = &mut merged else {
                merged = Some(set.options);
                continue;
            };
            for (name, value) in set.options.params {
                let first = *options.params.entry(name.clone()).or_insert(value);
                if first != value {
                    return Err(DiseError::MergedParam {
                        name,
                        first,
                        second: value,
                    });
                }
            }
            if options.isa != set.options.isa {
                return Err(DiseError::MergedIsa {
                    first: options.isa,
                    second: set.options.isa,
                });
            }
            if options.handler_base != set.options.handler_base {
                return Err(DiseError::MergedBase {
                    first: options.handler_base,
                    second: set.options.handler_base,
                });
            }
        }
        Self::build(files, merged.unwrap_or_default())
    }

    fn build(files: Vec<Arc<File>>, options: LoadOptions) -> Result<Self, DiseError> {
        if !options.handler_base.is_multiple_of(4096) || options.handler_base > 1 << 48 {
            return Err(DiseError::HandlerBase {
                base: options.handler_base,
            });
        }
        let compiled = compile(&files, &options)?;
        Ok(ProductionSet {
            files,
            options,
            compiled,
        })
    }

    /// An engine for these productions. Call [`DiseEngine::reset`] with the machine's registers
    /// after [`ProductionSet::init_registers`].
    ///
    /// # Errors
    /// If the set does not fit the configuration.
    pub fn engine(&self, config: &DiseConfig) -> Result<DiseEngine, DiseError> {
        DiseEngine::from_tables(&self.compiled.tables, config)
    }

    /// The instruction set of its handlers and sequences.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.options.isa
    }

    /// The productions as tables.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.compiled.tables
    }

    /// Guest code to map readable and executable: address and bytes. Empty without handlers.
    #[must_use]
    pub fn handler_image(&self) -> Vec<(u64, Vec<u8>)> {
        if self.compiled.code.is_empty() {
            return Vec::new();
        }
        vec![(self.options.handler_base, self.compiled.code.clone())]
    }

    /// The handlers, in the order of the files.
    #[must_use]
    pub fn handlers(&self) -> &[Handler] {
        &self.compiled.handlers
    }

    /// Guest data to map readable and writable, zeroed, on pages behind the code.
    #[must_use]
    pub fn data_areas(&self) -> &[DataArea] {
        &self.compiled.data
    }

    /// Addresses of handlers and data areas by name.
    #[must_use]
    pub fn symbols(&self) -> &BTreeMap<String, u64> {
        &self.compiled.symbols.addresses
    }

    /// Constants and parameters by name, as resolved.
    #[must_use]
    pub fn constants(&self) -> &BTreeMap<String, i64> {
        &self.compiled.symbols.values
    }

    /// Names of DISE registers, in the machine's register numbering.
    #[must_use]
    pub fn registers(&self) -> &BTreeMap<String, u8> {
        &self.compiled.symbols.registers
    }

    /// Initial values of DISE registers, in the machine's register numbering.
    #[must_use]
    pub fn dise_register_init(&self) -> &[(u8, u64)] {
        &self.compiled.register_init
    }

    /// Stores the initial values into a register file.
    pub fn init_registers(&self, regs: &mut [u64; reg::COUNT]) {
        for &(register, value) in &self.compiled.register_init {
            regs[usize::from(register)] = value;
        }
    }

    /// Warnings about accepted input that looks like a mistake.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.compiled.warnings
    }
}

impl DiseEngine {
    /// Like [`ProductionSet::engine`].
    ///
    /// # Errors
    /// If the set does not fit the configuration.
    pub fn new(set: &ProductionSet, config: &DiseConfig) -> Result<Self, DiseError> {
        set.engine(config)
    }
}
