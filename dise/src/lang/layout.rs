//! Where handlers and data lie in guest memory.

use std::collections::BTreeSet;

use hps_isa::asm::NoHook;
use hps_isa::isa::Isa;

use crate::error::DiseError;
use crate::lang::ast::{Expr, File};
use crate::lang::compile::Compiled;
use crate::lang::handler::{self, Early};
use crate::lang::source::{Name, Source};
use crate::lang::symbols::Symbols;
use crate::set::{DataArea, Handler};

/// Guest pages, so that code and data can have different permissions.
const PAGE: u64 = 4096;
/// Handlers start at multiples of this.
const HANDLER_ALIGN: u64 = 16;
/// The most guest memory that handlers and data may take together.
const MAX_IMAGE: u64 = 1 << 30;

/// Gives handlers and data their addresses, and assembles the handlers.
pub(super) fn place(files: &[&File], base: u64, out: &mut Compiled) -> Result<(), DiseError> {
    let handlers = || {
        files
            .iter()
            .flat_map(|f| f.handlers.iter().map(move |h| (&f.source, &h.0, &h.1)))
    };
    let data = || {
        files
            .iter()
            .flat_map(|f| f.data.iter().map(move |d| (&f.source, d)))
    };
    let names = handlers().map(|h| h.1).chain(data().map(|d| &d.1.0));
    let address_names: BTreeSet<String> = names.map(|name| name.text.clone()).collect();
    let mut layouts = Vec::new();
    let mut address = base;
    for (source, name, lines) in handlers() {
        let early = Early {
            source,
            symbols: &out.symbols,
            address_names: &address_names,
        };
        let layout = early.layout(name, lines)?;
        address = address.next_multiple_of(HANDLER_ALIGN);
        layouts.push((source, name, layout, address));
        address += layouts.last().map_or(0, |l| l.2.size);
    }
    for (_, name, _, address) in &layouts {
        let source = layouts
            .iter()
            .find(|l| std::ptr::eq(l.1, *name))
            .map(|l| l.0);
        if let Some(source) = source {
            out.symbols.define_address(source, name, *address)?;
        }
    }
    address = address.next_multiple_of(PAGE);
    for (source, (name, size, align)) in data() {
        let size = positive(&out.symbols, size, source, name, "size")?;
        let align = positive(&out.symbols, align, source, name, "alignment")?;
        if !align.is_power_of_two() {
            let message = format!("the alignment of `{}` is {align}", name.text);
            return Err(source.error_help(name.at, message, "use a power of two"));
        }
        address = address.next_multiple_of(align);
        out.symbols.define_address(source, name, address)?;
        out.data.push(DataArea {
            name: name.text.clone(),
            address,
            size,
        });
        address += size;
        if address - base > MAX_IMAGE {
            let message = format!(
                "`{}` does not fit: handlers and data may take {MAX_IMAGE} bytes",
                name.text
            );
            return Err(source.error(name.at, message));
        }
    }
    let (nop, d_ret) = (word(out.symbols.isa, "nop"), word(out.symbols.isa, "d_ret"));
    for (source, name, layout, address) in &layouts {
        let words = handler::code(layout, *address, source, &out.symbols)?;
        while base + (out.code.len() as u64) < *address {
            out.code.extend(nop.to_le_bytes());
        }
        if !words.contains(&d_ret) {
            let message = format!("handler `{}` never returns", name.text);
            out.warnings.push(source.diagnostic(
                name.at,
                message,
                Some("end it with `d_ret`".to_owned()),
            ));
        }
        out.code
            .extend(words.iter().flat_map(|word| word.to_le_bytes()));
        out.handlers.push(Handler {
            name: name.text.clone(),
            address: *address,
            size: layout.size,
        });
    }
    Ok(())
}

/// The encoding of an instruction without operands.
fn word(isa: Isa, text: &str) -> u32 {
    let inst = isa.assemble(text, 0, &NoHook).ok();
    inst.and_then(|inst| isa.encode(&inst)).unwrap_or_default()
}

fn positive(
    symbols: &Symbols,
    expr: &Expr,
    source: &Source,
    name: &Name,
    what: &str,
) -> Result<u64, DiseError> {
    let value = symbols.evaluate(expr, source)?;
    match u64::try_from(value) {
        Ok(value) if value > 0 && value <= MAX_IMAGE => Ok(value),
        _ => Err(source.error(name.at, format!("the {what} of `{}` is {value}", name.text))),
    }
}
