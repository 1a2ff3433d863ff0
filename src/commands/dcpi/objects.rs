//! Samples of a run by object, as the database keeps them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hps_dcpi::collect::{ObjectSamples, Plan};
use hps_dcpi::database::{Database, Header, Places, UNKNOWN};
use hps_dcpi::samples::Counts;
use hps_lab::VERSION;
use hps_pipeline::config::MachineConfig;
use hps_sim_core::image::{FileReader, ProgramImage};
use hps_sim_core::symbols::Object;

/// Adds the samples of a run to a database.
pub(super) struct Collection<'a> {
    pub database: &'a Database,
    pub machine: &'a MachineConfig,
    pub image: &'a ProgramImage,
    /// Name of the program, as it is found again: with its path unless it comes with the project.
    pub name: String,
    /// The root folder of the programs.
    pub root: Option<PathBuf>,
    /// The program is a file below the root.
    pub is_under_root: bool,
    /// Objects that were sampled, by hash.
    objects: BTreeMap<String, Arc<Object>>,
    /// Samples of code outside of all objects.
    unknown: u64,
    /// All samples.
    total: u64,
}

impl<'a> Collection<'a> {
    /// A collection of a program on a machine.
    pub fn new(
        database: &'a Database,
        machine: &'a MachineConfig,
        (image, name): (&'a ProgramImage, String),
        (root, is_under_root): (Option<PathBuf>, bool),
    ) -> Self {
        Collection {
            database,
            machine,
            image,
            name,
            root,
            is_under_root,
            objects: BTreeMap::new(),
            unknown: 0,
            total: 0,
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
    pub fn add(&mut self, plans: &[Plan], samples: &[ObjectSamples]) -> anyhow::Result<()> {
        for ObjectSamples { object, counts } in samples {
            for (plan, counts) in plans.iter().zip(counts) {
                let header = self.header_of(object.as_deref(), plan);
                self.database.add(&header, counts)?;
                self.total += counts.total();
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
    pub fn finish(self, plans: &[Plan]) -> anyhow::Result<()> {
        if self.total == 0 {
            for plan in plans {
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
                self.total
            );
        }
        Ok(())
    }
}

/// Sums of samples and of edges, in the order of the plans.
pub(super) fn sums(samples: &[ObjectSamples], plans: &[Plan]) -> (Vec<u64>, u64) {
    let mut totals = vec![0; plans.len()];
    let mut edges = 0;
    for of_object in samples {
        for (counts, total) in of_object.counts.iter().zip(&mut totals) {
            *total += counts.total();
            edges += counts.by_edge.values().sum::<u64>();
        }
    }
    (totals, edges)
}
