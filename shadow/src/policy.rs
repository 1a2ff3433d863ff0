//! Policy for a shadow's system calls: a table by call, kind of descriptor and effect.

use std::fmt::{Display, Formatter};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hps_system::os::calls::Call;
use hps_system::os::gate::{Answer, Asked, DescriptorKind, Gate};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Treatment of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The shadow makes it, on its copy of the process.
    Run,
    /// The shadow makes it, and learns its own time: it runs slower than its parent.
    Late,
    /// A file is read through a descriptor of the shadow's own, at the place where the parent's was.
    Reopen,
    /// A stream or pipe gives the shadow what it held at the fork.
    Replay,
    /// The call is not made, and the shadow is told that it succeeded.
    Pretend,
    /// The call is not made, and its result is 0.
    Skip,
    /// The shadow ends in front of it.
    End,
}

impl Action {
    /// All actions.
    pub const ALL: [Action; 7] = [
        Action::Run,
        Action::Late,
        Action::Reopen,
        Action::Replay,
        Action::Pretend,
        Action::Skip,
        Action::End,
    ];

    /// Name of the action in files and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Action::Run => "run",
            Action::Late => "late",
            Action::Reopen => "reopen",
            Action::Replay => "replay",
            Action::Pretend => "pretend",
            Action::Skip => "skip",
            Action::End => "end",
        }
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Kind of a call's descriptor, in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// No descriptor, or one that is not open.
    Nothing,
    /// Standard input.
    Input,
    /// Standard output and error.
    Output,
    /// Files and folders, also in memory.
    File,
    /// Pipes.
    Pipe,
    /// Timers, counters of events, sets of descriptors.
    Event,
    /// Devices, `/proc`, `/sys`.
    MadeUp,
}

impl On {
    fn of(kind: DescriptorKind) -> On {
        match kind {
            DescriptorKind::None | DescriptorKind::Closed => On::Nothing,
            DescriptorKind::Input => On::Input,
            DescriptorKind::Output => On::Output,
            DescriptorKind::File | DescriptorKind::MemoryFile => On::File,
            DescriptorKind::Pipe => On::Pipe,
            DescriptorKind::Event => On::Event,
            DescriptorKind::MadeUp => On::MadeUp,
        }
    }
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The group that the calls are counted in.
    pub group: String,
    /// Names of calls.
    pub calls: Vec<String>,
    /// Kinds of descriptors; empty for all.
    #[serde(default)]
    pub on: Vec<On>,
    /// Only calls that open or map something to write, or only those that do not.
    #[serde(default)]
    pub writes: Option<bool>,
    /// Treatment of the calls.
    pub action: Action,
}

/// The table. The first rule that fits decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Name of the policy.
    pub name: String,
    /// Rules of the policy.
    pub rules: Vec<Rule>,
    /// Treatment of calls that no rule fits.
    pub otherwise: Action,
}

/// Error of a policy table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The text is not a valid table.
    #[error("the policy of system calls cannot be read: {0}")]
    Syntax(String),
    /// A call that the lab does not know.
    #[error("the policy of system calls names `{0}`, which is no call that the lab serves")]
    Call(String),
}

impl Policy {
    /// Names of the tables that come with the lab.
    pub const NAMES: [&str; 3] = ["paper", "strict", "pretend"];

    /// The table of the paper, as far as its text tells.
    ///
    /// # Panics
    /// Never: a test reads it.
    #[must_use]
    pub fn paper() -> Policy {
        match Policy::named("paper") {
            Some(Ok(policy)) => policy,
            _ => unreachable!("the table comes with the lab"),
        }
    }

    /// A table that comes with the lab: `paper`; `strict`, which ends a shadow at every call that is not benign;
    /// `pretend`, which ends it at none.
    #[must_use]
    pub fn named(name: &str) -> Option<Result<Policy, PolicyError>> {
        let text = match name {
            "paper" => include_str!("policies/paper.ron"),
            "strict" => include_str!("policies/strict.ron"),
            "pretend" => include_str!("policies/pretend.ron"),
            _ => return None,
        };
        Some(Policy::parse(text))
    }

    /// Reads a table.
    ///
    /// # Errors
    /// [`PolicyError`].
    pub fn parse(text: &str) -> Result<Policy, PolicyError> {
        let policy: Policy = ron::from_str(text).map_err(|e| PolicyError::Syntax(e.to_string()))?;
        for name in policy.rules.iter().flat_map(|rule| &rule.calls) {
            if call_named(name).is_none() {
                return Err(PolicyError::Call(name.clone()));
            }
        }
        Ok(policy)
    }

    /// The table by call.
    #[must_use]
    pub fn compiled(&self) -> CompiledPolicy {
        let mut rules: FxHashMap<Call, Vec<usize>> = FxHashMap::default();
        for (at, rule) in self.rules.iter().enumerate() {
            for call in rule.calls.iter().filter_map(|name| call_named(name)) {
                rules.entry(call).or_default().push(at);
            }
        }
        CompiledPolicy {
            policy: self.clone(),
            rules,
        }
    }
}

fn call_named(name: &str) -> Option<Call> {
    Call::ALL.iter().copied().find(|call| call.name() == name)
}

/// A table that finds rules by call.
#[derive(Clone, Debug)]
pub struct CompiledPolicy {
    policy: Policy,
    rules: FxHashMap<Call, Vec<usize>>,
}

/// The group of calls that no rule fits.
pub const UNSAFE: &str = "unsafe";

impl CompiledPolicy {
    /// Treatment of a call, and its group.
    #[must_use]
    pub fn decide(&self, asked: &Asked) -> (Action, &str) {
        let on = On::of(asked.descriptor);
        let mut rules = asked
            .call
            .and_then(|call| self.rules.get(&call))
            .into_iter()
            .flatten();
        let rule = rules.find_map(|at| {
            let rule = &self.policy.rules[*at];
            let fits = (rule.on.is_empty() || rule.on.contains(&on))
                && rule.writes.is_none_or(|writes| writes == asked.writes);
            fits.then_some(rule)
        });
        match rule {
            Some(rule) => (rule.action, &rule.group),
            None => (self.policy.otherwise, UNSAFE),
        }
    }
}

/// A system call of a shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeCall {
    /// Name of the call.
    pub name: &'static str,
    /// Treatment of the call.
    pub action: Action,
    /// Transfers of control that the shadow had made before.
    pub transfers: u64,
}

/// State that a shadow and its gate share.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    /// Transfers of control that the shadow has made.
    pub transfers: Arc<AtomicU64>,
    /// The calls that it has made.
    pub calls: Arc<Mutex<Vec<MadeCall>>>,
}

impl Wire {
    /// Takes the calls made so far.
    #[must_use]
    pub fn take_calls(&self) -> Vec<MadeCall> {
        std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The gate of a shadow.
pub struct ShadowGate {
    policy: Arc<CompiledPolicy>,
    wire: Wire,
    /// Simulated time of the fork.
    forked_ns: u64,
    slowdown: f64,
}

impl ShadowGate {
    /// A gate for a shadow that was forked at this time and runs this much slower than its parent.
    #[must_use]
    pub fn new(policy: Arc<CompiledPolicy>, wire: Wire, forked_ns: u64, slowdown: f64) -> Self {
        ShadowGate {
            policy,
            wire,
            forked_ns,
            slowdown,
        }
    }
}

impl Gate for ShadowGate {
    fn ask(&mut self, asked: &Asked) -> Answer {
        let (action, _) = self.policy.decide(asked);
        let call = MadeCall {
            name: asked.call.map_or("unknown", Call::name),
            action,
            transfers: self.wire.transfers.load(Ordering::Relaxed),
        };
        let calls = &self.wire.calls;
        calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(call);
        match action {
            Action::Run | Action::Reopen | Action::Replay => Answer::Serve { later_ns: 0 },
            Action::Late => {
                let run = asked.now_ns.saturating_sub(self.forked_ns) as f64;
                Answer::Serve {
                    later_ns: (run * (self.slowdown - 1.0)) as u64,
                }
            }
            Action::Pretend => Answer::Pretend,
            Action::Skip => Answer::Skip,
            Action::End => Answer::End,
        }
    }
}

/// A gate that lets every call through and counts it by group.
pub struct CountingGate {
    policy: Arc<CompiledPolicy>,
    counts: Arc<Mutex<std::collections::BTreeMap<String, u64>>>,
}

impl CountingGate {
    /// A gate and its counts, by group.
    #[must_use]
    pub fn new(
        policy: Arc<CompiledPolicy>,
    ) -> (Self, Arc<Mutex<std::collections::BTreeMap<String, u64>>>) {
        let counts = Arc::default();
        let gate = CountingGate {
            policy,
            counts: Arc::clone(&counts),
        };
        (gate, counts)
    }
}

impl Gate for CountingGate {
    fn ask(&mut self, asked: &Asked) -> Answer {
        let (_, group) = self.policy.decide(asked);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(group.to_string()).or_default() += 1;
        Answer::Serve { later_ns: 0 }
    }
}
