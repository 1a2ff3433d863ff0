//! The tables of a thread: stacks, frames, functions, and the texts that they name.

use super::*;

/// Stacks, frames, functions and texts, each once.
#[derive(Default)]
pub(super) struct Tables {
    pub texts: Texts,
    functions: Vec<Function>,
    function_places: FxHashMap<Option<Identity>, usize>,
    frames: Vec<Frame>,
    frame_places: FxHashMap<Frame, usize>,
    /// Caller's stack and frame.
    stacks: Vec<(Option<usize>, usize)>,
    stack_places: FxHashMap<(Option<usize>, usize), usize>,
    resources: Vec<usize>,
    resource_places: FxHashMap<usize, usize>,
}

struct Function {
    name: usize,
    resource: Option<usize>,
    file: Option<usize>,
    line: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Frame {
    function: usize,
    address: Option<u64>,
    line: u32,
    depth: usize,
}

impl Tables {
    /// The place of a sample's stack.
    pub fn stack(&mut self, profile: &SymbolizedProfile, sample: &Sample) -> usize {
        let actives: Vec<Active> = active(profile, sample).collect();
        let mut stack = None;
        for (at, frame) in actives.iter().enumerate().rev() {
            // Inlined frames are counted from the one that the symbol table knows.
            let depth = actives[at..]
                .iter()
                .take_while(|frame| frame.inlined)
                .count();
            let frame = self.frame(profile, frame, depth);
            stack = Some(self.child(stack, frame));
        }
        stack.unwrap_or_else(|| {
            let function = self.function(profile, None);
            let frame = self.frame_of(Frame {
                function,
                address: None,
                line: 0,
                depth: 0,
            });
            self.child(None, frame)
        })
    }

    fn child(&mut self, caller: Option<usize>, frame: usize) -> usize {
        let stacks = &mut self.stacks;
        *self.stack_places.entry((caller, frame)).or_insert_with(|| {
            stacks.push((caller, frame));
            stacks.len() - 1
        })
    }

    fn frame(&mut self, profile: &SymbolizedProfile, active: &Active, depth: usize) -> usize {
        let function = self.function(profile, Some(active.identity()));
        let location = profile.location(active.location);
        self.frame_of(Frame {
            function,
            address: Some(location.address),
            line: active.frame.map_or(0, |frame| frame.line),
            depth,
        })
    }

    fn frame_of(&mut self, frame: Frame) -> usize {
        let frames = &mut self.frames;
        *self.frame_places.entry(frame).or_insert_with(|| {
            frames.push(frame);
            frames.len() - 1
        })
    }

    fn function(&mut self, profile: &SymbolizedProfile, identity: Option<Identity>) -> usize {
        if let Some(&place) = self.function_places.get(&identity) {
            return place;
        }
        let function = match identity {
            None => Function {
                name: self.texts.place(UNKNOWN),
                resource: None,
                file: None,
                line: 0,
            },
            Some(identity) => {
                let (file, module) = (identity.file(profile), identity.module(profile));
                Function {
                    name: self.texts.place(&identity.name(profile)),
                    resource: (!module.is_empty()).then(|| self.resource(module)),
                    file: (!file.is_empty()).then(|| self.texts.place(file)),
                    line: identity.start(profile).1,
                }
            }
        };
        self.functions.push(function);
        let place = self.functions.len() - 1;
        self.function_places.insert(identity, place);
        place
    }

    fn resource(&mut self, module: &str) -> usize {
        let name = self.texts.place(module);
        let resources = &mut self.resources;
        *self.resource_places.entry(name).or_insert_with(|| {
            resources.push(name);
            resources.len() - 1
        })
    }

    /// Adds the tables to a thread.
    pub fn write(self, thread: &mut Value) {
        let line = |line: u32| if line > 0 { json!(line) } else { Value::Null };
        let frames =
            |of: &dyn Fn(&Frame) -> Value| -> Vec<Value> { self.frames.iter().map(of).collect() };
        let functions = |of: &dyn Fn(&Function) -> Value| -> Vec<Value> {
            self.functions.iter().map(of).collect()
        };
        let count = self.frames.len();
        thread["frameTable"] = json!({
            "length": count,
            // -1 stands for no address.
            "address": frames(&|frame| frame.address.map_or(json!(-1), |at| json!(at))),
            "inlineDepth": frames(&|frame| json!(frame.depth)),
            "category": vec![0; count],
            "subcategory": vec![0; count],
            "func": frames(&|frame| json!(frame.function)),
            "nativeSymbol": vec![Value::Null; count],
            "innerWindowID": vec![0; count],
            "line": frames(&|frame| line(frame.line)),
            "column": vec![Value::Null; count],
        });
        let count = self.functions.len();
        thread["funcTable"] = json!({
            "length": count,
            "name": functions(&|function| json!(function.name)),
            "isJS": vec![false; count],
            "relevantForJS": vec![false; count],
            "resource": functions(&|function| function.resource.map_or(json!(-1), |at| json!(at))),
            "fileName": functions(&|function| json!(function.file)),
            "lineNumber": functions(&|function| line(function.line)),
            "columnNumber": vec![Value::Null; count],
        });
        let (prefixes, frames): (Vec<_>, Vec<_>) = self.stacks.iter().copied().unzip();
        thread["stackTable"] = json!({
            "length": self.stacks.len(),
            "prefix": prefixes,
            "frame": frames,
        });
        // Functions have their names already: nothing is left to look up in a library.
        thread["nativeSymbols"] = json!({
            "length": 0,
            "address": [],
            "functionSize": [],
            "libIndex": [],
            "name": [],
        });
        let count = self.resources.len();
        thread["resourceTable"] = json!({
            "length": count,
            "lib": vec![Value::Null; count],
            "name": self.resources,
            "host": vec![Value::Null; count],
            // A library.
            "type": vec![1; count],
        });
        thread["stringArray"] = json!(self.texts.into_all());
    }
}
