//! Speed of the functional machine with a translator and without, over the programs of the project:
//! `cargo run --release -p hps-translator --example speed -- [isa] [small|large] [program]`.

// The example prints a table.
#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use hps_sim_core::machine::Machine;
use hps_system::image::ProgramImage;
use hps_system::process::{Process, ProcessConfig};
use hps_translator::{Settings, translator};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let isa = args.first().map_or("riscv64", String::as_str);
    let size = args.get(1).map_or("large", String::as_str);
    let number = |name: &str, default: usize| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let (mut product, mut count) = (1.0_f64, 0);
    for workload in hps_workloads::all() {
        let Some(image) = workload.image(isa) else {
            continue;
        };
        if args.get(2).is_some_and(|name| name != workload.name) {
            continue;
        }
        let image = Arc::new(ProgramImage::parse(image, workload.name).expect("an image"));
        let speed = |settings: Option<Settings>| {
            let config = ProcessConfig {
                args: vec![workload.name.to_owned(), size.to_owned()],
                ..ProcessConfig::default()
            };
            let process = Process::new(Arc::clone(&image), &config).expect("it fits");
            let mut machine = Machine::new(process);
            if let Some(translator) = settings.and_then(translator) {
                machine.translate_with(translator);
            }
            let start = Instant::now();
            machine.run_to_end();
            (machine.retired.program, start.elapsed().as_secs_f64())
        };
        let settings = Settings {
            threshold: number("THRESHOLD", 2000) as u32,
            begins_after: number("AFTER", 10_000_000) as u64,
            most_instructions: number("MOST", 200),
            optimizes: number("OPT", 0) != 0,
        };
        let translated = speed(Some(settings));
        let plain = if number("PLAIN", 1) != 0 {
            speed(None)
        } else {
            translated
        };
        let million = |(retired, seconds): (u64, f64)| retired as f64 / seconds / 1e6;
        println!(
            "{:12} {:7.0} -> {:7.0} M/s, {:.3} -> {:.3} s",
            workload.name,
            million(plain),
            million(translated),
            plain.1,
            translated.1
        );
        product *= million(translated) / million(plain);
        count += 1;
    }
    println!(
        "geometric mean: {:.2} times",
        product.powf(1.0 / f64::from(count))
    );
}
