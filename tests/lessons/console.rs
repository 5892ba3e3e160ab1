//! A lesson in the console: the panel, the keys, and the session that follows.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use schedscope::driver::session::{SessionCommand, SessionHandle, spawn_sandbox};
use schedscope::lessons::{Course, Progress, bundled};
use schedscope::plugins::registry::in_tree_registry;
use schedscope::tui::keymap::key::parse_chord;
use schedscope::tui::keymap::{Key, load};
use schedscope::tui::shell::{Effect, Look, Shell};
use schedscope::tui::theme::{ColorDepth, Theme};

struct Console {
    shell: Shell,
    session: SessionHandle,
}

impl Console {
    fn open(id: &str, theme: Theme) -> Self {
        let lessons = bundled::course().unwrap();
        let at = lessons.iter().position(|lesson| lesson.id == id).unwrap();
        let course = Course::open(lessons.into(), at, in_tree_registry(), Progress::default(), None).unwrap();
        let session = spawn_sandbox(course.initial(), "lesson".into(), None).unwrap();
        let mut shell = Shell::new(session.view(), Look::new(theme, false), load::built_in());
        shell.take_course(course);
        Self { shell, session }
    }

    fn keys(&mut self, keys: &str) {
        let keys: Vec<Key> = parse_chord(keys).unwrap();
        for key in keys {
            for effect in self.shell.on_key(key) {
                let Effect::Session(command) = effect else { continue };
                self.tell(command);
            }
        }
    }

    /// Tells the session something and waits until it has answered.
    fn tell(&mut self, command: SessionCommand) {
        let wanted = self.session.n_sent() + 1;
        assert!(self.session.send(command));
        let mut views = self.session.watch();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            while views.borrow_and_update().known.n_answered < wanted {
                views.changed().await.unwrap();
            }
        });
        let view = self.session.view();
        self.shell.on_view(Arc::clone(&view));
    }

    fn screen(&mut self, width: u16, height: u16) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        self.shell.draw(&mut buffer);
        // What the first drawing has found out is on the second.
        self.shell.draw(&mut buffer);
        let row = |y: u16| -> String {
            (0..width).map(|x| buffer.cell((x, y)).map_or(" ", |cell| cell.symbol())).collect::<String>()
        };
        (0..height).map(|y| row(y).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }
}

fn dark() -> Theme {
    Theme::dark(ColorDepth::TrueColor)
}

fn n_lessons() -> usize {
    bundled::course().unwrap().len()
}

#[test]
fn beside_the_panes_there_is_room_for_the_whole_lesson() {
    let mut console = Console::open("filter", dark());
    let screen = console.screen(120, 36);
    assert!(screen.contains(&format!("lesson 4/{}", n_lessons())), "{screen}");
    assert!(screen.contains("On how many") && screen.contains("Q answer"), "{screen}");
    insta::assert_snapshot!("lesson_120", screen);
    assert!(!console.shell.has_overlay());
}

#[test]
fn on_a_small_screen_the_question_stays_above_the_panes() {
    let mut console = Console::open("filter", dark());
    let screen = console.screen(80, 24);
    assert!(!console.shell.has_overlay(), "all of it has room: {screen}");
    assert!(screen.contains("On how many nodes can it run?"), "{screen}");
    insta::assert_snapshot!("lesson_80", screen);
}

#[test]
fn a_text_without_room_is_read_first() {
    let mut console = Console::open("filter", dark());
    let screen = console.screen(60, 20);
    assert!(console.shell.has_overlay(), "{screen}");
    assert!(screen.contains("What containers really use"), "{screen}");
    console.keys("enter");
    let screen = console.screen(60, 20);
    assert!(!console.shell.has_overlay() && screen.contains("On how many"), "{screen}");
}

#[test]
fn a_right_answer_brings_the_session_to_where_it_is_seen() {
    let mut console = Console::open("filter", dark());
    console.screen(200, 60);
    console.keys("Q");
    assert!(console.shell.has_overlay());
    console.keys("3 enter");
    let screen = console.screen(200, 60);
    assert!(screen.contains("Not 3."), "{screen}");
    assert_eq!(console.session.view().scheduler.counts.cycles, 0, "a wrong answer changes nothing");
    console.keys("Q 1 enter");
    let screen = console.screen(200, 60);
    assert!(screen.contains("Right: 1."), "{screen}");
    assert_eq!(console.session.view().scheduler.counts.cycles, 1);
    // Going back leads to the start of the lesson.
    console.tell(SessionCommand::Back(schedscope::driver::session::BackTo::Start));
    assert_eq!(console.session.view().scheduler.counts.cycles, 0);
    console.keys("Q");
    let screen = console.screen(200, 60);
    assert!(screen.contains("2/2 Could preemption help"), "{screen}");
    insta::assert_snapshot!("lesson_200", screen);
}

#[test]
fn lessons_are_left_for_others_by_keys_and_commands() {
    let mut console = Console::open("queues", dark());
    console.keys("E n");
    assert!(console.screen(120, 36).contains(&format!("lesson 2/{}", n_lessons())));
    console.keys("E p E l");
    assert!(console.screen(120, 36).contains(&format!("0 of {} done", n_lessons())));
    console.keys("esc E z");
    let screen = console.screen(120, 36);
    assert!(!screen.contains("lesson 1/"), "{screen}");
}

#[test]
fn no_size_panics() {
    let mut console = Console::open("reading", dark());
    for width in (0..=250).step_by(7) {
        for height in (0..=70).step_by(3) {
            console.screen(width, height);
        }
    }
}

#[test]
fn the_keys_of_the_lesson_and_of_the_console_work_while_its_text_is_open() {
    let mut console = Console::open("filter", dark());
    console.keys("E t");
    assert!(console.screen(120, 36).contains("On how many"));
    assert!(console.shell.has_overlay());
    console.keys("Q 1 enter");
    console.screen(120, 36);
    console.keys("E t E l");
    let n = n_lessons();
    assert!(
        console.screen(120, 36).contains(&format!("0 of {n} done")),
        "the list is there instead of the text"
    );
    console.keys("esc E t n");
    assert!(!console.shell.has_overlay(), "a step shows the panes");
    assert_eq!(console.session.view().scheduler.counts.cycles, 1);
}

#[test]
fn an_answer_leaves_the_panes_to_be_seen_and_the_rest_of_the_text_is_one_key_away() {
    let mut console = Console::open("filter", dark());
    console.screen(80, 24);
    console.keys("Q 3 enter Q 1 enter");
    let screen = console.screen(80, 24);
    assert!(!console.shell.has_overlay(), "{screen}");
    assert!(screen.contains("matrix") && screen.contains("P more"), "{screen}");
    let mut seen = screen;
    for _ in 0..8 {
        console.keys("P");
        seen.push_str(&console.screen(80, 24));
        if seen.contains("P from the top") {
            break;
        }
    }
    assert!(seen.contains("Right: 1.") && seen.contains("P from the top"), "{seen}");
}

#[test]
fn what_was_told_of_a_wrong_answer_is_not_told_again_with_the_right_one() {
    let mut console = Console::open("filter", dark());
    console.screen(200, 60);
    console.keys("Q 3 enter Q 1 enter");
    let screen = console.screen(200, 60);
    assert!(screen.contains("Not 3.") && screen.contains("Right: 1."), "{screen}");
    let panel: Vec<&str> = screen.lines().filter_map(|line| line.rsplit('│').nth(1)).collect();
    let evidence =
        panel.iter().filter(|line| line.contains("node(s) had") || line.contains("Insufficient")).count();
    assert!(evidence <= 3, "{screen}");
}
