//! A pseudo-terminal with a program in it, read through a terminal emulator, as a person would see it.
//!
//! The program does not own the terminal: a shell started it and goes on when it ends, as in real life. The kernel
//! resets a terminal whose first process ends, so only with the shell still there can it be told whether the
//! program itself put everything back. Waiting is always for something to be seen, with a deadline.
#![expect(clippy::disallowed_methods, reason = "a terminal outside of the program has a clock of its own")]

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::{MouseProtocolMode, Screen};

/// After so long what is waited for will not come. Generous: only a failing test waits so long.
const DEADLINE: Duration = Duration::from_secs(120);
/// A terminal that has said nothing for so long has said all that it was going to say.
const QUIET: Duration = Duration::from_millis(80);

/// The program under test.
pub fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_schedscope"))
}

/// What is started, and in which terminal.
pub struct Stage {
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    size: (u16, u16),
    redirect: &'static str,
}

impl Stage {
    /// schedscope with these arguments in a terminal of 120 columns and 36 rows.
    pub fn new(args: &[&str]) -> Self {
        Self::of(program(), args)
    }

    /// Another program.
    pub fn of(program: &Path, args: &[&str]) -> Self {
        // What a person has set up for themselves is none of a test, and nothing is remembered from one to the next.
        let env = [
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("PS1", "$ "),
            ("SCHEDSCOPE_SETTINGS", "/nonexistent"),
            ("XDG_STATE_HOME", "/dev/null"),
        ];
        Self {
            program: program.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            size: (120, 36),
            redirect: "",
        }
    }

    /// In a terminal of that many columns and rows.
    pub fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    /// With that environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With these words of the shell behind the command.
    pub fn redirect(mut self, redirect: &'static str) -> Self {
        self.redirect = redirect;
        self
    }

    /// Starts it, and waits until the program is running.
    pub fn start(self) -> Terminal {
        let script = format!(
            "echo 'before the program'\n\
             sh -c 'echo \"<pid $$>\"; exec \"$@\" {}' sh \"$@\"\n\
             echo \"<exit $?>\"\n\
             read line",
            self.redirect
        );
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", &script, "sh"]);
        command.arg(&self.program);
        command.args(&self.args);
        let mut terminal = Terminal::open(command, &self.env, self.size);
        terminal.pid = Some(terminal.wait_for_number("<pid "));
        terminal
    }

    /// Starts an interactive shell with job control instead, in which `$program` is the program.
    pub fn start_shell(self) -> Terminal {
        let program = self.program.to_string_lossy().into_owned();
        let stage = self.env("program", &program).env("ENV", "/dev/null").env("HOME", "/");
        let mut command = CommandBuilder::new("sh");
        command.args(["-i"]);
        let terminal = Terminal::open(command, &stage.env, stage.size);
        terminal.wait_text("$ ");
        terminal
    }
}

/// What the emulator was asked to do besides drawing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deeds {
    /// Bells, titles, requests to resize or to paste, sequences that no terminal knows: all unwanted.
    pub unwanted: Vec<String>,
    /// What was put on the clipboard, in base64.
    pub copied: Vec<String>,
    /// Between the beginning and the end of a synchronized update, when a terminal shows nothing of it.
    is_updating: bool,
    /// Whether lines are cut at the right border.
    is_wrap_off: bool,
    /// How many whole frames were drawn.
    n_frames: usize,
    /// When the first of them was there.
    first_frame: Option<Instant>,
}

impl vt100::Callbacks for Deeds {
    fn audible_bell(&mut self, _: &mut Screen) {
        self.unwanted.push("bell".to_owned());
    }
    fn visual_bell(&mut self, _: &mut Screen) {
        self.unwanted.push("visual bell".to_owned());
    }
    fn resize(&mut self, _: &mut Screen, size: (u16, u16)) {
        self.unwanted.push(format!("resize to {size:?}"));
    }
    fn set_window_icon_name(&mut self, _: &mut Screen, name: &[u8]) {
        self.unwanted.push(format!("icon name {:?}", String::from_utf8_lossy(name)));
    }
    fn set_window_title(&mut self, _: &mut Screen, title: &[u8]) {
        self.unwanted.push(format!("title {:?}", String::from_utf8_lossy(title)));
    }
    fn copy_to_clipboard(&mut self, _: &mut Screen, _: &[u8], data: &[u8]) {
        self.copied.push(String::from_utf8_lossy(data).into_owned());
    }
    fn paste_from_clipboard(&mut self, _: &mut Screen, _: &[u8]) {
        self.unwanted.push("paste from the clipboard".to_owned());
    }
    fn unhandled_char(&mut self, _: &mut Screen, c: char) {
        self.unwanted.push(format!("character {c:?}"));
    }
    fn unhandled_control(&mut self, _: &mut Screen, byte: u8) {
        self.unwanted.push(format!("control {byte:#x}"));
    }
    fn unhandled_escape(&mut self, _: &mut Screen, one: Option<u8>, two: Option<u8>, byte: u8) {
        self.unwanted.push(format!("escape {one:?} {two:?} {:?}", char::from(byte)));
    }
    fn unhandled_csi(
        &mut self,
        _: &mut Screen,
        one: Option<u8>,
        two: Option<u8>,
        params: &[&[u16]],
        c: char,
    ) {
        // What the emulator does not know: synchronized updates, line wrap, the colour of underlines.
        match (one, params, c) {
            (Some(b'?'), [[2026]], 'h') => self.is_updating = true,
            (Some(b'?'), [[2026]], 'l') => {
                self.n_frames += usize::from(self.is_updating);
                self.first_frame.get_or_insert_with(Instant::now);
                self.is_updating = false;
            }
            (Some(b'?'), [[7]], 'l') => self.is_wrap_off = true,
            (Some(b'?'), [[7]], 'h') => self.is_wrap_off = false,
            (None, [[59]], 'm') => {}
            _ => self.unwanted.push(format!("csi {one:?} {two:?} {params:?} {c:?}")),
        }
    }
    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        self.unwanted
            .push(format!("osc {:?}", params.iter().map(|p| String::from_utf8_lossy(p)).collect::<Vec<_>>()));
    }
}

struct Shared {
    bytes: Vec<u8>,
    /// When something was written first: by the shell, just before it starts the program.
    first_byte: Option<Instant>,
    emulator: vt100::Parser<Deeds>,
    is_closed: bool,
    /// While set, nobody reads: the terminal is stuck.
    is_held: bool,
    /// The reader stops after what it reads next.
    is_closing: bool,
}

/// What the program has made of the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    alternate_screen: bool,
    cursor_hidden: bool,
    mouse: bool,
    bracketed_paste: bool,
    line_wrap_off: bool,
    synchronized_update: bool,
    /// The settings of the line discipline: raw or not, echo, special characters.
    line: String,
}

/// A terminal with a shell and a program in it. Dropping it ends both.
pub struct Terminal {
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn Write + Send>>,
    shell: Box<dyn Child + Send + Sync>,
    shared: Arc<(Mutex<Shared>, Condvar)>,
    before: Modes,
    reader: Option<JoinHandle<()>>,
    pid: Option<u32>,
}

const fn pty_size((columns, rows): (u16, u16)) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

/// The emulator has no terminals without rows or columns.
fn emulated(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap_or(NonZeroU16::MIN)
}

impl Terminal {
    fn open(mut command: CommandBuilder, env: &[(String, String)], size: (u16, u16)) -> Self {
        let pair = native_pty_system().openpty(pty_size(size)).unwrap();
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, value) in env {
            command.env(name, value);
        }
        command.cwd(std::env::temp_dir());
        let (rows, columns) = (emulated(size.1), emulated(size.0));
        let emulator = vt100::Parser::new_with_callbacks(rows, columns, 100, Deeds::default());
        let shared = Shared {
            bytes: Vec::new(),
            first_byte: None,
            emulator,
            is_closed: false,
            is_held: false,
            is_closing: false,
        };
        let shared = Arc::new((Mutex::new(shared), Condvar::new()));
        let reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let for_reader = Arc::clone(&shared);
        let reader = thread::spawn(move || read_all(reader, &for_reader));
        let line = line_settings(pair.master.as_ref());
        let shell = pair.slave.spawn_command(command).unwrap();
        let before = Modes {
            alternate_screen: false,
            cursor_hidden: false,
            mouse: false,
            bracketed_paste: false,
            line_wrap_off: false,
            synchronized_update: false,
            line,
        };
        Self {
            master: Some(pair.master),
            writer: Some(writer),
            shell,
            shared,
            before,
            reader: Some(reader),
            pid: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.0.lock().unwrap()
    }

    /// The process of the program.
    pub fn pid(&self) -> u32 {
        self.pid.expect("a program")
    }

    /// Types these bytes.
    pub fn send(&mut self, keys: impl AsRef<[u8]>) -> &mut Self {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(keys.as_ref()).and_then(|()| writer.flush()).unwrap();
        self
    }

    /// Sends the program a signal, by its name without SIG.
    pub fn signal(&self, name: &str) {
        kill(name, self.pid());
    }

    /// Changes the size of the terminal.
    pub fn resize(&self, columns: u16, rows: u16) {
        // With the lock held, nothing that is drawn for the old size comes between.
        let mut shared = self.lock();
        self.master.as_ref().unwrap().resize(pty_size((columns, rows))).unwrap();
        shared.emulator.set_size(emulated(rows), emulated(columns));
    }

    /// Waits until the screen is as told.
    #[track_caller]
    pub fn wait(&self, what: &str, is_so: impl Fn(&Screen) -> bool) -> &Self {
        let until = Instant::now() + DEADLINE;
        let mut shared = self.lock();
        loop {
            // Nobody sees half a frame.
            if !shared.emulator.callbacks().is_updating && is_so(shared.emulator.screen()) {
                return self;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || shared.is_closed {
                let screen = shared.emulator.screen().contents();
                let why =
                    if shared.is_closed { "the terminal was closed" } else { "the deadline has passed" };
                drop(shared);
                panic!("waiting for {what}: {why}; the screen:\n{screen}");
            }
            shared = self.shared.1.wait_timeout(shared, left).unwrap().0;
        }
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub fn wait_text(&self, text: &str) -> &Self {
        self.wait(&format!("{text:?}"), |screen| screen.contents().contains(text))
    }

    /// Waits until the screen does not show a text.
    #[track_caller]
    pub fn wait_gone(&self, text: &str) -> &Self {
        self.wait(&format!("{text:?} to go"), |screen| !screen.contents().contains(text))
    }

    /// Waits until a number is seen after a text.
    #[track_caller]
    fn wait_for_number(&self, prefix: &str) -> u32 {
        // In what was written, not on the screen, which may be too small for it.
        let number = || -> Option<u32> {
            let text = String::from_utf8_lossy(&self.bytes()).into_owned();
            let (_, rest) = text.rsplit_once(prefix)?;
            rest.split_once('>')?.0.parse().ok()
        };
        self.wait_until(&format!("a number after {prefix:?}"), || number().is_some());
        number().unwrap()
    }

    /// Waits until the console has drawn its first frame.
    #[track_caller]
    pub fn wait_console(&self) -> &Self {
        self.wait_frame(0)
    }

    /// Waits until more than `n` frames were drawn on the alternate screen.
    #[track_caller]
    pub fn wait_frame(&self, n: usize) -> &Self {
        let is_drawn = |shared: &Shared| {
            shared.emulator.screen().alternate_screen() && shared.emulator.callbacks().n_frames > n
        };
        self.wait_until("a frame", || is_drawn(&self.lock()));
        self
    }

    /// The time from just before the program was started to its first whole frame.
    pub fn time_to_first_frame(&self) -> Duration {
        let shared = self.lock();
        shared.emulator.callbacks().first_frame.unwrap() - shared.first_byte.unwrap()
    }

    /// How many frames were drawn so far.
    pub fn n_frames(&self) -> usize {
        self.lock().emulator.callbacks().n_frames
    }

    /// Waits until the program has ended by itself; returns its exit code.
    #[track_caller]
    pub fn wait_exit(&self) -> u32 {
        self.wait_for_number("<exit ")
    }

    /// Waits until nothing has been written for a while.
    #[track_caller]
    pub fn wait_quiet(&self) -> &Self {
        let until = Instant::now() + DEADLINE;
        let mut shared = self.lock();
        loop {
            let n = shared.bytes.len();
            let waited = self.shared.1.wait_timeout_while(shared, QUIET, |shared| shared.bytes.len() == n);
            let (now, timeout) = waited.unwrap();
            if timeout.timed_out() {
                drop(now);
                return self;
            }
            if Instant::now() >= until {
                drop(now);
                panic!("the terminal does not become quiet");
            }
            shared = now;
        }
    }

    /// Presses escape and waits until that was read: together with what follows it would be another key.
    #[track_caller]
    pub fn escape(&mut self) -> &mut Self {
        self.send("\x1b").wait_quiet();
        // Whoever has something to read is not asleep, also when it waits for its turn on a busy machine.
        self.wait_until("the program to sleep", || self.is_asleep());
        self
    }

    /// Whether every thread of the program waits for something.
    fn is_asleep(&self) -> bool {
        let Ok(threads) = fs::read_dir(format!("/proc/{}/task", self.pid())) else { return true };
        threads.flatten().all(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('S'))
        })
    }

    /// Waits until something was put on the clipboard.
    #[track_caller]
    pub fn wait_until_copied(&self) {
        self.wait_until("the clipboard", || !self.deeds().copied.is_empty());
    }

    /// Waits until something is so that cannot be seen on the screen.
    #[track_caller]
    pub fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let until = Instant::now() + DEADLINE;
        while !is_so() {
            assert!(Instant::now() < until, "waiting for {what}; the screen:\n{}", self.text());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether a text comes up within two seconds.
    pub fn seen_soon(&self, text: &str) -> bool {
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            if self.text().contains(text) {
                return true;
            }
            thread::sleep(Duration::from_millis(2));
        }
        false
    }

    /// The text on the screen.
    pub fn text(&self) -> String {
        self.lock().emulator.screen().contents()
    }

    /// The screen.
    pub fn screen(&self) -> Screen {
        self.lock().emulator.screen().clone()
    }

    /// Everything that was written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    /// How many bytes were written so far.
    pub fn n_bytes(&self) -> usize {
        self.lock().bytes.len()
    }

    /// What was asked of the terminal besides drawing.
    pub fn deeds(&self) -> Deeds {
        self.lock().emulator.callbacks().clone()
    }

    /// What the terminal is set to now.
    pub fn modes(&self) -> Modes {
        let line = line_settings(self.master.as_ref().unwrap().as_ref());
        let shared = self.lock();
        let screen = shared.emulator.screen();
        Modes {
            alternate_screen: screen.alternate_screen(),
            cursor_hidden: screen.hide_cursor(),
            mouse: screen.mouse_protocol_mode() != MouseProtocolMode::None,
            bracketed_paste: screen.bracketed_paste(),
            line_wrap_off: shared.emulator.callbacks().is_wrap_off,
            synchronized_update: shared.emulator.callbacks().is_updating,
            line,
        }
    }

    /// Fails unless the program has the terminal for itself.
    #[track_caller]
    pub fn assert_taken(&self) {
        let now = self.modes();
        assert!(
            now.alternate_screen
                && now.cursor_hidden
                && now.mouse
                && now.bracketed_paste
                && now.line_wrap_off,
            "{now:?}"
        );
        assert_ne!(now.line, self.before.line, "the line discipline is not raw");
    }

    /// Fails unless everything is as it was before the program, the text on the screen included.
    #[track_caller]
    pub fn assert_restored(&self) {
        self.assert_modes_restored();
        let text = self.text();
        assert!(text.contains("before the program"), "what was on the screen is gone:\n{text}");
    }

    /// The same where the text may be gone: a terminal that was made small has lost it.
    #[track_caller]
    pub fn assert_modes_restored(&self) {
        assert_eq!(self.modes(), self.before);
        let attributes = self.lock().emulator.screen().attributes_formatted();
        assert!(
            attributes == "\x1b[m" || attributes.is_empty(),
            "colours or bold are left behind: {attributes:?}"
        );
    }

    /// Stops reading what the program writes, or goes on.
    pub fn hold(&self, is_held: bool) {
        self.lock().is_held = is_held;
        self.shared.1.notify_all();
    }

    /// Closes the terminal, as when its window is closed. The console has to be running.
    pub fn close(&mut self) {
        self.lock().is_closing = true;
        // The reader has the terminal open too, and waits for something to read: the whole screen, again.
        self.send(b"\x0c");
        self.reader.take().unwrap().join().unwrap();
        self.writer = None;
        self.master = None;
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut said = String::new();
            let _ = write!(said, "the screen at the end:\n{}", self.text_unless_locked());
            let _ = writeln!(std::io::stderr(), "{said}");
        }
        if let Some(pid) = self.pid.filter(|pid| is_running(*pid)) {
            kill("KILL", pid);
        }
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

impl Terminal {
    fn text_unless_locked(&self) -> String {
        match self.shared.0.try_lock() {
            Ok(shared) => shared.emulator.screen().contents(),
            Err(_) => String::new(),
        }
    }
}

fn line_settings(master: &(dyn MasterPty + Send)) -> String {
    format!("{:?}", master.get_termios())
}

fn read_all(mut reader: Box<dyn Read + Send>, shared: &(Mutex<Shared>, Condvar)) {
    let mut buffer = [0; 4096];
    loop {
        let held = shared.1.wait_while(shared.0.lock().unwrap(), |shared| shared.is_held).unwrap();
        drop(held);
        let n = reader.read(&mut buffer).unwrap_or(0);
        let mut now = shared.0.lock().unwrap();
        now.first_byte.get_or_insert_with(Instant::now);
        now.bytes.extend_from_slice(&buffer[..n]);
        now.emulator.process(&buffer[..n]);
        now.is_closed = n == 0 || now.is_closing;
        let is_over = now.is_closed;
        drop(now);
        shared.1.notify_all();
        if is_over {
            return;
        }
    }
}

/// Sends a process a signal.
pub fn kill(signal: &str, pid: u32) {
    // `kill` is built into every shell; as a program of its own it may be missing.
    let status = Command::new("sh").args(["-c", &format!("kill -s {signal} {pid}")]).status().unwrap();
    assert!(status.success(), "kill -s {signal} {pid}");
}

/// Whether a process is there and has not ended.
pub fn is_running(pid: u32) -> bool {
    if cfg!(target_os = "linux") {
        return state(pid).is_some_and(|state| state != 'Z' && state != 'X');
    }
    let probe = Command::new("sh").args(["-c", &format!("kill -s 0 {pid} 2>/dev/null")]).status();
    probe.is_ok_and(|status| status.success())
}

/// The letter for what a process does: R runs, S sleeps, T is stopped, Z has ended.
pub fn state(pid: u32) -> Option<char> {
    stat_fields(pid)?.first()?.chars().next()
}

/// The process that started it.
pub fn parent(pid: u32) -> Option<u32> {
    stat_fields(pid)?.get(1)?.parse().ok()
}

/// Time on a processor so far, in clock ticks.
pub fn cpu_ticks(pid: u32) -> u64 {
    let fields = stat_fields(pid).unwrap();
    [11, 12].iter().map(|at| fields[*at].parse::<u64>().unwrap()).sum()
}

/// How often a thread of the process began to wait, or was made to, so far.
pub fn wake_ups(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok())
        .flat_map(|status| {
            let counts = status.lines().filter_map(|line| line.split_once("_ctxt_switches:"));
            counts.map(|(_, n)| n.trim().parse::<u64>().unwrap()).collect::<Vec<_>>()
        })
        .sum()
}

/// The fields of `/proc/PID/stat` after the name, beginning with the state.
fn stat_fields(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(ToOwned::to_owned).collect())
}
