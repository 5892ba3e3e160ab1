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
            return self.perform_lesson(action);
        }
        let Some(live) = self.world.view.live.clone() else {
            let text = "That is about a live cluster: schedscope live.".to_owned();
            self.notify(NoticeLevel::Info, text);
            return Vec::new();
        };
        match action {
            Action::FocusAgreement => self.go_to_pane(PaneId::Agreement),
            Action::FocusKinds => self.go_to_pane(PaneId::Informers),
            Action::Arm => return self.carry_out(if self.may_write() { "disarm" } else { "arm" }),
            Action::ToggleConfirming => return tell(LiveCommand::SetConfirming(!live.is_confirming)),
            Action::AnswerBinds if live.to_confirm.is_empty() => {
                self.notify(NoticeLevel::Info, "No bind waits for a person.".to_owned());
            }
            Action::AnswerBinds => {
                self.go_to_pane(PaneId::Matrix);
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
            let key = self.keys.keymap.key_for(Action::AnswerBinds, &[Context::Global]);
            let key = key.unwrap_or_else(|| ":answer-binds".to_owned());
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::{Duration, Kind, NamespacedName, Str, Time};
    use crate::driver::live::connect::Target;
    use crate::driver::live::informers::InformerState;
    use crate::driver::live::observer::{Agreement, Comparison, Decision};
    use crate::driver::live::others::Who;
    use crate::driver::live::session::Leadership;
    use crate::driver::live::steering::SteeringView;
    use crate::driver::live::view::{ConfirmRow, InformerRow, LiveView};
    use crate::driver::session::{RunState, SessionView, Speed};
    use crate::scheduler::effect::EffectId;
    use crate::scheduler::view::View;
    use crate::tui::keymap::{Key, key, load};
    use crate::tui::shell::Look;
    use crate::tui::theme::Theme;

    fn live() -> LiveView {
        let steering = SteeringView {
            leadership: Leadership::None,
            lease: None,
            who: Who { name: "ann".to_owned(), is_told_by_server: true },
            survey: None,
            deeds: Vec::new(),
            n_deeds: 0,
            n_bound: 0,
            audit: None,
        };
        let forbidden = InformerState::Forbidden { message: "no".to_owned() };
        LiveView {
            target: Target {
                context: "prod".to_owned(),
                is_of_kubeconfig: true,
                user: "ann".to_owned(),
                server: "https://api/".to_owned(),
                is_insecure: true,
            },
            profiles: vec!["ours".into()],
            mode: Mode::Observe,
            is_confirming: false,
            to_confirm: Vec::new(),
            informers: vec![InformerRow {
                kind: Kind::CSINode,
                state: forbidden,
                n_objects: 0,
                n_unreadable: 0,
                unreadable: Vec::new(),
                last_report: None,
                n_lists: 0,
                n_changes: 0,
            }],
            has_started: true,
            comparisons: Arc::new(vec![Comparison {
                number: 1,
                at: Time::ZERO,
                pod: NamespacedName::new("shop", "a"),
                ours: Some(Decision::Node("n1".into())),
                theirs: Decision::Node("n2".into()),
                agreement: Agreement::Different,
                why: "n1 leads n2 by 3: ImageLocality +3".into(),
            }]),
            counts: vec![(Agreement::Different, 1)],
            rate: Some(0.0),
            open: vec![(NamespacedName::new("shop", "b"), Decision::Node("n3".into()), Duration::ZERO)],
            n_withheld: 0,
            operated: Vec::new(),
            steering: Arc::new(steering),
        }
    }

    struct Console(Shell);

    impl Console {
        fn new(live: Option<LiveView>) -> Self {
            let look = Look::new(Theme::mono(), true);
            Self(Shell::new(Arc::new(view(live)), look, load::built_in()))
        }

        fn press(&mut self, keys: &str) -> Vec<Effect> {
            key::parse_chord(keys).unwrap().into_iter().flat_map(|key| self.0.on_key(key)).collect()
        }

        fn type_(&mut self, text: &str) {
            for c in text.chars() {
                assert_eq!(self.0.on_key(Key::plain(key::Code::Char(c))), []);
            }
        }

        fn screen(&mut self, width: u16, height: u16) -> String {
            let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
            self.0.draw(&mut buf);
            let rows = buf.content().chunks(usize::from(width));
            rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
        }
    }

    fn view(live: Option<LiveView>) -> SessionView {
        SessionView {
            known: Default::default(),
            moment: Default::default(),
            aside: None,
            live: live.map(Arc::new),
            source: Str::from("prod"),
            run_state: RunState::Paused,
            speed: Speed::Times(1),
            elapsed: Duration::ZERO,
            next_timeout: None,
            scheduler: Arc::new(View::default()),
            notice: None,
            debug: Default::default(),
            branches: Default::default(),
            comparison: None,
            failure: None,
        }
    }

    fn tell(command: LiveCommand) -> Vec<Effect> {
        vec![Effect::Session(SessionCommand::Live(command))]
    }

    #[test]
    fn arming_wants_the_name_of_the_context_and_disarming_nothing() {
        let mut console = Console::new(Some(live()));
        assert_eq!(console.press("A"), tell(LiveCommand::Survey));
        let screen = console.screen(80, 24);
        for part in ["prod", "https://api/", "ann (the API server says so)", "ours", "NOT looked at"] {
            assert!(screen.contains(part), "{part} is missing:\n{screen}");
        }
        assert_eq!(console.press("enter"), [], "nothing was typed");
        console.type_("production");
        assert_eq!(console.press("enter"), []);
        assert!(console.screen(80, 24).contains("That is not prod"));
        console.press("ctrl-u");
        console.type_("prod");
        assert_eq!(console.press("enter"), tell(LiveCommand::Arm));
        let mut armed = Console::new(Some(LiveView { mode: Mode::Operate, ..live() }));
        assert_eq!(armed.press("A"), tell(LiveCommand::Disarm));
    }

    #[test]
    fn armed_stands_on_top_and_in_every_frame_at_every_size() {
        for (width, height, n) in [(80, 24, 2), (120, 36, 5), (200, 60, 11)] {
            let mut console = Console::new(Some(LiveView { mode: Mode::Operate, ..live() }));
            let screen = console.screen(width, height);
            assert_eq!(screen.matches(" ARMED ").count(), n, "{screen}");
            assert!(screen.contains("TLS IS NOT VERIFIED"));
        }
    }

    #[test]
    fn a_bind_is_answered_only_after_its_key_and_only_the_one_that_is_drawn() {
        let row = ConfirmRow {
            id: EffectId(7),
            pod: NamespacedName::new("shop", "a"),
            node: "n1".into(),
            age: Duration::ZERO,
        };
        let asks = LiveView { mode: Mode::Operate, to_confirm: vec![row], ..live() };
        let mut console = Console::new(Some(asks));
        assert!(console.screen(80, 24).contains("1 bind waits for you, C answers: bind shop/a to n1?"));
        assert!(!console.press("y").iter().any(|effect| matches!(effect, Effect::Session(_))));
        console.press("C");
        assert_eq!(console.0.focused(), PaneId::Matrix);
        console.screen(80, 24);
        assert_eq!(console.press("y"), tell(LiveCommand::Confirm { id: EffectId(7), is_wanted: true }));
        assert_eq!(console.press("n"), tell(LiveCommand::Confirm { id: EffectId(7), is_wanted: false }));
        console.0.on_view(Arc::new(view(Some(live()))));
        assert!(!console.0.has_overlay(), "nothing waits any more");
    }

    #[test]
    fn a_forbidden_kind_shows_the_rule_to_copy_and_what_is_lost() {
        let mut console = Console::new(Some(live()));
        console.press("K");
        let screen = console.screen(80, 24);
        assert!(screen.contains("resources: [\"csinodes\"]"), "{screen}");
        assert!(screen.contains("limits are not kept"), "{screen}");
        let copied = console.press("y");
        assert!(
            matches!(&copied[..], [Effect::Copy(rule)] if rule.starts_with("- apiGroups: [\"storage.k8s.io\"]"))
        );
    }

    #[test]
    fn a_difference_names_the_plugin_and_a_prediction_says_would() {
        let mut console = Console::new(Some(live()));
        console.press("9");
        let screen = console.screen(80, 24);
        for part in ["this scheduler would bind to n1", "ImageLocality +3", "Neither chance nor timing"] {
            assert!(screen.contains(part), "{part} is missing:\n{screen}");
        }
        console.press("m");
        console.press("m");
        let screen = console.screen(80, 24);
        assert!(screen.contains("would bind to n3") && !screen.contains("bound to"), "{screen}");
    }

    #[test]
    fn without_a_live_cluster_the_keys_say_so() {
        let mut console = Console::new(None);
        assert_eq!(console.press("A"), []);
        assert!(console.screen(80, 24).contains("about a live cluster"));
    }
}
