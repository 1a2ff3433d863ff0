use rustc_hash::FxHashMap;

use super::{
    Column, DEEPER, Frame, Function, FunctionId, Header, Location, LocationId, Marker, Module,
    Sample, Series, SymbolizedProfile, Thread, ThreadId,
};

/// Makes a [`SymbolizedProfile`]: functions, locations and threads are held once, and values of
/// equal stacks are added up.
///
/// The order of the result is the order of the calls. Add members in an order that does not depend
/// on a hash map, such as that of [`Profile::listing`](crate::Profile::listing), and equal runs
/// give equal files.
#[derive(Debug, Clone)]
pub struct Builder {
    profile: SymbolizedProfile,
    functions: FxHashMap<Function, FunctionId>,
    locations: FxHashMap<(u64, u32), LocationId>,
    threads: FxHashMap<Thread, ThreadId>,
    samples: FxHashMap<(Option<ThreadId>, Box<[LocationId]>), usize>,
}

impl Builder {
    /// A profile without samples.
    ///
    /// # Panics
    /// When there is no column.
    #[must_use]
    pub fn new(header: Header, columns: Vec<Column>) -> Self {
        assert!(!columns.is_empty(), "a profile has a main column");
        let columns = columns.into_iter().map(|column| {
            let denominator = column.denominator;
            column.in_parts_of(denominator)
        });
        Self {
            profile: SymbolizedProfile {
                header,
                columns: columns.collect(),
                modules: Vec::new(),
                functions: Vec::new(),
                locations: Vec::new(),
                threads: Vec::new(),
                samples: Vec::new(),
                series: Vec::new(),
                markers: Vec::new(),
                notes: Vec::new(),
            },
            functions: FxHashMap::default(),
            locations: FxHashMap::default(),
            threads: FxHashMap::default(),
            samples: FxHashMap::default(),
        }
    }

    /// The id of a function; functions that are equal in all fields are one.
    pub fn function(&mut self, function: Function) -> FunctionId {
        if let Some(&id) = self.functions.get(&function) {
            return id;
        }
        let id = FunctionId(next(self.profile.functions.len()));
        self.functions.insert(function.clone(), id);
        self.profile.functions.push(function);
        id
    }

    /// Adds a file that holds code of functions beside the program. Returns its name, for [`Function::module`].
    pub fn module(&mut self, module: Module) -> String {
        let name = module.name.clone();
        if !self.profile.modules.contains(&module) {
            self.profile.modules.push(module);
        }
        name
    }

    /// The id of a thread; threads that are equal in all fields are one.
    pub fn thread(&mut self, thread: Thread) -> ThreadId {
        if let Some(&id) = self.threads.get(&thread) {
            return id;
        }
        let id = ThreadId(next(self.profile.threads.len()));
        self.threads.insert(thread.clone(), id);
        self.profile.threads.push(thread);
        id
    }

    /// The id of the instruction `(address, disepc)` of a program with its frames, innermost first. A location
    /// is known by its address: the frames of the first call are kept.
    ///
    /// # Panics
    /// When a function of `frames` is of another builder.
    pub fn location(&mut self, address: u64, disepc: u32, frames: &[Frame]) -> LocationId {
        self.location_with(address, disepc, |_| frames.to_vec())
    }

    /// Like [`Self::location`], with frames that are looked up only when the address is new.
    ///
    /// # Panics
    /// When a function of the frames is of another builder.
    pub fn location_with(
        &mut self,
        address: u64,
        disepc: u32,
        frames: impl FnOnce(&mut Self) -> Vec<Frame>,
    ) -> LocationId {
        if let Some(&id) = self.locations.get(&(address, disepc)) {
            return id;
        }
        let frames = frames(self);
        for frame in &frames {
            assert!(
                frame.function.index() < self.profile.functions.len(),
                "the function is of another profile"
            );
        }
        let id = LocationId(next(self.profile.locations.len()));
        self.locations.insert((address, disepc), id);
        self.profile.locations.push(Location {
            address,
            disepc,
            frames,
        });
        id
    }

    /// Locations that come from now on are of another program: its addresses have names of their own.
    pub fn begin_program(&mut self) {
        self.locations.clear();
    }

    /// The location that stands for calls that a stack leaves out: its function is [`DEEPER`].
    pub fn deeper(&mut self) -> LocationId {
        self.location_with(0, 0, |builder| {
            let function = builder.function(Function {
                name: DEEPER.to_owned(),
                ..Function::default()
            });
            vec![Frame::new(function, 0)]
        })
    }

    /// Says of the profile what it leaves out.
    pub fn note(&mut self, text: String) {
        self.profile.notes.push(text);
    }

    /// Adds values, one for each column and in the column's parts, to a stack, whose innermost
    /// location comes first. Sums saturate at `u64::MAX`.
    ///
    /// # Panics
    /// When the number of values is not that of the columns, or an id is of another builder.
    pub fn add(&mut self, thread: Option<ThreadId>, stack: &[LocationId], values: &[u64]) {
        let profile = &mut self.profile;
        assert_eq!(
            values.len(),
            profile.columns.len(),
            "a sample has one value for each column"
        );
        let known = |id: &LocationId| id.index() < profile.locations.len();
        assert!(
            stack.iter().all(known),
            "the location is of another profile"
        );
        assert!(
            thread.is_none_or(|id| id.index() < profile.threads.len()),
            "the thread is of another profile"
        );
        let place = *self
            .samples
            .entry((thread, stack.into()))
            .or_insert_with(|| {
                profile.samples.push(Sample {
                    thread,
                    stack: stack.to_vec(),
                    values: vec![0; values.len()],
                });
                profile.samples.len() - 1
            });
        for (sum, value) in profile.samples[place].values.iter_mut().zip(values) {
            *sum = sum.saturating_add(*value);
        }
    }

    /// Adds a value over time. Points are put in order of their cycles; of those in one cycle, the
    /// last one is kept, and so is none that is not a number.
    pub fn series(&mut self, mut series: Series) {
        series.points.retain(|(_, value)| value.is_finite());
        series.points.sort_by_key(|&(cycle, _)| cycle);
        series.points.reverse();
        series.points.dedup_by_key(|(cycle, _)| *cycle);
        series.points.reverse();
        self.profile.series.push(series);
    }

    /// Adds a span of time. An end before the start is taken for the start.
    pub fn marker(&mut self, mut marker: Marker) {
        marker.end = marker.end.max(marker.start);
        self.profile.markers.push(marker);
    }

    /// The profile.
    #[must_use]
    pub fn build(self) -> SymbolizedProfile {
        self.profile
    }
}

/// The next id. A profile of 2^32 functions or locations does not fit in memory.
fn next(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 entries")
}
