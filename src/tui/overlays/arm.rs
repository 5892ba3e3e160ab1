//! The question before a session writes to its cluster: what, where, as whom, and who else is there.
//!
//! It is answered by typing the context's name, so that a key that was meant for something else does nothing.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::driver::live::session::LiveCommand;
use crate::driver::live::view::LiveView;
use crate::driver::session::{RunState, SessionCommand, SessionView};
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::line_editor::LineEditor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, put_hints, put_wrapped};

const CONTEXTS: &[Context] = &[Context::TextInput];
const WIDTH: u16 = 74;
const LABEL: u16 = 9;

/// The question.
pub struct Arm {
    anyway: bool,
    editor: LineEditor,
    /// Whether something else was typed.
    is_wrong: bool,
}

impl Arm {
    /// Asks; with `anyway` for arming although somebody else serves the same names.
    pub fn new(anyway: bool) -> Self {
        Self { anyway, editor: LineEditor::new(""), is_wrong: false }
    }

    /// What is to be typed.
    fn wanted(live: &LiveView) -> &str {
        if live.target.context.is_empty() { "arm" } else { &live.target.context }
    }

    fn lines(&self, view: &SessionView, live: &LiveView) -> Vec<(&'static str, String, Role)> {
        let steering = &live.steering;
        let who = match steering.who.is_told_by_server {
            true => format!("{} (the API server says so)", steering.who.name),
            false => format!("{} (by the kubeconfig)", steering.who.name),
        };
        let lease = match &steering.lease {
            Some(lease) => format!("writes only while it holds {lease}"),
            None => "none: nothing keeps another instance from writing, too".to_owned(),
        };
        let mode = match (view.run_state, live.is_confirming) {
            (RunState::Paused, true) => "paused: one cycle at a time; each bind asks",
            (RunState::Paused, false) => "paused: one cycle at a time, with its bind",
            (_, true) => "runs; each bind asks",
            (_, false) => "runs and binds by itself",
        };
        let mut lines = vec![
            ("context", live.target.context.clone(), Role::Strong),
            ("server", live.target.server.clone(), Role::Strong),
            ("user", who, Role::Strong),
            ("serves", live.profiles.join(", "), Role::Strong),
            ("lease", lease, if steering.lease.is_some() { Role::Text } else { Role::Warning }),
            ("mode", mode.to_owned(), Role::Text),
        ];
        if live.target.is_insecure {
            lines.push(("TLS", "the server's certificate is NOT looked at".to_owned(), Role::Danger));
        }
        match &steering.survey {
            None => lines.push(("others", "asking the API server".to_owned(), Role::Muted)),
            Some(survey) if !survey.holders.is_empty() => {
                for holder in &survey.holders {
                    lines.push(("others", holder.to_string(), Role::Danger));
                }
                let text = if self.anyway {
                    "Both would bind the same pods. You have said anyway."
                } else {
                    "It will be refused; :arm anyway does it all the same."
                };
                lines.push(("", text.to_owned(), Role::Danger));
            }
            Some(survey) => match survey.unread.first() {
                Some((lease, error)) => {
                    lines.push(("others", format!("not known: {lease}: {error}"), Role::Warning));
                }
                None => {
                    lines.push(("others", "nobody else holds a lease for these names".to_owned(), Role::Text))
                }
            },
        }
        lines
    }
}

impl Overlay for Arm {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn handle(&mut self, action: Action, cx: &OverlayCx<'_>) -> OverlayOutcome {
        let Some(live) = &cx.view.live else { return OverlayOutcome::Close };
        match action {
            Action::Accept if self.editor.text().trim() == Self::wanted(live) => {
                let command = if self.anyway { LiveCommand::ArmAnyway } else { LiveCommand::Arm };
                OverlayOutcome::Session(SessionCommand::Live(command))
            }
            Action::Accept => {
                self.is_wrong = true;
                OverlayOutcome::Changed
            }
            Action::Cancel => OverlayOutcome::Close,
            action if self.editor.handle(action) => {
                self.is_wrong = false;
                OverlayOutcome::Changed
            }
            _ => OverlayOutcome::Ignored,
        }
    }

    fn insert(&mut self, text: &str, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        self.editor.insert(text);
        self.is_wrong = false;
        OverlayOutcome::Changed
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let Some(live) = &cx.view.live else { return };
        let width = WIDTH.min(screen.width.saturating_sub(4));
        let inside = usize::from(width.saturating_sub(LABEL)).max(1);
        let lines = self.lines(cx.view, live);
        let n_lines: usize = lines.iter().map(|(_, value, _)| text::wrap(value, inside).len()).sum();
        let question = "From now on this program binds pods of the cluster, evicts pods for others, and writes \
                        what volumes and claims need.";
        let n_question = text::wrap(question, usize::from(width)).len();
        let height = u16::try_from(n_lines + n_question + 6).unwrap_or(u16::MAX);
        let inner = boxed(screen, (width + 2, height), 30, &Line::from("arm?"), buf, cx);
        let mut area = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        let n = put_wrapped(area, buf, question, 0, Role::Danger, cx);
        area = below(area, n + 1);
        for (label, value, role) in lines {
            let style = cx.theme.style(Role::Label);
            if area.is_empty() {
                break;
            }
            text::put(buf, area.x, area.y, LABEL, label, style, cx.glyphs);
            let value_area =
                Rect { x: area.x.saturating_add(LABEL), width: area.width.saturating_sub(LABEL), ..area };
            let n = put_wrapped(value_area, buf, &value, 0, role, cx);
            area = below(area, n);
        }
        area = below(area, 1);
        if area.is_empty() {
            return;
        }
        let wanted = Self::wanted(live);
        let ask = match self.is_wrong {
            false => {
                (format!("Type {wanted} to arm it. Later {} disarms at once.", disarm_key(cx)), Role::Text)
            }
            true => (format!("That is not {wanted}: nothing was done."), Role::Warning),
        };
        let n = put_wrapped(area, buf, &ask.0, 0, ask.1, cx);
        area = below(area, n);
        if area.is_empty() {
            return;
        }
        let prompt = format!("{} ", cx.glyphs.prompt);
        let x = text::put(buf, area.x, area.y, area.width, &prompt, cx.theme.style(Role::Accent), cx.glyphs);
        let field = Rect { x, width: area.right().saturating_sub(x), height: 1, ..area };
        self.editor.render(field, buf, cx.theme, cx.glyphs);
        area = below(area, 1);
        if !area.is_empty() {
            put_hints(area, buf, &[(Action::Accept, "arm"), (Action::Cancel, "leave it")], CONTEXTS, cx);
        }
    }
}

fn disarm_key(cx: &OverlayCx<'_>) -> String {
    super::key(Action::Arm, &[Context::Global], cx)
}

fn below(area: Rect, n: usize) -> Rect {
    let n = u16::try_from(n).unwrap_or(u16::MAX).min(area.height);
    Rect { y: area.y + n, height: area.height - n, ..area }
}
