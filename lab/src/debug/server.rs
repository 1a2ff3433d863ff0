//! The connection to gdb.

use std::net::TcpStream;

use gdbstub::common::Signal;
use gdbstub::conn::ConnectionExt;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{BaseStopReason, DisconnectReason, GdbStub};

use super::target::{Session, StopReason};
use super::{DebugError, Debugger, End};

/// How a session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The run has come to its end.
    Run(End),
    /// gdb has killed the program.
    Killed,
    /// gdb has left, and the program is where it was.
    Detached,
}

impl Debugger<'_> {
    /// Serves gdb on a connection, until gdb leaves or the run has ended.
    ///
    /// # Errors
    /// The connection fails, or a checkpoint cannot be restored.
    pub fn serve(&mut self, connection: TcpStream) -> Result<Ended, DebugError> {
        let mut session = Session::new(self);
        let stub = GdbStub::new(connection);
        let served = stub.run_blocking::<EventLoop<'_, '_>>(&mut session);
        let reason = match served {
            Ok(reason) => reason,
            Err(error) if error.is_target_error() => {
                let error = error.into_target_error();
                return Err(error.unwrap_or_else(|| DebugError::State(String::new())));
            }
            Err(error) if error.is_connection_error() => DisconnectReason::Disconnect,
            Err(error) => return Err(DebugError::Connection(error.to_string())),
        };
        Ok(match (reason, session.ended) {
            (_, Some(end)) => Ended::Run(end),
            (DisconnectReason::Kill, None) => Ended::Killed,
            _ => Ended::Detached,
        })
    }

    /// Lets the program go on to its end, without a debugger.
    ///
    /// # Errors
    /// A checkpoint cannot be restored.
    pub fn run_to_end(&mut self) -> Result<End, DebugError> {
        loop {
            if let Some(end) = self.history.advance(u64::MAX)? {
                return Ok(end);
            }
        }
    }
}

struct EventLoop<'s, 'a>(std::marker::PhantomData<(&'s (), &'a ())>);

impl<'s, 'a: 's> BlockingEventLoop for EventLoop<'s, 'a> {
    type Target = Session<'s, 'a>;
    type Connection = TcpStream;
    type StopReason = StopReason;

    fn wait_for_stop_reason(
        target: &mut Session<'s, 'a>,
        connection: &mut TcpStream,
    ) -> Result<Event<StopReason>, WaitForStopReasonError<DebugError, std::io::Error>> {
        loop {
            let stopped = target.go().map_err(WaitForStopReasonError::Target)?;
            if let Some(reason) = stopped {
                return Ok(Event::TargetStopped(reason));
            }
            let lost = WaitForStopReasonError::Connection;
            if ConnectionExt::peek(connection).map_err(lost)?.is_some() {
                let byte = ConnectionExt::read(connection).map_err(lost)?;
                return Ok(Event::IncomingData(byte));
            }
        }
    }

    fn on_interrupt(target: &mut Session<'s, 'a>) -> Result<Option<StopReason>, DebugError> {
        Ok(Some(BaseStopReason::SignalWithThread {
            tid: target.thread(),
            signal: Signal::SIGINT,
        }))
    }
}
