//! The outcome of a system call, as its handler returns it and [`dispatch`](super::dispatch) reads it.
//!
//! Most handlers return a number, nothing (which the program sees as 0) or an [`Errno`]. Those that may wait or raise a
//! signal return an [`Outcome`], into whose errors an `Errno` turns by `?`.

use super::errno::Errno;
use super::processes::Execution;
use super::signals::Signal;
use super::threads::{Blocked, WaitFor};

/// A result, or why there is none.
pub(super) type Outcome<T = u64> = Result<T, Unserved>;

/// A call that has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unserved {
    /// The call fails.
    Fails(Errno),
    /// The call fails, and its thread gets a signal.
    Raises(Signal, Errno),
    /// The call waits, and is served again from its beginning.
    Waits(Blocked),
}

impl Unserved {
    /// A wait, until `until_ns` of simulated time at most.
    pub(super) fn wait(waits_for: WaitFor, until_ns: Option<u64>) -> Unserved {
        Unserved::Waits(Blocked::new(waits_for, until_ns))
    }

    /// A wait for what another thread may do to a file, to go on behind `done` bytes.
    pub(super) fn wait_behind(done: u64, what: &'static str) -> Unserved {
        Unserved::Waits(Blocked {
            done,
            ..Blocked::new(WaitFor::File(what), None)
        })
    }

    /// A wait without an end for what another thread may do to a file; `EAGAIN` if the call must not wait.
    pub(super) fn on_file(nonblock: bool, what: &'static str) -> Unserved {
        match nonblock {
            true => Unserved::Fails(Errno::EAGAIN),
            false => Unserved::wait(WaitFor::File(what), None),
        }
    }
}

impl<E> From<E> for Unserved
where
    Errno: From<E>,
{
    fn from(error: E) -> Unserved {
        Unserved::Fails(Errno::from(error))
    }
}

/// A call that has a result.
#[derive(Debug, Default)]
pub(super) struct Returned {
    pub value: u64,
    /// A second result, where the interface has two.
    pub second: Option<u64>,
    /// The thread gives up its turn.
    pub yields: bool,
    /// The process runs this program instead of its own.
    pub program: Option<Box<Execution>>,
}

impl From<u64> for Returned {
    fn from(value: u64) -> Returned {
        Returned {
            value,
            ..Returned::default()
        }
    }
}

impl From<u32> for Returned {
    fn from(value: u32) -> Returned {
        u64::from(value).into()
    }
}

impl From<()> for Returned {
    fn from((): ()) -> Returned {
        Returned::default()
    }
}

impl Returned {
    /// Two results.
    pub(super) fn both(first: impl Into<u64>, second: impl Into<u64>) -> Returned {
        Returned {
            second: Some(second.into()),
            ..first.into().into()
        }
    }
}

/// A value that a handler returns.
pub(super) trait IntoOutcome {
    fn into_outcome(self) -> Outcome<Returned>;
}

impl<T: Into<Returned>, E: Into<Unserved>> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome<Returned> {
        self.map(Into::into).map_err(Into::into)
    }
}

macro_rules! results {
    ($($result:ty),*) => {
        $(impl IntoOutcome for $result {
            fn into_outcome(self) -> Outcome<Returned> {
                Ok(self.into())
            }
        })*
    };
}

results!((), u32, u64, Returned);
