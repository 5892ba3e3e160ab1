//! The shell driven by keys, with panes that only remember what they were asked.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::api::{NamespacedName, Str};
use crate::driver::session::{Notice, RunState, Speed};
use crate::scheduler::view::View;
use crate::tui::keymap::{key, load};

type Asked = Rc<RefCell<Vec<(PaneId, Action)>>>;

/// Takes the actions of its list and remembers them.
struct FakePane {
    id: PaneId,
    asked: Asked,
    selected: Option<Subject>,
}

impl Pane for FakePane {
    fn id(&self) -> PaneId {
        self.id
    }

    fn title(&self, _cx: &Cx<'_>) -> ratatui::text::Line<'static> {
        self.id.as_str().into()
    }

    fn contexts(&self) -> &'static [Context] {
        match self.id {
            PaneId::Cycle => &[Context::Cycle, Context::List],
            _ => &[Context::List],
        }
    }

    fn handle(&mut self, action: Action, _cx: &Cx<'_>) -> Outcome {
        self.asked.borrow_mut().push((self.id, action));
        match action {
            Action::SelectNext | Action::SelectPrevious | Action::SelectFirst | Action::Fold => {
                Outcome::Changed
            }
            Action::Open if self.id == PaneId::Queues => {
                Outcome::Request(Request::OpenDetails(Subject::Node(Str::from("n"))))
            }
            _ => Outcome::Ignored,
        }
    }

    fn render(&mut self, _area: Rect, _buf: &mut Buffer, _cx: &Cx<'_>) {}

    fn hit(&mut self, _position: Position, _cx: &Cx<'_>) -> Outcome {
        self.asked.borrow_mut().push((self.id, Action::Open));
        Outcome::Changed
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        let pod = |name: &str| Subject::Pod(NamespacedName::new("filtered", name));
        self.selected = filter.map(pod);
    }

    fn selected(&self, _cx: &Cx<'_>) -> Option<Subject> {
        self.selected.clone()
    }
}

struct Console {
    shell: Shell,
    asked: Asked,
    effects: Vec<Effect>,
}

fn session_view() -> SessionView {
    SessionView {
        known: Default::default(),
        moment: Default::default(),
        live: None,
        aside: None,
        source: Str::from("sample"),
        run_state: RunState::Paused,
        speed: Speed::Times(10),
        elapsed: Duration::from_secs(134),
        next_timeout: None,
        scheduler: Arc::new(View::default()),
        notice: None,
        debug: Default::default(),
        branches: Default::default(),
        comparison: None,
        failure: None,
    }
}

impl Console {
    fn new() -> Self {
        let asked = Asked::default();
        let panes = PaneId::ALL.map(|id| -> Box<dyn Pane> {
            let node = Subject::Node(Str::from("node-1"));
            let selected = (id == PaneId::Nodes).then_some(node);
            Box::new(FakePane { id, asked: Rc::clone(&asked), selected })
        });
        let depth = ColorDepth::TrueColor;
        let look = Look { is_motion_reduced: false, ..Look::new(Theme::dark(depth), false) };
        let shell = Shell::with_panes(panes, Arc::new(session_view()), look, load::built_in());
        Self { shell, asked, effects: Vec::new() }
    }

    /// Presses keys, written as in a keymap.
    fn press(&mut self, keys: &str) -> &mut Self {
        for key in key::parse_chord(keys).unwrap() {
            self.effects.extend(self.shell.on_key(key));
        }
        self
    }

    /// Types characters.
    fn type_(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.effects.extend(self.shell.on_key(Key::plain(key::Code::Char(c))));
        }
        self
    }

    fn asked(&self) -> Vec<(PaneId, Action)> {
        self.asked.borrow().clone()
    }

    fn screen(&mut self, width: u16, height: u16) -> String {
        let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
        self.shell.draw(&mut buf);
        let rows = buf.content().chunks(usize::from(width.max(1)));
        rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
    }
}

#[test]
fn a_key_goes_to_the_focused_pane_first_and_then_to_the_shell() {
    let mut console = Console::new();
    console.press("j n");
    assert_eq!(console.asked(), [(PaneId::Queues, Action::SelectNext), (PaneId::Queues, Action::StepCycle)]);
    assert_eq!(console.effects, [Effect::Session(SessionCommand::StepCycle)]);
}

#[test]
fn the_same_key_means_what_the_focused_pane_makes_of_it() {
    let mut console = Console::new();
    console.press("h 2 h");
    let asked = console.asked();
    assert!(asked.contains(&(PaneId::Queues, Action::ScrollLeft)));
    assert!(asked.contains(&(PaneId::Cycle, Action::Fold)));
}

#[test]
fn a_chord_waits_for_its_second_key_and_is_helped_after_a_while() {
    let mut console = Console::new();
    console.press("g");
    assert_eq!(console.asked(), []);
    assert_eq!(console.shell.deadline(), Some(which_key::PATIENCE));
    assert!(!console.screen(80, 24).contains("Select the last row"));
    console.shell.set_now(which_key::PATIENCE);
    assert!(console.screen(80, 24).contains("Select the last row"));
    console.press("g");
    assert_eq!(console.asked(), [(PaneId::Queues, Action::SelectFirst)]);
    assert_eq!(console.shell.deadline(), None);
}

#[test]
fn focus_goes_round_and_by_number() {
    let mut console = Console::new();
    console.press("tab");
    assert_eq!(console.shell.focused(), PaneId::Cycle);
    console.press("backtab backtab");
    assert_eq!(console.shell.focused(), PaneId::Timeline);
    console.press("5");
    assert_eq!(console.shell.focused(), PaneId::Nodes);
    assert_eq!(console.shell.selected(), Some(&Subject::Node(Str::from("node-1"))));
}

#[test]
fn enter_goes_in_and_esc_comes_out() {
    let mut console = Console::new();
    console.press("enter");
    assert_eq!(console.shell.focused(), PaneId::Details);
    assert_eq!(console.shell.selected(), Some(&Subject::Node(Str::from("n"))));
    console.press("esc");
    assert_eq!(console.shell.focused(), PaneId::Queues);
}

#[test]
fn a_filter_works_while_it_is_typed_and_its_keys_are_not_commands() {
    let mut console = Console::new();
    console.press("/").type_("nq");
    assert_eq!(console.effects, []);
    assert_eq!(console.shell.selected(), Some(&Subject::Pod(NamespacedName::new("filtered", "nq"))));
    console.press("down");
    assert_eq!(console.asked().last(), Some(&(PaneId::Queues, Action::SelectNext)));
    console.press("enter");
    assert!(!console.shell.has_overlay());
    assert!(console.screen(80, 24).contains("queues /nq"));
    console.press("esc");
    assert!(!console.screen(80, 24).contains("/nq"));
}

#[test]
fn what_is_deleted_is_named_and_asked_for_once() {
    let mut console = Console::new();
    console.press("5 x");
    assert!(console.screen(80, 24).contains("Delete node node-1?"));
    console.press("n");
    assert_eq!(console.effects, []);
    console.press("x y");
    let edit = Edit::DeleteNode(Str::from("node-1"));
    assert_eq!(console.effects, [Effect::Session(SessionCommand::Edit(edit))]);
    assert!(!console.shell.has_overlay());
}

#[test]
fn nothing_selected_is_said_and_nothing_is_done() {
    let mut console = Console::new();
    console.press("x c y");
    assert_eq!(console.effects, []);
    assert!(console.screen(80, 24).contains("Neither a pod nor a node is selected."));
}

#[test]
fn a_command_line_is_carried_out_and_remembered() {
    let mut console = Console::new();
    console.press(":").type_("speed 60").press("enter");
    let set = Effect::Session(SessionCommand::SetSpeed(Speed::Times(60)));
    assert_eq!(console.effects, std::slice::from_ref(&set));
    console.press(": up enter");
    assert_eq!(console.effects, [set.clone(), set]);
}

#[test]
fn the_palette_runs_what_is_chosen_and_completes_what_needs_more() {
    let mut console = Console::new();
    console.press(":").type_("outc").press("enter");
    assert_eq!(console.effects, [Effect::Session(SessionCommand::RunToOutcome)]);
    console.press(":").type_("spe").press("enter").type_("max").press("enter");
    assert_eq!(console.effects.last(), Some(&Effect::Session(SessionCommand::SetSpeed(Speed::Max))));
}

#[test]
fn a_command_line_does_nothing_that_was_not_typed() {
    let mut console = Console::new();
    // The letters of "save-last" in their order.
    console.press(":").type_("svl").press("enter");
    assert!(console.effects.is_empty(), "{:?}", console.effects);
    assert!(console.screen(120, 36).contains("unknown command \"svl\""), "{}", console.screen(120, 36));
    for quit in ["q", "q!", "exit", "quit"] {
        let mut console = Console::new();
        console.press(":").type_(quit).press("enter");
        assert_eq!(console.effects, [Effect::Quit], "{quit}");
    }
}

#[test]
fn a_mistake_in_a_command_line_is_said_with_what_was_meant() {
    let mut console = Console::new();
    console.press(":").type_("uncordn node-1").press("enter");
    assert!(console.screen(120, 36).contains("unknown command \"uncordn\"; did you mean \"uncordon\"?"));
}

#[test]
fn a_pod_is_added_from_a_template() {
    let mut console = Console::new();
    console.press("a enter");
    let [Effect::Session(SessionCommand::Edit(Edit::Apply { source, text }))] = console.effects.as_slice()
    else {
        panic!("{:?}", console.effects);
    };
    assert_eq!(source, "add-pod pod-1");
    assert!(text.contains("\"cpu\":\"500m\""), "{text}");
}

#[test]
fn a_paste_is_typed_where_text_is_typed_and_never_runs_keys() {
    let mut console = Console::new();
    console.effects.extend(console.shell.on_paste("nnn\nq"));
    assert_eq!(console.effects, []);
    console.press(":");
    console.effects.extend(console.shell.on_paste("speed 2\n"));
    assert_eq!(console.effects, [], "a line feed that was pasted accepts nothing");
    console.press("enter");
    assert_eq!(console.effects, [Effect::Session(SessionCommand::SetSpeed(Speed::Times(2)))]);
}

#[test]
fn a_pasted_manifest_is_offered() {
    let mut console = Console::new();
    console.effects.extend(console.shell.on_paste("apiVersion: v1\nkind: Pod\n"));
    assert!(console.screen(80, 24).contains("Apply the pasted manifest?"));
    console.press("y");
    assert_eq!(console.effects.len(), 1);
}

#[test]
fn help_shows_the_keys_in_force_and_can_be_searched() {
    let mut console = Console::new();
    console.press("2 ?");
    let help = console.screen(120, 40);
    assert!(help.contains("in the cycle pane"), "{help}");
    assert!(help.contains("h  left"), "{help}");
    console.type_("cordon");
    let help = console.screen(120, 40);
    assert!(help.contains("Cordon or uncordon the selected node"), "{help}");
    assert!(!help.contains("Select the next row"), "{help}");
    console.press("esc esc");
    assert!(!console.shell.has_overlay());
}

#[test]
fn ctrl_c_and_q_quit_unless_they_close_something() {
    let mut console = Console::new();
    console.press(": ctrl-c ? q");
    assert_eq!(console.effects, []);
    console.press("ctrl-c");
    assert_eq!(console.effects, [Effect::Quit]);
}

#[test]
fn a_notice_is_shown_once_and_goes_by_itself() {
    let mut console = Console::new();
    let notice =
        |number| Some(Notice { number, level: NoticeLevel::Info, text: "b-1 wins by 14".to_owned() });
    console.shell.on_view(Arc::new(SessionView { notice: notice(1), ..session_view() }));
    assert!(console.screen(80, 24).contains("b-1 wins by 14"));
    let until = console.shell.deadline().unwrap();
    console.shell.set_now(until);
    console.shell.on_view(Arc::new(SessionView { notice: notice(1), ..session_view() }));
    assert!(!console.screen(80, 24).contains("b-1 wins by 14"));
    assert_eq!(console.shell.deadline(), None, "nothing is waited for");
}

#[test]
fn an_error_of_many_lines_and_the_end_of_a_session_are_shown_whole() {
    let mut console = Console::new();
    let text = "a.yaml: document 2\n  cpu: 5oom\n       ^^^^".to_owned();
    let notice = Some(Notice { number: 1, level: NoticeLevel::Error, text });
    console.shell.on_view(Arc::new(SessionView { notice, ..session_view() }));
    assert!(console.screen(80, 24).contains("       ^^^^"));
    console.press("esc");
    let failure = Some(Str::from("the queue lost pod shop/web"));
    console.shell.on_view(Arc::new(SessionView { failure, ..session_view() }));
    let screen = console.screen(80, 24);
    assert!(screen.contains("the queue lost pod shop/web") && screen.contains("failed"), "{screen}");
}

#[test]
fn a_click_focuses_and_selects_and_a_tab_is_a_place_to_click() {
    let mut console = Console::new();
    console.screen(120, 36);
    console.shell.on_mouse(MouseDeed::Click, 100, 5);
    assert_eq!(console.shell.focused(), PaneId::Cycle);
    assert_eq!(console.asked(), [(PaneId::Cycle, Action::Open)]);
    let screen = console.screen(80, 24);
    let x = screen.lines().nth(1).unwrap().find("5 nodes").unwrap();
    console.shell.on_mouse(MouseDeed::Click, u16::try_from(x).unwrap(), 1);
    assert_eq!(console.shell.focused(), PaneId::Nodes);
}

#[test]
fn the_wheel_moves_in_the_pane_under_it_without_focusing_it() {
    let mut console = Console::new();
    console.screen(120, 36);
    console.shell.on_mouse(MouseDeed::ScrollDown, 100, 5);
    assert_eq!(console.asked(), [(PaneId::Cycle, Action::SelectNext); 3]);
    assert_eq!(console.shell.focused(), PaneId::Queues);
}

#[test]
fn the_line_on_top_gives_up_the_least_important_first() {
    let mut console = Console::new();
    let top = |console: &mut Console, width| console.screen(width, 12).lines().next().unwrap().to_owned();
    let wide = top(&mut console, 120);
    for part in
        ["schedscope", "sandbox sample", "paused", "sim 00:02:14", "×10", "cycle 0", "bound 0", "pending 0"]
    {
        assert!(wide.contains(part), "{part}: {wide}");
    }
    let narrow = top(&mut console, 40);
    assert!(narrow.contains("paused") && narrow.contains("sim 00:02:14"), "{narrow}");
    assert!(!narrow.contains("schedscope"), "{narrow}");
}

#[test]
fn a_screen_that_is_too_small_says_what_is_needed() {
    let mut console = Console::new();
    assert!(console.screen(39, 10).contains("too small: 40×10 is needed"));
    for (width, height) in [(0, 0), (1, 1), (250, 1), (1, 250)] {
        console.screen(width, height);
    }
}

#[test]
fn help_stays_in_the_footer_however_little_room_there_is() {
    let mut console = Console::new();
    for width in [40, 60, 80, 120] {
        let screen = console.screen(width, 12);
        assert!(screen.lines().last().unwrap().contains("? help"), "{width}: {screen}");
    }
}

#[test]
fn long_work_is_shown_with_the_key_that_calls_it_off() {
    use crate::driver::work::WorkView;
    let mut console = Console::new();
    console.shell.notify(NoticeLevel::Info, "an older sentence".to_owned());
    let work = WorkView { number: 7, what: "going to 62 %".into(), done: 3, total: 10 };
    console.shell.set_work(Some(work.clone()));
    for width in [80, 120] {
        let screen = console.screen(width, 24);
        let footer = screen.lines().last().unwrap();
        assert!(
            footer.contains("going to 62 %  ━━━───────") && footer.contains("30 %  esc stops it"),
            "{footer}"
        );
        assert!(footer.contains("? help"), "{footer}");
    }
    console.press("5 esc");
    assert_eq!(console.effects, [Effect::Session(SessionCommand::CallOff(7))]);
    // Of how much is not always known.
    console.shell.set_work(Some(WorkView { total: 0, done: 1200, ..work }));
    assert!(console.screen(80, 24).contains("1200 steps  esc stops it"));
    console.shell.set_work(None);
    assert!(console.screen(80, 24).contains("an older sentence"));
}
