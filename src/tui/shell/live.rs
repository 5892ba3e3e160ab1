//! What only a live cluster has: arming, binds that wait, and the lines that must not be overlooked.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::driver::live::engine::Mode;
use crate::driver::live::session::LiveCommand;
use crate::driver::session::{NoticeLevel, SessionCommand};
use crate::tui::action::{Action, Context};
use crate::tui::layout::MIN_HEIGHT;
use crate::tui::overlays::arm::Arm;
use crate::tui::overlays::ask_bind::{AskBind, question};
use crate::tui::panes::PaneId;
use crate::tui::theme::Role;
use crate::tui::widgets::text;

use super::{Effect, Shell};

const ARMED: &str = " ARMED ";

impl Shell {
    /// Does an action of that kind; nothing where it is none.
    pub(super) fn perform_live(&mut self, action: Action) -> Vec<Effect> {
        let tell = |command| vec![Effect::Session(SessionCommand::Live(command))];
        if !matches!(
            action,
            Action::FocusAgreement
                | Action::FocusKinds
                | Action::Arm
                | Action::ToggleConfirming
                | Action::AnswerBinds
        ) {
            return Vec::new();
        }
        let Some(live) = self.world.view.live.clone() else {
            let text = "That is about a live cluster: schedscope live.".to_owned();
            self.notify(NoticeLevel::Info, text);
            return Vec::new();
        };
        match action {
            Action::FocusAgreement => self.focus_on(PaneId::Agreement),
            Action::FocusKinds => self.focus_on(PaneId::Informers),
            Action::Arm => return self.carry_out(if self.may_write() { "disarm" } else { "arm" }),
            Action::ToggleConfirming => return tell(LiveCommand::SetConfirming(!live.is_confirming)),
            Action::AnswerBinds if live.to_confirm.is_empty() => {
                self.notify(NoticeLevel::Info, "No bind waits for a person.".to_owned());
            }
            Action::AnswerBinds => {
                self.focus_on(PaneId::Matrix);
                self.overlays.push(Box::new(AskBind::default()));
            }
            _ => {}
        }
        Vec::new()
    }

    /// Asks whether the session shall write, and lets it find out meanwhile what there is to know.
    pub(super) fn ask_to_arm(&mut self, anyway: bool) -> Vec<Effect> {
        if self.is_armed() {
            self.notify(NoticeLevel::Info, "It is armed already.".to_owned());
            return Vec::new();
        }
        self.overlays.push(Box::new(Arm::new(anyway)));
        vec![Effect::Session(SessionCommand::Live(LiveCommand::Survey))]
    }

    /// Whether the session writes to its cluster.
    pub(super) fn is_armed(&self) -> bool {
        self.world.view.live.as_ref().is_some_and(|live| live.mode == Mode::Operate)
    }

    /// Whether it does, or will as soon as it holds the lease.
    fn may_write(&self) -> bool {
        use crate::driver::live::session::Leadership;
        let waits = |leadership: &Leadership| matches!(leadership, Leadership::Waiting { .. });
        self.is_armed() || self.world.view.live.as_ref().is_some_and(|live| waits(&live.steering.leadership))
    }

    /// The lines that must not be overlooked.
    fn live_lines(&self) -> Vec<String> {
        let Some(live) = &self.world.view.live else { return Vec::new() };
        let mut lines = Vec::new();
        if live.target.is_insecure {
            lines.push(format!(
                "TLS IS NOT VERIFIED: whoever stands between here and {} can read and change everything",
                live.target.server
            ));
        }
        if let Some(first) = live.to_confirm.first() {
            let keys = self.keys.keymap.keys_for(Action::AnswerBinds, &[Context::Global]);
            let key = keys.into_iter().next().unwrap_or_else(|| ":answer-binds".to_owned());
            let n = live.to_confirm.len();
            let waits = if n == 1 { "1 bind waits".to_owned() } else { format!("{n} binds wait") };
            lines.push(format!("{waits} for you, {key} answers: {}", question(first, &self.world.view)));
        }
        lines
    }

    /// How many of them there is room for on a screen that has `n_taken` other lines.
    pub(super) fn n_live_lines(&self, screen: Rect, n_taken: u16) -> u16 {
        let room = screen.height.saturating_sub(MIN_HEIGHT + n_taken);
        u16::try_from(self.live_lines().len()).unwrap_or(0).min(room)
    }

    /// Draws them.
    pub(super) fn draw_live_lines(&self, area: Rect, buf: &mut Buffer) {
        let (theme, glyphs) = (&self.look.theme, &self.look.glyphs);
        for (line, y) in self.live_lines().iter().zip(area.y..area.bottom()) {
            let style = theme.style(Role::Armed);
            buf.set_style(Rect { y, height: 1, ..area }, style);
            text::put(buf, area.x + 1, y, area.width.saturating_sub(2), line, style, glyphs);
        }
    }

    /// Writes the word into the lower side of a frame, so that it stands there without colours, too.
    pub(super) fn draw_armed(&self, area: Rect, buf: &mut Buffer) {
        let width = ARMED.len() as u16;
        if area.width > width + 4 && area.height > 1 {
            let style = self.look.theme.style(Role::Armed);
            text::put(buf, area.x + 2, area.bottom() - 1, width, ARMED, style, &self.look.glyphs);
        }
    }
}
