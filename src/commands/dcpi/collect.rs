//! `hps dcpi collect`.

use anyhow::{Context, anyhow};
use hps_dcpi::collect::{
    DELIVERY_CYCLES, Follow, ObjectSamples, Observer, Plan, ReadTable, TableObserver,
};
use hps_dcpi::database::{Database, Header};
use hps_dcpi::samples::Event;
use hps_isa::editor::NoEditor;
use hps_lab::{ChipLoop, Files, Lab, Timed};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::EitherCore;
use hps_pipeline::pmu::{CounterConfig, Turns};
use hps_productions::{TableHandler, TableOptions};
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use super::args::CollectArgs;
use super::objects::Collection;
use crate::cli::CoreKind;
use crate::commands::run::fault;
use crate::commands::timed_machine;
use crate::program;
use crate::text::grouped;

/// Runs the program and adds its samples to the database; the exit code is the program's, or 2 if it was stopped by a
/// fault.
pub(super) fn collect(args: &CollectArgs) -> anyhow::Result<u8> {
    let machine = timed_machine(&args.machine, CoreKind::Cycle)?;
    let plans = plans(args)?;
    let guest = program::guest_options(&args.guest)?;
    let (name, arguments) = args.command.split_first().context("a program is named")?;
    let subject = program::find(name, args.isa, arguments, &guest)?;
    let mut lab = Lab::of(&subject)
        .timed_by(&machine)
        .warnings_to(|text| say!("hps: warning: {text}"));
    let database = Database::create(&args.db)?;
    if args.new_epoch {
        database.new_epoch()?;
    }
    let is_under_root = subject.process.file_name.is_some();
    let name = match is_under_root {
        true => name.clone(),
        false => image_name(name),
    };
    let root = match &guest.files {
        Files::None => None,
        Files::WorkingFolder => Some(std::env::current_dir()?),
        Files::Under { root, .. } => Some(std::path::absolute(root)?),
    };
    let mut collection = Collection::new(
        &database,
        (&machine.config, &plans),
        (&subject.image, name),
        (root, is_under_root),
    );
    if args.charged {
        let lab = lab.limit(args.max_instructions.unwrap_or(u64::MAX));
        let (found, ended) = charged(lab, args, &plans)?;
        collection.add(&found)?;
        collection.finish()?;
        return Ok(exit_code(ended.0, &ended.1));
    }
    let observer = Observer::new(&machine.config, &plans).by_object(lab.record_code());
    let lab = lab.watched_by(observer);
    let EitherCore::Cycle(mut core) = lab.open()?.into_inner() else {
        return Err(anyhow!("only the cycle-driven core has an issue queue"));
    };
    let mut left = args.max_instructions.unwrap_or(u64::MAX);
    let stop = loop {
        let step = args.merge_every.min(left);
        let stop = NoEditor::run_chip(&mut core, step);
        left -= step;
        let observer: &mut Observer = core.probe_mut().probe_mut();
        collection.add(&observer.take_by_object())?;
        if stop != Stop::Limit || left == 0 {
            break stop;
        }
    };
    let sums = plans.iter().zip(&collection.totals);
    let mut sums: Vec<String> = sums
        .map(|(plan, total)| format!("{} {}", grouped(*total), plan.event.name()))
        .collect();
    if args.follow.is_some() {
        sums.push(format!("{} edges", grouped(collection.edges)));
    }
    let cycles = grouped(core.stats().cycles);
    say!(
        "hps: {cycles} cycles; samples: {}; {}",
        sums.join(", "),
        args.db.display()
    );
    collection.finish()?;
    Ok(exit_code(stop, core.process()))
}

/// The exit code of the command, if the program stopped so; says what stopped it, unless its own exit or the limit of
/// instructions.
fn exit_code(stop: Stop, process: &Process) -> u8 {
    match stop {
        Stop::Exit(code) => code as u8,
        Stop::Limit => 0,
        Stop::Fault(trap) => {
            let cause = fault::cause(&trap, process);
            say!("hps: the program stopped early: {cause}; its samples are in the database");
            2
        }
    }
}

/// Event of the pipeline that the interrupting counter counts for an event of DCPI.
fn counted(event: Event) -> anyhow::Result<hps_pipeline::pmu::Event> {
    use hps_pipeline::pmu::Event as Counted;
    Ok(Counted::named(match event {
        Event::Cycles => return Ok(Counted::CYCLES),
        Event::Imiss => "l1i.read_miss_events",
        Event::Dmiss => "l1d.read_miss_events",
        Event::Branchmp => "branch_mispredicted_events",
        Event::Dtbmiss => "dtlb.miss_events",
        Event::Itbmiss => "itlb.miss_events",
    })?)
}

/// Samples a run by interrupts, which the program pays for, and prints their statistics. Gives the samples by object, why
/// the run ended, and the program's process.
fn charged(
    mut lab: Lab<'_, Timed<'_>, NoEditor>,
    args: &CollectArgs,
    plans: &[Plan],
) -> anyhow::Result<(Vec<ObjectSamples>, (Stop, Process))> {
    let counter = |plan: &Plan| -> anyhow::Result<CounterConfig> {
        Ok(CounterConfig {
            spread: plan.period.most - plan.period.least,
            seed: plan.seed,
            skid_cycles: DELIVERY_CYCLES,
            turns: plan.turns,
            ..CounterConfig::every(counted(plan.event)?, plan.period.least)
        })
    };
    let counters = plans
        .iter()
        .map(counter)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let options = TableOptions {
        daemon_loops: args.daemon_loops,
        ..TableOptions::default()
    };
    let table = TableHandler::new(options)?;
    let read: ReadTable = Box::new(move |memory, see| {
        let samples = table.read(memory).unwrap_or_default();
        for entry in samples.entries() {
            see(entry.source, entry.pc, entry.count);
        }
    });
    let periods = plans.iter().map(Plan::whole_period).collect();
    let observer = TableObserver::new(lab.record_code(), periods, read);
    let found = lab.watched_by(observer).aggregated(&counters, options)?;
    let [kept, evicted, dropped] = found.samples.totals();
    let taken = found.interrupts.taken_events;
    say!(
        "hps: {} cycles, {} of which in {} interrupts ({:.0} each); samples: {} kept, {} evicted, {} dropped, {} missed \
         in the table, {} lost before they were taken; {}",
        grouped(found.ran.cycles()),
        grouped(found.interrupts.handled_cycles),
        grouped(taken),
        found.interrupts.handled_cycles as f64 / taken.max(1) as f64,
        grouped(kept),
        grouped(evicted),
        grouped(dropped),
        grouped(found.samples.missed),
        grouped(found.overflows_lost),
        args.db.display()
    );
    let (ran, observer) = found.ran.without_probe();
    let samples = observer.finish(&ran.process.mem);
    Ok((samples, (ran.stop, ran.process)))
}

/// The path of a program of the user's, which is found again from elsewhere; the name of one of the project's.
fn image_name(name: &str) -> String {
    let path = std::path::Path::new(name);
    if !name.contains('/') && hps_workloads::find(name).is_some() {
        return name.to_string();
    }
    std::path::absolute(path).map_or_else(|_| name.to_string(), |p| p.display().to_string())
}

/// A counter for cycles and one for each other event, each with a seed of its own, or one that they share.
fn plans(args: &CollectArgs) -> anyhow::Result<Vec<Plan>> {
    let events = args.other_events().map_err(|e| anyhow!(e))?;
    let mut plans = vec![Plan {
        event: Event::Cycles,
        period: args.period,
        seed: args.period_seed,
        turns: None,
        follow: args.follow.unwrap_or_default(),
    }];
    for (&event, number) in events.iter().zip(0u64..) {
        let turns = Turns {
            number,
            of: events.len() as u64,
            cycles: args.turn_cycles,
        };
        plans.push(Plan {
            event,
            period: args.event_period,
            seed: args.period_seed.wrapping_add((number + 1) << 32),
            turns: args.multiplex.then_some(turns),
            follow: Follow::Nothing,
        });
    }
    Ok(plans)
}

/// The machine that samples were made on.
pub(super) fn machine_of(header: &Header) -> anyhow::Result<MachineConfig> {
    let name = format!("machine {} of the database", header.machine_name);
    Ok(MachineConfig::from_ron(&header.machine, &name)?)
}
