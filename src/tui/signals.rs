//! Signals that the console answers: those that end it, and those that stop and continue it.
//!
//! The loop answers them. Where it cannot, since it hangs in a write to a terminal that takes nothing any more, or in
//! crossterm's reads from a terminal that is gone, a thread of its own ends the program after a moment.

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
    /// The terminal has another size, or had one for a moment.
    Resized,
}

#[cfg(unix)]
mod imp {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::low_level::pipe;
    use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

    use super::{Signal, io};
    use crate::tui::terminal;

    /// So long the loop has to answer a signal that ends it, and then the terminal to be given back.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// The signals that the console answers.
    pub struct Signals {
        terminate: Stream,
        hangup: Stream,
        interrupt: Stream,
        stop: Stream,
        cont: Stream,
        resized: Stream,
    }

    impl Signals {
        /// Begins to listen. A Tokio runtime must be there.
        pub fn new() -> io::Result<Self> {
            use signal_hook::consts::{SIGCONT, SIGTSTP};
            end_by_force()?;
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                hangup: signal(SignalKind::hangup())?,
                interrupt: signal(SignalKind::interrupt())?,
                stop: signal(SignalKind::from_raw(SIGTSTP))?,
                cont: signal(SignalKind::from_raw(SIGCONT))?,
                resized: signal(SignalKind::window_change())?,
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
                _ = self.resized.recv() => Signal::Resized,
            }
        }
    }

    /// Ends the program if it is still there a moment after a signal that ends it.
    fn end_by_force() -> io::Result<()> {
        let (mut receiver, sender) = UnixStream::pair()?;
        let last = Arc::new(AtomicUsize::new(0));
        for (number, value) in [(SIGHUP, 1), (SIGINT, 2), (SIGTERM, 15)] {
            flag::register_usize(number, Arc::clone(&last), value)?;
            pipe::register(number, sender.try_clone()?)?;
        }
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            if receiver.read_exact(&mut [0]).is_err() {
                return;
            }
            // Nobody sends: this is only a wait.
            let (_sender, never) = mpsc::channel::<()>();
            let _ = never.recv_timeout(PATIENCE);
            let (sender, given_back) = mpsc::channel();
            let restorer = thread::Builder::new().spawn(move || {
                terminal::restore();
                let _ = sender.send(());
            });
            if restorer.is_ok() {
                let _ = given_back.recv_timeout(PATIENCE);
            }
            let signal = i32::try_from(last.load(Ordering::SeqCst)).unwrap_or_default();
            std::process::exit(128 + signal);
        })?;
        Ok(())
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
