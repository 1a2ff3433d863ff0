//! Runs a Lua script whose functions SHIM can observe: `hps-shim-lua SCRIPT [ARGS]`.
//!
//! The script has the standard libraries, its arguments in `arg`, and `now()`, seconds of a steady
//! clock.

use std::process::ExitCode;
use std::time::Instant;

use mlua::Lua;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(script) = args.next() else {
        eprintln!("usage: hps-shim-lua SCRIPT [ARGS]");
        return ExitCode::from(2);
    };
    match run(&script, args.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hps-shim-lua: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(script: &str, args: Vec<String>) -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read(script).map_err(|e| format!("{script}: {e}"))?;
    let lua = Lua::new();
    let start = Instant::now();
    let now = lua.create_function(move |_, ()| Ok(start.elapsed().as_secs_f64()))?;
    lua.globals().set("now", now)?;
    let arg = lua.create_sequence_from(args)?;
    arg.set(0, script)?;
    lua.globals().set("arg", arg)?;
    hps_shim_tags::wait();
    hps_shim_lua::observe(&lua)?;
    lua.load(text).set_name(format!("@{script}")).exec()?;
    Ok(())
}
