//! Errors as Python has them, and runs that an interrupt of the interpreter ends.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::{PyClass, PyClassInitializer};

create_exception!(
    hps,
    LabError,
    PyException,
    "What the laboratory could not do, and the remedy."
);
create_exception!(
    hps,
    Interrupted,
    PyKeyboardInterrupt,
    "An interrupt has ended a run. `result` holds what there is of it so far."
);

/// An error of the laboratory with its causes, as one message.
pub fn said(error: impl Into<anyhow::Error>) -> PyErr {
    let error: anyhow::Error = error.into();
    LabError::new_err(hps_lab::message(error.as_ref()))
}

/// Instructions of a timed run between two looks for an interrupt: a few hundredths of a second.
pub const TIMED_PART: u64 = 100_000;
/// Instructions of a functional run between two looks for an interrupt.
pub const FUNCTIONAL_PART: u64 = 5_000_000;

/// Time between two looks for signals.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// Bytes of stack of a run.
const STACK_BYTES: usize = 64 << 20;

/// Ends a run where the interpreter wants that: at a signal, or when a probe has raised.
#[derive(Clone, Default)]
pub struct Attention {
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl Attention {
    /// The question that a run in parts asks.
    pub fn watching(&self) -> Arc<dyn Fn(u64) -> bool + Send + Sync> {
        let attention = self.clone();
        Arc::new(move |_| !attention.has_ended())
    }

    /// Ends the run with this error, unless there is one already.
    pub fn end_with(&self, error: PyErr) {
        if let Ok(mut raised) = self.raised.lock() {
            raised.get_or_insert(error);
        }
    }

    /// Runs a function on a thread with a stack of its own, without the interpreter's lock. Meanwhile this thread, the only
    /// one that signals come to if it is the interpreter's first, looks for them.
    pub fn run<T: Send>(&self, py: Python<'_>, run: impl FnOnce() -> T + Send) -> PyResult<T> {
        std::thread::scope(|scope| {
            let (ended, mut end) = mpsc::channel();
            let thread = std::thread::Builder::new()
                .name("hps".into())
                .stack_size(STACK_BYTES);
            let thread = thread.spawn_scoped(scope, move || {
                let result = run();
                // Nobody waits any more if this fails.
                let _ = ended.send(());
                result
            });
            let thread = thread.map_err(said)?;
            loop {
                let waited = &mut end;
                // A run that has panicked has dropped its sender.
                if py.detach(move || waited.recv_timeout(BETWEEN_LOOKS))
                    != Err(RecvTimeoutError::Timeout)
                {
                    break;
                }
                if let Err(error) = py.check_signals() {
                    self.end_with(error);
                }
            }
            let result = py.detach(|| thread.join());
            result.map_err(|_| {
                said(anyhow::anyhow!(
                    "the simulator has panicked; see the message above"
                ))
            })
        })
    }

    /// Whether the run has been ended.
    pub fn has_ended(&self) -> bool {
        self.raised.lock().is_ok_and(|raised| raised.is_some())
    }

    /// The result of the run, or the error that ended it. An interrupt carries the result of what has run.
    pub fn result<'py, T>(&self, py: Python<'py>, result: T) -> PyResult<Bound<'py, PyAny>>
    where
        T: PyClass + Into<PyClassInitializer<T>>,
    {
        let result = Bound::new(py, result)?.into_any();
        let raised = self.raised.lock().ok().and_then(|mut raised| raised.take());
        match raised {
            None => Ok(result),
            Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                let interrupted = Interrupted::new_err(
                    "the run was interrupted; `result` of this exception has what there is of it",
                );
                interrupted.value(py).setattr("result", result)?;
                Err(interrupted)
            }
            Some(error) => Err(error),
        }
    }
}
