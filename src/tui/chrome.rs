//! What stands around the panes: the line on top, the tabs, the footer.
//!
//! All three give up their least important parts first when there is no room; nothing is cut in the middle.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::api::Duration;
use crate::api::time::human_duration;
use crate::driver::live::engine::Mode;
use crate::driver::live::session::Leadership;
use crate::driver::recorder::RecorderStats;
use crate::driver::session::{Aside, NoticeLevel, RunState, SessionView};
use crate::driver::work::WorkView;

use super::action::{Action, Context};
use super::keymap::key::chord_to_string;
use super::keymap::{Key, Keymap};
use super::panes::PaneId;
use super::theme::{Role, Theme};
use super::widgets::glyphs::Glyphs;
use super::widgets::text;

/// What everything around the panes is drawn with.
#[derive(Clone, Copy)]
pub struct ChromeCx<'a> {
    /// The newest view.
    pub view: &'a SessionView,
    /// Styles by role.
    pub theme: &'a Theme,
    /// Signs.
    pub glyphs: &'a Glyphs,
    /// What a person may do here who is one of several.
    pub standing: Option<Standing>,
}

/// What a person may do who looks at a session with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Has the controls.
    Operates,
    /// Only looks on.
    LooksOn,
}

/// A part of a line that is shown or not.
struct Segment {
    /// Parts with a higher rank go first.
    rank: u8,
    line: Line<'static>,
}

const GAP: usize = 3;

/// Draws the line on top. `n_log_dropped` log lines were lost.
pub fn status_bar(area: Rect, buf: &mut Buffer, n_log_dropped: u64, cx: &ChromeCx<'_>) {
    buf.set_style(area, cx.theme.style(Role::StatusBar));
    let mut left = left_segments(cx);
    let mut right = right_segments(n_log_dropped, cx);
    let room = usize::from(area.width).saturating_sub(2);
    while width_of(&left) + GAP + width_of(&right) > room {
        let highest = left.iter().chain(&right).map(|segment| segment.rank).max().unwrap_or(0);
        if highest == 0 {
            break;
        }
        left.retain(|segment| segment.rank < highest);
        right.retain(|segment| segment.rank < highest);
    }
    let mut x = area.x + 1;
    for segment in &left {
        let room = area.right().saturating_sub(x);
        x = text::put_line(buf, x, area.y, room, &segment.line, cx.glyphs).saturating_add(GAP as u16);
    }
    let mut x = area.right().saturating_sub(u16::try_from(width_of(&right) + 1).unwrap_or(u16::MAX)).max(x);
    for segment in &right {
        let room = area.right().saturating_sub(x);
        x = text::put_line(buf, x, area.y, room, &segment.line, cx.glyphs).saturating_add(GAP as u16);
    }
}

fn width_of(segments: &[Segment]) -> usize {
    let gaps = segments.len().saturating_sub(1) * GAP;
    segments.iter().map(|segment| segment.line.width()).sum::<usize>() + gaps
}

fn left_segments(cx: &ChromeCx<'_>) -> Vec<Segment> {
    let view = cx.view;
    let style = |role| cx.theme.style(role);
    let (glyph, word, role) = match (&view.failure, view.run_state) {
        (Some(_), _) => (cx.glyphs.error, "failed", Role::Error),
        (None, RunState::Paused) => (cx.glyphs.paused, "paused", Role::Paused),
        (None, RunState::Running) => (cx.glyphs.running, "running", Role::Running),
        (None, RunState::RunningToOutcome) => (cx.glyphs.running, "to outcome", Role::Running),
    };
    let times = cx.glyphs.times;
    let mut segments = vec![
        Segment { rank: 7, line: Line::styled("schedscope", style(Role::StatusBarName)) },
        labeled(if view.aside.is_some() { 0 } else { 5 }, what(view), &text::clean(&view.source), cx),
        Segment { rank: 0, line: Line::styled(format!("{glyph} {word}"), style(role)) },
        labeled(1, clock_label(view), &clock(view.elapsed), cx),
        Segment {
            rank: 4,
            line: Line::styled(view.speed.to_string().replace('×', times), style(Role::StatusBarValue)),
        },
    ];
    if let Some(standing) = cx.standing {
        let (word, role) = match standing {
            Standing::Operates => ("you operate", Role::Warning),
            Standing::LooksOn => ("looking on", Role::StatusBarValue),
        };
        segments.push(Segment { rank: 1, line: Line::styled(word, style(role)) });
    }
    if let Some(live) = &view.live {
        let (rank, word, role) = match (live.mode, view.aside, &live.steering.leadership) {
            (Mode::Operate, None, _) => (0, " ARMED ", Role::Armed),
            // What is shown binds nothing, but the cluster is scheduled meanwhile.
            (Mode::Operate, Some(_), _) => (0, " live ARMED ", Role::Armed),
            (Mode::Observe, None, Leadership::Waiting { .. }) => (0, "stands by", Role::Warning),
            (Mode::Observe, None, _) => (0, "observes only", Role::StatusBarValue),
            (Mode::Observe, Some(_), _) => (6, "live observes only", Role::StatusBarValue),
        };
        segments.insert(2, Segment { rank, line: Line::styled(word, style(role)) });
        if live.is_confirming {
            let n = live.to_confirm.len();
            segments.insert(3, labeled(2, "each bind asks", &n.to_string(), cx));
        }
        if let Some(aside) = view.aside {
            let text = match aside {
                Aside::Past { ahead } => {
                    format!("{} behind", human_duration(whole_secs(ahead)))
                }
                Aside::Fork => "a sandbox".to_owned(),
            };
            segments.insert(3, Segment { rank: 0, line: Line::styled(text, style(Role::Warning)) });
        } else if let Some(rate) = live.rate {
            let n: u64 = live.counts.iter().map(|(_, n)| n).sum();
            segments.push(labeled(3, "agree", &format!("{rate:.1} % of {n}"), cx));
        }
    }
    if let Some(stopped) = &view.debug.stopped {
        // The number is enough here; the rest stands in the list of breakpoints.
        let what = stopped.split(" at ").next().unwrap_or_default();
        segments.push(Segment { rank: 2, line: Line::styled(what.to_owned(), style(Role::Warning)) });
    }
    if let Some(line) = moment(cx) {
        segments.push(Segment { rank: 1, line });
    }
    if let Some(segment) = recorder(cx) {
        segments.push(segment);
    }
    if let Some((ahead, what)) = &view.next_timeout {
        let what = text::truncate(&text::clean(what), 36, cx.glyphs).into_owned();
        let line = Line::from(vec![
            Span::styled("next ", style(Role::StatusBarLabel)),
            Span::styled(human_duration(*ahead), style(Role::StatusBarValue)),
            Span::styled(format!(" {what}"), style(Role::StatusBarLabel)),
        ]);
        segments.push(Segment { rank: 10, line });
    }
    segments
}

/// What is on the screen.
fn what(view: &SessionView) -> &'static str {
    match (&view.known.replay, view.moment.is_recorded) {
        (Some(_), true) => "replay",
        _ if matches!(view.aside, Some(Aside::Past { .. })) => "PAST of",
        _ if view.aside == Some(Aside::Fork) => "FORK of",
        _ if view.live.is_some() => "LIVE",
        // A recording that was left is a sandbox.
        _ => "sandbox",
    }
}

/// What the clock on top tells.
fn clock_label(view: &SessionView) -> &'static str {
    match (&view.live, view.aside) {
        (None, _) | (_, Some(Aside::Fork)) => "sim",
        (Some(_), None) => "up",
        (Some(_), Some(Aside::Past { .. })) => "at",
    }
}

fn whole_secs(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs())
}

/// Whether the session is recorded, and how that goes: what had to wait for the file, what went wrong.
fn recorder(cx: &ChromeCx<'_>) -> Option<Segment> {
    let recorder = cx.view.known.recorder.as_ref()?;
    let sign = if cx.glyphs.is_ascii { "*" } else { "●" };
    let (text, role) = match &recorder.failure {
        Some(_) => (format!("{sign} rec failed"), Role::Error),
        None => {
            let RecorderStats { inputs, waits, .. } = recorder.stats;
            let waited = if waits == 0 { String::new() } else { format!(" waited {waits}") };
            (format!("{sign} rec {inputs}{waited}"), Role::Warning)
        }
    };
    Some(Segment { rank: 1, line: Line::styled(text, cx.theme.style(role)) })
}

/// Where the session stands in what is known of it, if that is not the end of the only way.
fn moment(cx: &ChromeCx<'_>) -> Option<Line<'static>> {
    let moment = &cx.view.moment;
    let mut text = String::new();
    let is_live = cx.view.live.is_some() && cx.view.aside.is_none();
    if moment.is_past() || (moment.is_recorded && !is_live) {
        let word = if moment.is_recorded { "at" } else { "past" };
        text = format!("{word} {}/{}", moment.position, moment.end);
        if moment.phases_inside > 0 {
            text.push_str(&format!("+{}", moment.phases_inside));
        }
    }
    if moment.n_branches > 1 && !is_live {
        let gap = if text.is_empty() { "" } else { " " };
        text.push_str(&format!("{gap}branch {}", moment.branch));
    }
    (!text.is_empty()).then(|| Line::styled(text, cx.theme.style(Role::Warning)))
}

fn right_segments(n_log_dropped: u64, cx: &ChromeCx<'_>) -> Vec<Segment> {
    let counts = &cx.view.scheduler.counts;
    let pending = counts.active + counts.backoff + counts.unschedulable;
    // Who only observes has bound nothing.
    let (bound, n_bound) = match cx.view.live.as_ref().filter(|_| cx.view.aside.is_none()) {
        Some(live) if live.operated.is_empty() => ("foreseen", counts.bound + counts.binding as u64),
        Some(live) => ("bound", live.steering.n_bound),
        None => ("bound", counts.bound),
    };
    let mut segments = vec![
        labeled(3, "cycle", &counts.cycles.to_string(), cx),
        labeled(6, bound, &n_bound.to_string(), cx),
        labeled(2, "pending", &pending.to_string(), cx),
        labeled(8, "nodes", &counts.nodes.to_string(), cx),
    ];
    if counts.preempted > 0 {
        segments.push(labeled(9, "evicted", &counts.preempted.to_string(), cx));
    }
    if n_log_dropped > 0 {
        let line = Line::styled(format!("{n_log_dropped} log lines dropped"), cx.theme.style(Role::Warning));
        segments.push(Segment { rank: 3, line });
    }
    segments
}

fn labeled(rank: u8, label: &str, value: &str, cx: &ChromeCx<'_>) -> Segment {
    let line = Line::from(vec![
        Span::styled(format!("{label} "), cx.theme.style(Role::StatusBarLabel)),
        Span::styled(value.to_owned(), cx.theme.style(Role::StatusBarValue)),
    ]);
    Segment { rank, line }
}

/// Hours, minutes and seconds.
fn clock(elapsed: Duration) -> String {
    let secs = elapsed.as_secs();
    format!("{:02}:{:02}:{:02}", secs / 3600, secs / 60 % 60, secs % 60)
}

/// The panes with counts; where there is little room, those at the end show none.
const COUNTED: [PaneId; 5] = [PaneId::Queues, PaneId::Waiting, PaneId::Matrix, PaneId::Nodes, PaneId::Cycle];

/// How much of the panes' names the tabs have room for.
#[derive(Clone, Copy)]
enum Names {
    Whole,
    Short,
    None,
}

/// Draws the tabs and returns where each of them is. `counts` are those of the panes, in their order.
pub fn tabs(
    area: Rect,
    buf: &mut Buffer,
    visible: &[PaneId],
    focus: PaneId,
    counts: &[String],
    cx: &ChromeCx<'_>,
) -> Vec<(PaneId, Rect)> {
    let all = PaneId::of(cx.view.live.is_some());
    let labels = |counted: &[PaneId], names: Names| -> Vec<String> {
        all.iter()
            .map(|id| {
                let name = match names {
                    _ if *id == focus => format!(" {}", id.as_str()),
                    Names::Whole => format!(" {}", id.as_str()),
                    Names::Short => format!(" {}", id.short_name()),
                    Names::None => String::new(),
                };
                let count = counts.get(id.index()).filter(|count| counted.contains(id) && !count.is_empty());
                let count = count.map(|count| format!(" {count}")).unwrap_or_default();
                format!("{}{name}{count}", id.label())
            })
            .collect()
    };
    let width =
        |labels: &[String], gap: usize| labels.iter().map(|label| text::width(label) + gap).sum::<usize>();
    let room = usize::from(area.width);
    let whole =
        (0..=COUNTED.len()).rev().map(|n| (labels(COUNTED.get(..n).unwrap_or_default(), Names::Whole), 2));
    let (labels, gap) = whole
        .chain([(labels(&[], Names::Short), 1)])
        .find(|(labels, gap)| width(labels, *gap) <= room)
        .unwrap_or_else(|| (labels(&[], Names::None), 2));
    let mut places = Vec::new();
    let mut x = area.x + 1;
    for (id, label) in all.iter().copied().zip(&labels) {
        let role = if id == focus {
            Role::TabFocused
        } else if visible.contains(&id) {
            Role::Title
        } else {
            Role::Tab
        };
        let end =
            text::put(buf, x, area.y, area.right().saturating_sub(x), label, cx.theme.style(role), cx.glyphs);
        places.push((id, Rect { x, y: area.y, width: end.saturating_sub(x), height: 1 }));
        x = end.saturating_add(gap as u16);
    }
    places
}

/// What the footer shows.
#[derive(Clone, Copy)]
pub struct Footer<'a> {
    /// The keys in force.
    pub keymap: &'a Keymap,
    /// Where they are looked up.
    pub contexts: &'a [Context],
    /// Keys of a chord that has begun.
    pub pending: &'a [Key],
    /// The last notice.
    pub notice: Option<(NoticeLevel, &'a str)>,
    /// What is under way and may be called off; it takes the place of the notice.
    pub work: Option<&'a WorkView>,
}

/// Draws the footer: hints at the left, the notice at the right.
pub fn footer(area: Rect, buf: &mut Buffer, footer: &Footer<'_>, cx: &ChromeCx<'_>) {
    let style = |role| cx.theme.style(role);
    buf.set_style(area, style(Role::Footer));
    let notice = footer.notice.map(|(level, sentence)| {
        let (glyph, role) = match level {
            NoticeLevel::Info => (cx.glyphs.success, Role::Info),
            NoticeLevel::Warning => (cx.glyphs.error, Role::Warning),
            NoticeLevel::Error => (cx.glyphs.failure, Role::Error),
        };
        let first_line = sentence.lines().next().unwrap_or_default();
        (format!("{glyph} {}", text::clean(first_line)), role)
    });
    let notice = footer.work.map(|work| (work_line(work, footer, cx), Role::Warning)).or(notice);
    let room = usize::from(area.width).saturating_sub(2);
    // A notice goes before the hints, of which the key for help stays.
    let help_room = 8.min(room / 3);
    let notice_width = notice.as_ref().map_or(0, |(line, _)| text::width(line).min(room - help_room));
    let mut hint_room = room.saturating_sub(if notice_width > 0 { notice_width + 2 } else { 0 });
    let mut x = area.x + 1;
    if !footer.pending.is_empty() {
        let pending = format!("{}{}", chord_to_string(footer.pending), cx.glyphs.ellipsis);
        x = text::put(buf, x, area.y, area.width, &pending, style(Role::Accent), cx.glyphs) + 2;
        hint_room = hint_room.saturating_sub(text::width(&pending) + 2);
    }
    for (key, label) in hints(footer.keymap, footer.contexts, hint_room) {
        x = text::put(buf, x, area.y, area.right().saturating_sub(x), &key, style(Role::Key), cx.glyphs) + 1;
        x = text::put(
            buf,
            x,
            area.y,
            area.right().saturating_sub(x),
            label,
            style(Role::KeyLabel),
            cx.glyphs,
        ) + 2;
    }
    if let Some((line, role)) = notice {
        let width = u16::try_from(notice_width).unwrap_or(0);
        let x = area.right().saturating_sub(width + 1);
        text::put(buf, x, area.y, width, &line, style(role), cx.glyphs);
    }
}

/// What is under way, how far it has come, and how it is called off.
fn work_line(work: &WorkView, footer: &Footer<'_>, cx: &ChromeCx<'_>) -> String {
    /// Cells of the bar.
    const CELLS: u8 = 10;
    let far = match work.percent() {
        Some(percent) => {
            let full = usize::from(percent / (100 / CELLS));
            let bar = cx.glyphs.bar_used.repeat(full) + &cx.glyphs.bar_free.repeat(usize::from(CELLS) - full);
            format!("{bar} {percent} %")
        }
        None if work.done > 0 => format!("{} steps", work.done),
        None => cx.glyphs.ellipsis.to_owned(),
    };
    let mut leaving = [Action::Back, Action::Close, Action::Cancel].into_iter();
    let key = leaving.find_map(|action| footer.keymap.key_for(action, footer.contexts));
    let stop = key.map(|key| format!("  {key} stops it")).unwrap_or_default();
    format!("{}  {far}{stop}", text::clean(&work.what))
}

/// The hints that fit into `room` columns: the most important ones, in the order of the table.
fn hints(keymap: &Keymap, contexts: &[Context], room: usize) -> Vec<(String, &'static str)> {
    let mut all: Vec<(usize, u8, String, &'static str)> = Vec::new();
    for (place, info) in Action::TABLE.iter().enumerate() {
        let Some(hint) = info.hint else { continue };
        if let Some(key) = keymap.key_for(info.action, contexts) {
            all.push((place, hint.rank, key, hint.label));
        }
    }
    all.sort_by_key(|(_, rank, _, _)| *rank);
    let mut used = 0;
    let mut shown = Vec::new();
    for hint in all {
        let needed = text::width(&hint.2) + 1 + text::width(hint.3);
        let gap = if shown.is_empty() { 0 } else { 2 };
        // The first that does not fit ends it, so that a less important one never takes its place.
        if used + gap + needed > room {
            break;
        }
        used += gap + needed;
        shown.push(hint);
    }
    shown.sort_by_key(|(place, ..)| *place);
    shown.into_iter().map(|(_, _, key, label)| (key, label)).collect()
}
