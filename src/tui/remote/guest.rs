//! The guest: `schedscope attach` shows what the host draws and sends the keys.

use std::path::Path;

use crossterm::event::{Event, EventStream};
use futures::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::{FrameKind, Hello};
use crate::tui::signals::{Signal, Signals};
use crate::tui::terminal::{self, Terminal};
use crate::tui::{ExitReason, TuiError};

/// The largest frame that is believed.
const FRAME: usize = 64 << 20;

/// How a console at a distance has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detached {
    /// By somebody on this side.
    Here(ExitReason),
    /// By the host, for this reason.
    There(String),
}

/// Shows a console until it ends. `hello` is said with the size of the terminal.
///
/// # Errors
/// If there is no terminal, or nobody at the socket.
pub fn attach(socket: &Path, mut hello: Hello, has_mouse: bool) -> Result<Detached, TuiError> {
    terminal::check()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stream = UnixStream::connect(socket).await?;
        hello.size = crossterm::terminal::size()?;
        // Before the terminal is touched there is somebody who gives it back on a signal.
        let signals = Signals::new()?;
        let terminal = Terminal::take_over(has_mouse)?;
        show(stream, &hello, terminal, signals).await
    })
}

async fn show(
    stream: UnixStream,
    hello: &Hello,
    mut terminal: Terminal,
    mut signals: Signals,
) -> Result<Detached, TuiError> {
    let (mut reader, mut writer) = stream.into_split();
    writer.write_all(&line(hello)?).await?;
    let (sender, mut frames) = mpsc::channel(4);
    let reading = tokio::spawn(async move {
        loop {
            let frame = read_frame(&mut reader).await;
            let is_last = frame.is_none();
            if sender.send(frame).await.is_err() || is_last {
                return;
            }
        }
    });
    let mut events = Some(EventStream::new());
    let detached = loop {
        let event = async {
            match &mut events {
                Some(events) => events.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            signal = signals.next() => match signal {
                Signal::End(number) => break Detached::Here(ExitReason::Signal(number)),
                Signal::Stop => {
                    drop(events.take());
                    terminal.suspend()?;
                    events = Some(EventStream::new());
                    resized(&mut writer).await?;
                }
                Signal::Continue => {
                    drop(events.take());
                    terminal.take_back()?;
                    events = Some(EventStream::new());
                    resized(&mut writer).await?;
                }
                Signal::Resized => resized(&mut writer).await?,
            },
            event = event => match event {
                Some(Ok(event)) => {
                    if writer.write_all(&line(&event)?).await.is_err() {
                        break Detached::There("the connection is gone".to_owned());
                    }
                }
                Some(Err(_)) | None => break Detached::Here(ExitReason::TerminalGone),
            },
            frame = frames.recv() => match frame.flatten() {
                Some((FrameKind::Draw, bytes)) => terminal.show(&bytes)?,
                Some((FrameKind::Suspend, _)) => {
                    drop(events.take());
                    terminal.suspend()?;
                    events = Some(EventStream::new());
                    resized(&mut writer).await?;
                }
                Some((FrameKind::End, bytes)) if bytes.is_empty() => break Detached::Here(ExitReason::Quit),
                Some((FrameKind::End, bytes)) => {
                    break Detached::There(String::from_utf8_lossy(&bytes).into_owned());
                }
                None => break Detached::There("the instance is gone".to_owned()),
            },
        }
    };
    reading.abort();
    Ok(detached)
}

fn line(value: &impl serde::Serialize) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Has everything drawn again, in the size of now.
async fn resized(writer: &mut tokio::net::unix::OwnedWriteHalf) -> std::io::Result<()> {
    let (columns, rows) = crossterm::terminal::size()?;
    writer.write_all(&line(&Event::Resize(columns, rows))?).await
}

async fn read_frame(reader: &mut tokio::net::unix::OwnedReadHalf) -> Option<(FrameKind, Vec<u8>)> {
    let kind = FrameKind::of(reader.read_u8().await.ok()?)?;
    let length = usize::try_from(reader.read_u32().await.ok()?).ok().filter(|length| *length <= FRAME)?;
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).await.ok()?;
    Some((kind, bytes))
}
