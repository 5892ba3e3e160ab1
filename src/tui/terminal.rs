//! The terminal: taken over as a whole, and given back as a whole.
//!
//! Raw mode, alternate screen, mouse, bracketed paste and the cursor are switched by one guard. [`restore`] may
//! be called at any time and any number of times: at the end, from the panic hook, before the program is stopped.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::{ResetColor, force_color_output};
use crossterm::terminal::{
    BeginSynchronizedUpdate, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{Command, cursor, execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::TuiError;

/// Whether the terminal is taken over now. The panic hook has no other way to know.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Reports presses and the wheel, not moves: a mouse that is moved wakes nobody.
struct EnableMouse;

impl Command for EnableMouse {
    fn write_ansi(&self, f: &mut impl std::fmt::Write) -> std::fmt::Result {
        f.write_str("\x1b[?1000h\x1b[?1006h")
    }

    #[cfg(windows)]
    fn execute_winapi(&self) -> io::Result<()> {
        crossterm::event::EnableMouseCapture.execute_winapi()
    }
}

struct DisableMouse;

impl Command for DisableMouse {
    fn write_ansi(&self, f: &mut impl std::fmt::Write) -> std::fmt::Result {
        f.write_str("\x1b[?1006l\x1b[?1000l")
    }

    #[cfg(windows)]
    fn execute_winapi(&self) -> io::Result<()> {
        crossterm::event::DisableMouseCapture.execute_winapi()
    }
}

/// Whether there is a terminal to draw on, judged before anything is changed.
pub fn check() -> Result<(), TuiError> {
    if !io::stdout().is_terminal() {
        return Err(TuiError::NotATerminal);
    }
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return Err(TuiError::DumbTerminal);
    }
    Ok(())
}

/// The terminal, taken over. Dropping it gives the terminal back.
pub struct Terminal {
    inner: ratatui::Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    has_mouse: bool,
    /// What is on the screen is not what was drawn last.
    is_forgotten: bool,
}

impl Terminal {
    /// Takes the terminal over. If something fails on the way, everything is given back.
    pub fn take_over(has_mouse: bool) -> Result<Self, TuiError> {
        install_panic_hook();
        // With NO_COLOR crossterm writes colour commands without colours, which a terminal reads as "reset
        // everything". The theme without colours sends none instead.
        force_color_output(true);
        enter(has_mouse)?;
        // From here on dropping gives the terminal back.
        let guard = RestoreOnDrop;
        let inner =
            ratatui::Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout())))?;
        std::mem::forget(guard);
        Ok(Self { inner, has_mouse, is_forgotten: false })
    }

    /// Draws one frame; the terminal shows it as a whole.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> Result<(), TuiError> {
        queue!(self.inner.backend_mut(), BeginSynchronizedUpdate)?;
        if std::mem::take(&mut self.is_forgotten) {
            // Not `clear`: it asks the terminal where the cursor is, and the answer would come between the keys.
            let size = self.inner.size()?;
            self.inner.resize(Rect::new(0, 0, size.width, size.height))?;
        }
        self.inner.draw(|frame| draw(frame.buffer_mut()))?;
        queue!(self.inner.backend_mut(), EndSynchronizedUpdate)?;
        Write::flush(self.inner.backend_mut())?;
        Ok(())
    }

    /// Shows what was drawn elsewhere for this terminal.
    pub fn show(&mut self, bytes: &[u8]) -> Result<(), TuiError> {
        queue!(self.inner.backend_mut(), BeginSynchronizedUpdate)?;
        self.inner.backend_mut().write_all(bytes)?;
        queue!(self.inner.backend_mut(), EndSynchronizedUpdate)?;
        Write::flush(self.inner.backend_mut())?;
        Ok(())
    }

    /// Forgets what is on the screen, so that the next frame is drawn as a whole.
    pub fn forget(&mut self) {
        self.is_forgotten = true;
    }

    /// Puts a text on the clipboard of the terminal (OSC 52), also through ssh.
    pub fn copy(&mut self, text: &str) -> Result<(), TuiError> {
        execute!(self.inner.backend_mut(), CopyToClipboard::to_clipboard_from(text))?;
        Ok(())
    }

    /// Takes the terminal over again after it was given back, or after somebody else used it.
    pub fn take_back(&mut self) -> Result<(), TuiError> {
        restore();
        enter(self.has_mouse)?;
        self.forget();
        Ok(())
    }

    /// Gives the terminal back and stops the program until it is continued.
    #[cfg(unix)]
    pub fn suspend(&mut self) -> Result<(), TuiError> {
        restore();
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.take_back()
    }

    /// There is nothing to suspend to.
    #[cfg(not(unix))]
    pub fn suspend(&mut self) -> Result<(), TuiError> {
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A panic while drawing leaves the beginning of a frame in the buffer, which is written when it is dropped.
        // Without its end the terminal would show nothing more.
        let _ = queue!(self.inner.backend_mut(), EndSynchronizedUpdate);
        restore();
    }
}

struct RestoreOnDrop;

impl Drop for RestoreOnDrop {
    fn drop(&mut self) {
        restore();
    }
}

fn enter(has_mouse: bool) -> io::Result<()> {
    IS_TAKEN.store(true, Ordering::SeqCst);
    let guard = RestoreOnDrop;
    enable_raw_mode()?;
    let mut stdout = io::stdout();
    execute!(stdout, EnterAlternateScreen, DisableLineWrap, EnableBracketedPaste, cursor::Hide)?;
    if has_mouse {
        execute!(stdout, EnableMouse)?;
    }
    std::mem::forget(guard);
    Ok(())
}

/// Gives the terminal back, if it is taken. Whatever fails, the rest is still tried: there is nobody to tell.
pub fn restore() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut stdout = io::stdout();
    let _ = execute!(stdout, EndSynchronizedUpdate);
    let _ = execute!(stdout, DisableMouse, DisableBracketedPaste, EnableLineWrap, ResetColor);
    let _ = execute!(stdout, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// Before a panic of this thread is reported, the terminal is given back, so that the report can be read. A panic
/// of another thread while the terminal is taken goes to the log: whoever owns that thread reports it.
fn install_panic_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let own_thread = thread::current().id();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if thread::current().id() == own_thread || !IS_TAKEN.load(Ordering::SeqCst) {
                restore();
                before(info);
            } else {
                tracing::error!("{info}");
            }
        }));
    });
}
