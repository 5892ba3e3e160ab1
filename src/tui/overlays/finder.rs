//! Going to anything by a part of its name: actions and commands, pods, nodes, plugins, layouts, themes, words.
//!
//! All names are gathered when it opens. What is typed is looked for as fzf does: letters in order, words in any order,
//! `^`, `$`, `'` and `!` as there. Only the best are kept and shown, and how many there are is said; what is typed
//! behind something else is looked for among what that found. Where very many have the letters, the first of them are
//! put in order, which is said, too.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::api::{NamespacedName, Str};
use crate::explain::glossary::{self, WordKind, first_phase};
use crate::scheduler::trace::Phase;
use crate::tui::action::{Action, Context};
use crate::tui::commands::{self, CommandCx};
use crate::tui::layout::Preset;
use crate::tui::panes::Subject;
use crate::tui::theme::Role;
use crate::tui::widgets::line_editor::LineEditor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, key};

const WIDTH: u16 = 96;
const N_VISIBLE: u16 = 14;
/// How many of what is found can be gone to.
const N_KEPT: usize = 200;
/// How many of what is found are put in order by how well they fit.
const N_SCORED: usize = 20_000;
/// What turns the meaning of a word round, or ties it to a place.
const SIGNS: [char; 5] = ['!', '^', '$', '\'', '\\'];
const KIND_WIDTH: u16 = 9;
/// The kind of what can only be read about.
const WORD: &str = "word";

/// What comes of an item.
#[derive(Clone, Debug, PartialEq)]
enum Target {
    /// A command line that is complete.
    Command(String),
    /// A command line that needs more.
    Unfinished(String),
    /// A pod.
    Pod(NamespacedName),
    /// A node.
    Node(Str),
    /// A plugin, where it is called first.
    Plugin(Str, Phase),
}

/// Something that can be gone to.
#[derive(Clone, Debug)]
struct Item {
    kind: &'static str,
    name: String,
    description: &'static str,
    action: Option<Action>,
    target: Target,
}

/// How near a name is to what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// It is that.
    Whole,
    /// It begins with that.
    Beginning,
    /// It has the letters.
    Letters,
}

impl Item {
    /// Of a pod the name without its namespace counts as well.
    fn nearness(&self, typed: &str) -> Nearness {
        if self.kind == WORD || typed.is_empty() {
            return Nearness::Letters;
        }
        let bare = self.name.rsplit_once('/').map(|(_, bare)| bare);
        let begins = |name: &str| {
            let head = name.as_bytes().get(..typed.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(typed.as_bytes()))
        };
        let mut names =
            std::iter::once(self.name.as_str()).chain(bare).filter(|name| begins(name)).peekable();
        let is_near = names.peek().is_some();
        if names.any(|name| name.len() == typed.len()) {
            Nearness::Whole
        } else if is_near {
            Nearness::Beginning
        } else {
            Nearness::Letters
        }
    }
}

/// The finder.
pub struct Finder {
    editor: LineEditor,
    items: Vec<Item>,
    /// What was looked for last, and all items that have it, in their order.
    searched: String,
    found: Vec<u32>,
    /// The best of them, the best first.
    best: Vec<u32>,
    /// Whether only the first [`N_SCORED`] of them were put in order.
    is_rough: bool,
    chosen: usize,
    offset: usize,
    matcher: Matcher,
}

impl Finder {
    /// With nothing typed.
    pub fn new(cx: &OverlayCx<'_>) -> Self {
        let items = items(cx);
        let n = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let mut finder = Self {
            editor: LineEditor::default(),
            items,
            searched: String::new(),
            found: (0..n).collect(),
            best: Vec::new(),
            is_rough: false,
            chosen: 0,
            offset: 0,
            matcher: Matcher::new(Config::DEFAULT),
        };
        finder.best = finder.found.iter().copied().take(N_KEPT).collect();
        finder
    }

    fn refresh(&mut self) {
        let typed = self.editor.text().trim_start().to_owned();
        self.chosen = 0;
        self.offset = 0;
        self.is_rough = false;
        let n = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        if typed.trim().is_empty() {
            self.found = (0..n).collect();
            self.best = self.found.iter().copied().take(N_KEPT).collect();
            self.searched = typed;
            return;
        }
        // A letter more can only lose items, unless it is one that turns the meaning round.
        let narrows = typed.starts_with(&self.searched) && !typed.contains(SIGNS);
        let among = if narrows { std::mem::take(&mut self.found) } else { (0..n).collect() };
        let is_plain = typed.is_ascii() && !typed.contains(SIGNS);
        let among: Vec<u32> = among
            .into_iter()
            .filter(|index| {
                let item = self.items.get(*index as usize);
                !is_plain || item.is_some_and(|item| has_letters(&item.name, &typed))
            })
            .collect();
        // That so many have the letters means that more will be typed: until then the first are put in order.
        let n_scored = if is_plain { N_SCORED } else { usize::MAX };
        self.is_rough = among.len() > n_scored;
        let pattern = Pattern::parse(&typed, CaseMatching::Ignore, Normalization::Smart);
        let mut chars = Vec::new();
        let mut scored: Vec<(u32, u32)> = among
            .iter()
            .take(n_scored)
            .filter_map(|index| {
                let index = *index;
                let item = self.items.get(index as usize)?;
                let score = pattern.score(Utf32Str::new(&item.name, &mut chars), &mut self.matcher)?;
                Some((score, index))
            })
            .collect();
        self.found = if self.is_rough { among } else { scored.iter().map(|(_, index)| *index).collect() };
        let typed_word = typed.trim().to_owned();
        self.searched = typed;
        // A name that is typed in whole or from its beginning comes first; of equal ones what can be gone to before what
        // can be read about, then the shorter name, then the earlier item.
        let rank = |(score, index): &(u32, u32)| {
            let item = self.items.get(*index as usize);
            let nearness = item.map_or(Nearness::Letters, |item| item.nearness(&typed_word));
            let is_word = item.is_some_and(|item| item.kind == WORD);
            let length = item.map_or(0, |item| item.name.len());
            (nearness, std::cmp::Reverse(*score), is_word, length, *index)
        };
        if scored.len() > N_KEPT {
            scored.select_nth_unstable_by_key(N_KEPT, rank);
            scored.truncate(N_KEPT);
        }
        scored.sort_unstable_by_key(rank);
        self.best = scored.into_iter().map(|(_, index)| index).collect();
    }

    fn item(&self) -> Option<&Item> {
        self.items.get(*self.best.get(self.chosen)? as usize)
    }

    fn accept(&self) -> OverlayOutcome {
        match self.item().map(|item| item.target.clone()) {
            None => OverlayOutcome::Changed,
            Some(Target::Command(line)) => OverlayOutcome::Command(line),
            Some(Target::Unfinished(line)) => OverlayOutcome::Type(format!("{line} ")),
            Some(Target::Pod(pod)) => OverlayOutcome::GoTo(Subject::Pod(pod)),
            Some(Target::Node(node)) => OverlayOutcome::GoTo(Subject::Node(node)),
            Some(Target::Plugin(plugin, phase)) => OverlayOutcome::GoTo(Subject::Plugin { plugin, phase }),
        }
    }

    /// How many items have what is typed.
    pub fn n_found(&self) -> usize {
        self.found.len()
    }

    fn render_row(&self, row: Rect, buf: &mut Buffer, item: &Item, is_chosen: bool, cx: &OverlayCx<'_>) {
        let style = |role| cx.theme.style(role);
        let keys = item.action.map(|action| key(action, cx.pane_contexts, cx)).unwrap_or_default();
        let keys_width = u16::try_from(text::width(&keys)).unwrap_or(0);
        let kind_width = KIND_WIDTH.min(row.width / 4);
        text::put(buf, row.x + 1, row.y, kind_width, item.kind, style(Role::Label), cx.glyphs);
        let x = row.x + 1 + kind_width + 1;
        let room = row.right().saturating_sub(x).saturating_sub(keys_width + 2);
        let name_width = if item.description.is_empty() || room < 50 { room } else { 36 };
        let end = text::put(buf, x, row.y, name_width, &item.name, style(Role::Name), cx.glyphs);
        let at = end.max(x + name_width.min(36)) + 1;
        let rest = row.right().saturating_sub(at).saturating_sub(keys_width + 2);
        text::put(buf, at, row.y, rest, item.description, style(Role::Muted), cx.glyphs);
        let at = row.right().saturating_sub(keys_width + 1);
        text::put(buf, at, row.y, keys_width, &keys, style(Role::Key), cx.glyphs);
        if is_chosen {
            buf.set_style(row, style(Role::Selection));
        }
    }
}

/// Whether a name has the letters of each word in their order, no matter the case; true of a name that is more than
/// ASCII, of which the matcher knows more.
fn has_letters(name: &str, typed: &str) -> bool {
    !name.is_ascii()
        || typed.split_whitespace().all(|word| {
            let mut letters = name.bytes();
            word.bytes().all(|wanted| letters.any(|letter| letter.eq_ignore_ascii_case(&wanted)))
        })
}

/// Everything that can be gone to, the fewest kinds first.
fn items(cx: &OverlayCx<'_>) -> Vec<Item> {
    let command_cx = CommandCx { view: cx.view, selected: cx.selected, themes: cx.themes };
    let item =
        |kind, name: String, description, target| Item { kind, name, description, action: None, target };
    let mut items: Vec<Item> = commands::complete("", &command_cx)
        .into_iter()
        .map(|candidate| Item {
            kind: if candidate.action.is_some() { "action" } else { "command" },
            description: commands::description_of(&candidate.line),
            action: candidate.action,
            target: if candidate.is_complete {
                Target::Command(candidate.line.clone())
            } else {
                Target::Unfinished(candidate.line.clone())
            },
            name: candidate.line,
        })
        .collect();
    items.extend(Preset::ALL.map(|preset| {
        let line = format!("layout {}", preset.as_str());
        item("layout", line.clone(), preset.description(), Target::Command(line))
    }));
    items.extend(cx.themes.names().map(|name| {
        let line = format!("theme {name}");
        item("theme", line.clone(), "", Target::Command(line))
    }));
    let view = &cx.view.scheduler;
    for entry in glossary::entries_of(view) {
        if matches!(entry.kind, WordKind::Plugin | WordKind::OwnPlugin) {
            let phase = first_phase(view, entry.word);
            let target = Target::Plugin(Str::from(entry.word), phase);
            items.push(item("plugin", entry.word.to_owned(), "What it says in this attempt", target));
        }
        let line = format!("explain {}", entry.word);
        items.push(item(WORD, line.clone(), entry.kind.as_str(), Target::Command(line)));
    }
    items.extend(cx.view.scheduler.nodes.iter().map(|node| {
        item("node", text::clean(node.name()).into_owned(), "", Target::Node(node.name().clone()))
    }));
    items.extend(
        commands::pods(cx.view)
            .map(|pod| item("pod", text::clean(&pod.to_string()).into_owned(), "", Target::Pod(pod))),
    );
    items
}

impl Overlay for Finder {
    fn contexts(&self) -> &'static [Context] {
        &[Context::TextInput, Context::List]
    }

    fn handle(&mut self, action: Action, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        let last = self.best.len().saturating_sub(1);
        let page = usize::from(N_VISIBLE);
        match action {
            Action::Accept => return self.accept(),
            Action::Cancel => return OverlayOutcome::Close,
            Action::DeleteBackward if self.editor.is_empty() => return OverlayOutcome::Close,
            Action::HistoryPrevious => self.chosen = self.chosen.saturating_sub(1),
            Action::HistoryNext | Action::Complete => self.chosen = (self.chosen + 1).min(last),
            Action::PageDown => self.chosen = (self.chosen + page).min(last),
            Action::PageUp => self.chosen = self.chosen.saturating_sub(page),
            action if self.editor.handle(action) => self.refresh(),
            _ => return OverlayOutcome::Ignored,
        }
        OverlayOutcome::Changed
    }

    fn insert(&mut self, text: &str, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        self.editor.insert(text);
        self.refresh();
        OverlayOutcome::Changed
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let width = WIDTH.min(screen.width.saturating_sub(4));
        let inner = boxed(screen, (width, N_VISIBLE + 2), 30, &Line::from("go to"), buf, cx);
        if inner.height == 0 {
            return;
        }
        let line = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), height: 1, ..inner };
        let prompt = format!("{} ", cx.glyphs.prompt);
        let x = text::put(buf, line.x, line.y, line.width, &prompt, cx.theme.style(Role::Accent), cx.glyphs);
        let rough = if self.is_rough { ", the best of the first 20000" } else { "" };
        let count = format!("{} of {}{rough}", self.found.len(), self.items.len());
        let count_width = u16::try_from(text::width(&count)).unwrap_or(0);
        let has_room = line.width > count_width + 20;
        let end = if has_room { line.right() - count_width - 1 } else { line.right() };
        self.editor.render(Rect { x, width: end.saturating_sub(x), ..line }, buf, cx.theme, cx.glyphs);
        if has_room {
            text::put(buf, end + 1, line.y, count_width, &count, cx.theme.style(Role::Muted), cx.glyphs);
        }
        let list = Rect { y: inner.y + 2.min(inner.height), height: inner.height.saturating_sub(2), ..inner };
        let height = usize::from(list.height);
        self.offset = self.offset.min(self.chosen).max((self.chosen + 1).saturating_sub(height));
        let rows = self.best.iter().enumerate().skip(self.offset);
        for ((index, item), y) in rows.zip(list.y..list.bottom()) {
            if let Some(item) = self.items.get(*item as usize) {
                self.render_row(Rect { y, height: 1, ..list }, buf, item, index == self.chosen, cx);
            }
        }
        if self.best.is_empty() {
            let why = "Nothing has these letters in this order: take some away.";
            text::put(buf, line.x, list.y, line.width, why, cx.theme.style(Role::Muted), cx.glyphs);
        }
    }
}
