//! Samples of a run by object, as the database keeps them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hps_dcpi::collect::{ObjectSamples, Plan};
use hps_dcpi::database::{Database, Header, Places, UNKNOWN};
use hps_dcpi::samples::Counts;
use hps_lab::VERSION;
use hps_pipeline::config::MachineConfig;
use hps_system::image::{FileReader, ProgramImage};
use hps_system::symbols::Object;

/// Adds the samples of a run to a database.
pub(super) struct Collection<'a> {
    database: &'a Database,
    machine: &'a MachineConfig,
    image: &'a ProgramImage,
    plans: &'a [Plan],
    /// Name of the program, as it is found again: with its path unless it comes with the project.
    name: String,
    /// The root folder of the programs.
    root: Option<PathBuf>,
    /// The program is a file below the root.
    is_under_root: bool,
    /// Objects that were sampled, by hash.
    objects: BTreeMap<String, Arc<Object>>,
    /// Samples of code outside of all objects.
    unknown: u64,
    /// All samples, in the order of the plans.
    pub totals: Vec<u64>,
    /// All samples of edges.
    pub edges: u64,
}

impl<'a> Collection<'a> {
    /// A collection of a program on a machine.
    pub fn new(
        database: &'a Database,
        (machine, plans): (&'a MachineConfig, &'a [Plan]),
        (image, name): (&'a ProgramImage, String),
        (root, is_under_root): (Option<PathBuf>, bool),
    ) -> Self {
        Collection {
            database,
            machine,
            image,
            plans,
            name,
            root,
            is_under_root,
            objects: BTreeMap::new(),
            unknown: 0,
            totals: vec![0; plans.len()],
            edges: 0,
        }
    }

    fn header(&self, plan: &Plan) -> Header {
        Header {
            image: self.name.clone(),
            image_hash: self.image.hash.clone(),
            build_id: None,
            root: None,
            isa: self.image.isa.to_string(),
            machine: self.machine.to_ron(),
            machine_name: self.machine.name.clone(),
            version: VERSION.to_string(),
            event: plan.event,
            period: plan.whole_period(),
            places: Places::File,
        }
    }

    /// The header of an object's samples.
    fn header_of(&self, object: Option<&Object>, plan: &Plan) -> Header {
        let own = self.header(plan);
        let Some(object) = object else {
            return Header {
                image: UNKNOWN.to_string(),
                image_hash: String::new(),
                ..own
            };
        };
        let build_id = object.build_id().map(str::to_string);
        let hash = object.hash().unwrap_or_default().to_string();
        // The file of a program that the host has started lies outside of the root.
        if hash == self.image.hash && !self.is_under_root {
            return Header { build_id, ..own };
        }
        let root = self.root.as_ref();
        Header {
            image: object.name().to_string(),
            image_hash: hash,
            build_id,
            root: root.map(|root| root.display().to_string()),
            ..own
        }
    }

    /// Adds samples. An event without a sample is a result, too: files say that it was sampled.
    pub fn add(&mut self, samples: &[ObjectSamples]) -> anyhow::Result<()> {
        for ObjectSamples { object, counts } in samples {
            for (at, (plan, counts)) in self.plans.iter().zip(counts).enumerate() {
                let header = self.header_of(object.as_deref(), plan);
                self.database.add(&header, counts)?;
                self.totals[at] += counts.total();
                self.edges += counts.by_edge.values().sum::<u64>();
                if object.is_none() {
                    self.unknown += counts.total();
                }
            }
            let hash = object.as_ref().and_then(|object| object.hash());
            if let (Some(object), Some(hash)) = (object, hash) {
                self.objects
                    .entry(hash.to_owned())
                    .or_insert_with(|| Arc::clone(object));
            }
        }
        Ok(())
    }

    /// Ends a collection: keeps copies of objects that are not found any more, and says what was sampled.
    pub fn finish(self) -> anyhow::Result<()> {
        let total: u64 = self.totals.iter().sum();
        if total == 0 {
            for plan in self.plans {
                let nothing = Counts::new(plan.whole_period());
                self.database.add(&self.header(plan), &nothing)?;
            }
        }
        let reader = self.root.as_deref().map(FileReader::under).transpose()?;
        for (hash, object) in &self.objects {
            let is_own = *hash == self.image.hash && !self.is_under_root;
            let bytes = object.bytes().unwrap_or_default();
            let is_there = || {
                let there = reader.as_ref()?.read(Path::new(object.name())).ok()?;
                // Behind what a program needs, its file may have data.
                there.starts_with(bytes).then_some(())
            };
            if !is_own && is_there().is_none() {
                self.database.keep(hash, bytes)?;
            }
        }
        if self.unknown > 0 {
            say!(
                "hps: {} of {} samples are of code outside of all objects, such as code that the program has made (image \
                 `{UNKNOWN}`)",
                self.unknown,
                total
            );
        }
        Ok(())
    }
}
