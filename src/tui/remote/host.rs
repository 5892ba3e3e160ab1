//! The host: listens, lets the user's own programs in, and draws a console for each of them.

#![expect(clippy::disallowed_methods, reason = "frames have a clock")]

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{Event, KeyEventKind, MouseEvent};
use crossterm::execute;
use crossterm::style::force_color_output;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{TerminalOptions, Viewport};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{sleep_until, timeout};

use super::{FrameKind, Hello, PROTOCOL};
use crate::driver::live::session::LiveCommand;
use crate::driver::session::{NoticeLevel, SessionCommand, SessionHandle};
use crate::tui::chrome::Standing;
use crate::tui::event_loop::mouse_deed;
use crate::tui::keymap::Key;
use crate::tui::mistake;
use crate::tui::shell::{Effect, Look, Shell};
use crate::tui::theme::ColorDepth;

/// The least time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// So long a guest may take for a frame, or to say who it is.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many guests at once.
const GUESTS: usize = 32;
/// The longest line of a guest: a keymap, or a paste.
const LINE: u64 = 4 << 20;
/// Columns and rows at the most.
const SIZE: u16 = 1_000;

/// Who has the controls, and how many look.
#[derive(Debug, Default)]
struct Desk {
    operator: Option<(u64, String)>,
    n_guests: usize,
    next: u64,
}

/// The consoles of a session. The socket goes with the value.
#[derive(Debug)]
pub struct Host {
    path: PathBuf,
}

impl Drop for Host {
    fn drop(&mut self) {
        // If it is gone already, so much the better.
        let _ = fs::remove_file(&self.path);
    }
}

type Session = Arc<Mutex<SessionHandle>>;

/// Opens the socket, for this user alone, and lets guests in. A runtime must be there.
///
/// # Errors
/// If the socket cannot be opened, or another instance has it.
pub fn open(path: &Path, session: Session) -> io::Result<Host> {
    // Nobody looks at the colours of this process's own terminal, so what is said of it does not count.
    force_color_output(true);
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    make_room(path)?;
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    let own_uid = fs::metadata(path)?.uid();
    tokio::spawn(accept(listener, own_uid, session));
    Ok(Host { path: path.to_owned() })
}

/// Takes a socket away that nobody listens at any more; nothing else.
fn make_room(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        let text = format!("{} is there already and is no socket", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        let text = format!("another instance has {}", path.display());
        return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
    }
    fs::remove_file(path)
}

async fn accept(listener: UnixListener, own_uid: u32, session: Session) {
    let desk = Arc::new(Mutex::new(Desk::default()));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(err = %error, "Unable to accept a console");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let peer = stream.peer_cred();
        let Ok(peer) = peer else { continue };
        if peer.uid() != own_uid {
            tracing::warn!(uid = peer.uid(), "A console of another user was turned away");
            continue;
        }
        let id = {
            let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
            if desk.n_guests >= GUESTS {
                tracing::warn!("A console was turned away: too many are open");
                continue;
            }
            desk.n_guests += 1;
            desk.next += 1;
            desk.next
        };
        let pid = peer.pid().unwrap_or_default();
        let (session, own_desk) = (Arc::clone(&session), Arc::clone(&desk));
        let (session, stream) = (session, stream.into_std());
        let started = std::thread::Builder::new().name("console".to_owned()).spawn(move || {
            let result = stream.and_then(|stream| console(stream, id, &session, &own_desk));
            let mut desk = own_desk.lock().unwrap_or_else(PoisonError::into_inner);
            desk.n_guests -= 1;
            if desk.operator.as_ref().is_some_and(|(operator, _)| *operator == id) {
                desk.operator = None;
            }
            match result {
                Ok(()) => tracing::info!(pid, "Console detached"),
                Err(error) => tracing::info!(pid, err = %error, "Console dropped"),
            }
        });
        if let Err(error) = started {
            tracing::warn!(err = %error, "Unable to open a console");
            desk.lock().unwrap_or_else(PoisonError::into_inner).n_guests -= 1;
        }
    }
}

fn console(
    stream: std::os::unix::net::UnixStream,
    id: u64,
    session: &Session,
    desk: &Mutex<Desk>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (reader, mut writer) = UnixStream::from_std(stream)?.into_split();
        let mut lines = BufReader::new(reader);
        let hello = match timeout(PATIENCE, next_line(&mut lines)).await {
            Ok(line) => line?.unwrap_or_default(),
            Err(_) => return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not say who it is")),
        };
        let shell = match Hello::parse(&hello).and_then(|hello| Ok((shell(&hello, session)?, hello))) {
            Ok(shell) => shell,
            Err(why) => return send(&mut writer, FrameKind::End, why.as_bytes()).await,
        };
        let (shell, hello) = shell;
        tracing::info!(name = hello.name, "Console attached");
        Console::new(shell, &hello, id, session, desk)?.run(lines, writer).await
    })
}

async fn next_line(lines: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let n = lines.take(LINE).read_until(b'\n', &mut line).await?;
    if n == 0 {
        return Ok(None);
    }
    let text = String::from_utf8(line).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(Some(text))
}

async fn send(writer: &mut OwnedWriteHalf, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    let mut frame = Vec::with_capacity(bytes.len() + 5);
    frame.push(kind.byte());
    frame.extend(length.to_be_bytes());
    frame.extend(bytes);
    match timeout(PATIENCE, writer.write_all(&frame)).await {
        Ok(written) => written,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "it takes no frames any more")),
    }
}

impl Hello {
    fn parse(line: &str) -> Result<Self, String> {
        let hello: Self = serde_json::from_str(line).map_err(|error| format!("not understood: {error}"))?;
        if hello.protocol == PROTOCOL {
            Ok(hello)
        } else {
            Err(format!("this instance speaks version {PROTOCOL} of the protocol, not {}", hello.protocol))
        }
    }
}

fn shell(hello: &Hello, session: &Session) -> Result<Shell, String> {
    let depth = match hello.depth.as_str() {
        "truecolor" => ColorDepth::TrueColor,
        "256" => ColorDepth::Ansi256,
        "16" => ColorDepth::Ansi16,
        _ => ColorDepth::None,
    };
    let (theme, _) =
        hello.themes.load(&hello.theme, depth).ok_or_else(|| format!("no theme {:?}", hello.theme))?;
    let keymap = hello.keymap.read().map_err(|mistakes| mistake::lines(&mistakes))?;
    let look = Look {
        is_motion_reduced: hello.is_motion_reduced,
        themes: hello.themes.clone(),
        ..Look::new(theme, hello.is_ascii)
    };
    let view = session.lock().unwrap_or_else(PoisonError::into_inner).view();
    Ok(Shell::new(view, look, keymap))
}

/// What was drawn and not sent.
#[derive(Clone, Debug, Default)]
struct Drawn(Arc<Mutex<Vec<u8>>>);

impl Drawn {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Drawn {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Console<'a> {
    shell: Shell,
    terminal: ratatui::Terminal<CrosstermBackend<Drawn>>,
    drawn: Drawn,
    id: u64,
    name: String,
    session: &'a Session,
    desk: &'a Mutex<Desk>,
    started: Instant,
    is_dirty: bool,
    is_suspending: bool,
    is_over: bool,
}

fn area(size: (u16, u16)) -> Rect {
    Rect::new(0, 0, size.0.clamp(1, SIZE), size.1.clamp(1, SIZE))
}

impl<'a> Console<'a> {
    fn new(
        shell: Shell,
        hello: &Hello,
        id: u64,
        session: &'a Session,
        desk: &'a Mutex<Desk>,
    ) -> io::Result<Self> {
        let drawn = Drawn::default();
        let options = TerminalOptions { viewport: Viewport::Fixed(area(hello.size)) };
        let backend = CrosstermBackend::new(drawn.clone());
        let mut console = Self {
            shell,
            terminal: ratatui::Terminal::with_options(backend, options)?,
            drawn,
            id,
            name: hello.name.clone(),
            session,
            desk,
            started: Instant::now(),
            is_dirty: true,
            is_suspending: false,
            is_over: false,
        };
        if hello.wants_controls {
            console.take_controls();
        }
        Ok(console)
    }

    async fn run(
        mut self,
        mut lines: BufReader<OwnedReadHalf>,
        mut writer: OwnedWriteHalf,
    ) -> io::Result<()> {
        let (mut views, mut works) = {
            let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            (session.watch(), session.watch_work())
        };
        // Views are made only while somebody looks.
        let look = SessionCommand::Live(LiveCommand::Look);
        self.session.lock().unwrap_or_else(PoisonError::into_inner).send(look);
        let mut next_frame = self.started;
        // A line that is read in part stays read when something else comes first.
        let (sender, mut events) = tokio::sync::mpsc::channel(64);
        let reading = tokio::spawn(async move {
            while let Ok(Some(line)) = next_line(&mut lines).await {
                if sender.send(line).await.is_err() {
                    return;
                }
            }
        });
        loop {
            self.shell.set_now(self.started.elapsed());
            if self.is_dirty && Instant::now() >= next_frame {
                self.is_dirty = false;
                self.shell.set_standing(self.standing());
                self.terminal.draw(|frame| self.shell.draw(frame.buffer_mut()))?;
                next_frame = Instant::now() + FRAME;
            }
            let bytes = self.drawn.take();
            if !bytes.is_empty() {
                send(&mut writer, FrameKind::Draw, &bytes).await?;
            }
            if std::mem::take(&mut self.is_suspending) {
                send(&mut writer, FrameKind::Suspend, &[]).await?;
            }
            if self.is_over {
                reading.abort();
                return send(&mut writer, FrameKind::End, &[]).await;
            }
            let deadline = match self.is_dirty {
                true => Some(next_frame),
                false => self.shell.deadline().map(|at| self.started + at),
            };
            tokio::select! {
                line = events.recv() => match line {
                    Some(line) => self.on_line(&line)?,
                    None => return Ok(()),
                },
                changed = views.changed() => {
                    if changed.is_err() {
                        return send(&mut writer, FrameKind::End, b"the instance has ended").await;
                    }
                    let view = Arc::clone(&views.borrow_and_update());
                    self.shell.on_view(view);
                    self.is_dirty = true;
                }
                Ok(()) = works.changed() => {
                    self.shell.set_work(works.borrow_and_update().clone());
                    self.is_dirty = true;
                }
                () = until(deadline) => self.is_dirty = true,
            }
        }
    }

    fn on_line(&mut self, line: &str) -> io::Result<()> {
        let event: Event = serde_json::from_str(line)?;
        self.shell.set_now(self.started.elapsed());
        let effects = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => match Key::from_event(&key) {
                Some(key) => self.shell.on_key(key),
                None => return Ok(()),
            },
            Event::Paste(text) => self.shell.on_paste(&text),
            Event::Mouse(mouse) => self.on_mouse(&mouse),
            Event::Resize(columns, rows) => {
                self.terminal.resize(area((columns, rows)))?;
                Vec::new()
            }
            Event::Key(_) | Event::FocusGained | Event::FocusLost => return Ok(()),
        };
        self.is_dirty = true;
        for effect in effects {
            self.carry_out(effect)?;
        }
        Ok(())
    }

    fn on_mouse(&mut self, mouse: &MouseEvent) -> Vec<Effect> {
        match mouse_deed(mouse) {
            Some(deed) => self.shell.on_mouse(deed, mouse.column, mouse.row),
            None => Vec::new(),
        }
    }

    fn carry_out(&mut self, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Session(command) => self.tell(command),
            // The files of the guest are not here, and those that are here are none of its business.
            Effect::ApplyFile(_) | Effect::ConfigFile(_) => {
                self.say(NoticeLevel::Error, "files cannot be read over the socket".to_owned());
            }
            Effect::Copy(text) => execute!(self.drawn, CopyToClipboard::to_clipboard_from(text))?,
            Effect::Redraw => {
                let area = self.terminal.get_frame().area();
                self.terminal.resize(area)?;
            }
            Effect::SaveLayout(_) => {
                let text = "a layout is saved where the console runs, and this one runs with the instance";
                self.say(NoticeLevel::Warning, text.to_owned());
            }
            Effect::Suspend => self.is_suspending = true,
            Effect::Quit => self.is_over = true,
        }
        Ok(())
    }

    fn say(&mut self, level: NoticeLevel, text: String) {
        self.shell.notify(level, text);
    }

    /// One at a time may tell the session what to do.
    fn tell(&mut self, command: SessionCommand) {
        match command {
            SessionCommand::Quit => self.is_over = true,
            SessionCommand::Live(LiveCommand::TakeControls) => self.take_controls(),
            SessionCommand::Live(LiveCommand::GiveControls) => {
                let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
                let is_own = desk.operator.as_ref().is_some_and(|(id, _)| *id == self.id);
                if is_own {
                    desk.operator = None;
                }
                drop(desk);
                let text = if is_own { "the controls are free" } else { "you do not have the controls" };
                self.say(NoticeLevel::Info, text.to_owned());
            }
            command => {
                let operator = self.desk.lock().unwrap_or_else(PoisonError::into_inner).operator.clone();
                match operator {
                    Some((id, _)) if id == self.id => {
                        if !self.session.lock().unwrap_or_else(PoisonError::into_inner).send(command) {
                            self.say(NoticeLevel::Error, "the instance has ended".to_owned());
                        }
                    }
                    Some((_, name)) => {
                        self.say(NoticeLevel::Error, format!("you are looking on: {name} has the controls"));
                    }
                    None => {
                        let text = "you are looking on: :take takes the controls, which nobody has";
                        self.say(NoticeLevel::Error, text.to_owned());
                    }
                }
            }
        }
    }

    fn standing(&self) -> Standing {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = desk.operator.as_ref().is_some_and(|(id, _)| *id == self.id);
        if is_own { Standing::Operates } else { Standing::LooksOn }
    }

    fn take_controls(&mut self) {
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let (level, text) = match &desk.operator {
            Some((id, name)) if *id != self.id => {
                (NoticeLevel::Error, format!("you are looking on: {name} has the controls"))
            }
            _ => {
                desk.operator = Some((self.id, self.name.clone()));
                (NoticeLevel::Warning, "you have the controls; :release gives them back".to_owned())
            }
        };
        drop(desk);
        self.say(level, text);
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_a_socket_that_nobody_listens_at_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes");
        fs::write(&file, "kept").unwrap();
        assert_eq!(make_room(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");

        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(make_room(&socket).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        make_room(&socket).unwrap();
        assert!(!socket.exists());
    }
}
