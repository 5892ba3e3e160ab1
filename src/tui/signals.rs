//! Signals that the console answers: those that end it, and those that stop and continue it.

use std::io;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// End; with the signal's number.
    End(i32),
    /// Give the terminal back and stop.
    Stop,
    /// Continued after a stop.
    Continue,
}

#[cfg(unix)]
mod imp {
    use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

    use super::{Signal, io};

    /// The signals that the console answers.
    pub struct Signals {
        terminate: Stream,
        hangup: Stream,
        interrupt: Stream,
        stop: Stream,
        cont: Stream,
    }

    impl Signals {
        /// Begins to listen. A Tokio runtime must be there.
        pub fn new() -> io::Result<Self> {
            use signal_hook::consts::{SIGCONT, SIGTSTP};
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                hangup: signal(SignalKind::hangup())?,
                interrupt: signal(SignalKind::interrupt())?,
                stop: signal(SignalKind::from_raw(SIGTSTP))?,
                cont: signal(SignalKind::from_raw(SIGCONT))?,
            })
        }

        /// Waits for one.
        pub async fn next(&mut self) -> Signal {
            tokio::select! {
                _ = self.terminate.recv() => Signal::End(SignalKind::terminate().as_raw_value()),
                _ = self.hangup.recv() => Signal::End(SignalKind::hangup().as_raw_value()),
                _ = self.interrupt.recv() => Signal::End(SignalKind::interrupt().as_raw_value()),
                _ = self.stop.recv() => Signal::Stop,
                _ = self.cont.recv() => Signal::Continue,
            }
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use super::{Signal, io};

    /// The signals that the console answers.
    pub struct Signals(());

    impl Signals {
        /// Begins to listen.
        pub fn new() -> io::Result<Self> {
            Ok(Self(()))
        }

        /// Waits for one.
        pub async fn next(&mut self) -> Signal {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            Signal::End(2)
        }
    }
}

pub use imp::Signals;
