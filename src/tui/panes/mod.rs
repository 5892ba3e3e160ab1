//! What every pane is, and what it is told.
//!
//! A pane owns what belongs to the screen alone: selection (by key, so that it survives changes of the data),
//! scroll, folds, mode. It reads everything else from [`Cx`], draws into a buffer, and asks for deeds through
//! [`Request`]s; it never does them. The shell draws frame and title around it and hands it the inside.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::text::Line;

use crate::api::{Kind, NamespacedName, Str};
use crate::driver::inspect::Inspect;
use crate::driver::session::{NoticeLevel, SessionCommand, SessionView};
use crate::scheduler::trace::Phase;
use crate::scheduler::view::ObjectEvent;

use super::action::{Action, Context};
use super::changes::Changes;
use super::keymap::Keymap;
use super::log_lines::LogLines;
use super::theme::Theme;
use super::widgets::glyphs::Glyphs;

pub mod agreement;
pub mod cycle;
pub mod details;
pub mod find;
pub mod informers;
pub mod log;
pub mod matrix;
pub mod names;
pub mod nodes;
pub mod placeholder;
pub mod predicted;
pub mod queues;
pub mod set;
pub mod timeline;
pub mod waiting;

/// The panes, in the order of their numbers and of the tab key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PaneId {
    /// The three queues.
    Queues,
    /// The attempt as a tree.
    Cycle,
    /// Nodes against plugins.
    Matrix,
    /// Waiting pods and binding cycles.
    Waiting,
    /// Nodes with what is taken of them.
    Nodes,
    /// The selected thing.
    Details,
    /// Events, moves and log lines.
    Log,
    /// What happened when, and what is marked.
    Timeline,
    /// On a live cluster: predictions beside decisions, and what was done.
    Agreement,
    /// On a live cluster: the kinds of objects and how their watches stand.
    Informers,
}

impl PaneId {
    /// All panes in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Queues,
        Self::Cycle,
        Self::Matrix,
        Self::Waiting,
        Self::Nodes,
        Self::Details,
        Self::Log,
        Self::Timeline,
        Self::Agreement,
        Self::Informers,
    ];

    /// How many there are.
    pub const COUNT: usize = 10;

    /// Those that a session has: the last two are about a live cluster.
    pub fn of(is_live: bool) -> &'static [Self] {
        let (both, _) = Self::ALL.split_at(Self::COUNT - 2);
        if is_live { &Self::ALL } else { both }
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queues => "queues",
            Self::Cycle => "cycle",
            Self::Matrix => "matrix",
            Self::Waiting => "waiting",
            Self::Nodes => "nodes",
            Self::Details => "details",
            Self::Log => "log",
            Self::Timeline => "timeline",
            Self::Agreement => "agree",
            Self::Informers => "kinds",
        }
    }

    /// The question that it answers, for the help.
    pub const fn question(self) -> &'static str {
        match self {
            Self::Queues => "What is tried next, what waits, and for what?",
            Self::Cycle => "What is happening in this attempt, and what comes next?",
            Self::Matrix => "Which node fails where? Which one wins, and by how much?",
            Self::Waiting => "Who is held in Permit or on the way to a node, by whom, and until when?",
            Self::Nodes => "Who is on which node, what is free there, and what does it refuse?",
            Self::Details => "What is there to know about the selected thing?",
            Self::Log => "What happened, and what did the program itself do?",
            Self::Timeline => "What happened when, what is marked, and where in all that is this moment?",
            Self::Agreement => {
                "Would this scheduler decide as the cluster's does, and what has it done itself?"
            }
            Self::Informers => {
                "What is known of the cluster, how old is that, and which permission is missing?"
            }
        }
    }

    /// Its place in [`PaneId::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name where there is little room for many.
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::Queues => "queue",
            Self::Waiting => "wait",
            Self::Details => "info",
            Self::Timeline => "time",
            other => other.as_str(),
        }
    }

    /// The key that goes to it by default.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Queues => "1",
            Self::Cycle => "2",
            Self::Matrix => "3",
            Self::Waiting => "4",
            Self::Nodes => "5",
            Self::Details => "6",
            Self::Log => "7",
            Self::Timeline => "8",
            Self::Agreement => "9",
            Self::Informers => "K",
        }
    }
}

/// Whether a cell of the matrix is a verdict or a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// What a Filter plugin said about a node.
    Filter,
    /// What a Score plugin gave a node.
    Score,
}

/// Something that can be selected and looked at. It is a key, not the thing: the thing may be gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A pod.
    Pod(NamespacedName),
    /// A node.
    Node(Str),
    /// A cell of the matrix of the current attempt.
    Cell {
        /// The row.
        node: Str,
        /// The column.
        plugin: Str,
        /// Which matrix.
        kind: CellKind,
    },
    /// A plugin at an extension point of the current attempt.
    Plugin {
        /// The plugin.
        plugin: Str,
        /// The extension point.
        phase: Phase,
    },
    /// A phase of the current attempt.
    Phase(Phase),
    /// A past attempt.
    Attempt(u64),
    /// A Kubernetes Event.
    Event(Box<ObjectEvent>),
    /// What every plugin says of a pod and each node, or one node.
    Reading(NamespacedName, Option<Str>),
    /// What the scheduler holds inside.
    Internals,
    /// An object of another kind, such as a claim.
    Object(Kind, NamespacedName),
    /// A profile with its plugins.
    Profile(Str),
}

impl Subject {
    /// The pod that deeds on the subject are about.
    pub fn pod(&self) -> Option<&NamespacedName> {
        match self {
            Self::Pod(pod) | Self::Reading(pod, _) => Some(pod),
            Self::Event(event) => Some(&event.regarding),
            Self::Node(_)
            | Self::Cell { .. }
            | Self::Plugin { .. }
            | Self::Phase(_)
            | Self::Attempt(_)
            | Self::Object(..)
            | Self::Profile(_)
            | Self::Internals => None,
        }
    }

    /// The node that deeds on the subject are about.
    pub fn node(&self) -> Option<&Str> {
        match self {
            Self::Node(node) | Self::Cell { node, .. } | Self::Reading(_, Some(node)) => Some(node),
            Self::Pod(_)
            | Self::Reading(_, None)
            | Self::Plugin { .. }
            | Self::Phase(_)
            | Self::Attempt(_)
            | Self::Internals
            | Self::Object(..)
            | Self::Profile(_)
            | Self::Event(_) => None,
        }
    }

    /// What the session has to be asked for before the subject can be shown.
    pub fn inspect(&self) -> Option<Inspect> {
        match self {
            Self::Reading(pod, None) => Some(Inspect::Pod(pod.clone())),
            Self::Reading(pod, Some(node)) => Some(Inspect::Pair(pod.clone(), node.clone())),
            Self::Internals | Self::Profile(_) => Some(Inspect::Internals),
            Self::Object(kind, key) => Some(Inspect::Object(*kind, key.clone())),
            _ => None,
        }
    }
}

/// What a pane wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Something for the session.
    Session(SessionCommand),
    /// Another pane gets the focus.
    Focus(PaneId),
    /// The subject becomes the selected one of the whole console; other panes may follow.
    Select(Subject),
    /// The subject becomes the selected one and the details pane gets the focus.
    OpenDetails(Subject),
    /// A sentence for the footer.
    Notice(NoticeLevel, String),
    /// A text for the clipboard.
    Copy(String),
    /// A command line.
    Command(String),
    /// An action of the shell, such as [`Action::StartFilter`].
    Action(Action),
}

/// What came of an action or a click.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The pane has no use for it; the shell may have.
    Ignored,
    /// The pane took it and must be drawn again.
    Changed,
    /// The pane took it, must be drawn again, and wants something done.
    Request(Request),
}

/// What a pane is told whenever it is asked.
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    /// The session's newest view.
    pub view: &'a SessionView,
    /// Styles by role.
    pub theme: &'a Theme,
    /// Signs that the terminal can show.
    pub glyphs: &'a Glyphs,
    /// Whether this pane has the focus.
    pub focused: bool,
    /// What the last step changed. Ask [`Cx::is_pod_lit`] and its sisters.
    pub changed: &'a Changes,
    /// Time since the console began, on the console's own clock.
    pub now: Duration,
    /// What is selected in the whole console.
    pub selected: Option<&'a Subject>,
    /// What the program itself logged.
    pub log: &'a LogLines,
    /// The panes that are on the screen.
    pub shown: &'a [PaneId],
    /// The keys in force, for panes that say what to press.
    pub keymap: &'a Keymap,
}

impl Cx<'_> {
    /// The key that does an action that is not a pane's own; its name where it has none.
    pub fn key(&self, action: Action) -> String {
        let key = self.keymap.key_for(action, &[Context::Stepper, Context::Global]);
        key.unwrap_or_else(|| format!(":{action}"))
    }

    /// Whether the last step changed the pod, a moment ago.
    pub fn is_pod_lit(&self, pod: &NamespacedName) -> bool {
        self.changed.is_lit(self.now) && self.changed.pods.contains(pod)
    }

    /// Whether the last step changed the node, a moment ago.
    pub fn is_node_lit(&self, node: &str) -> bool {
        self.changed.is_lit(self.now) && self.changed.nodes.contains(node)
    }

    /// Whether the last step did the phase, a moment ago.
    pub fn is_phase_lit(&self, phase: Phase) -> bool {
        self.changed.is_lit(self.now) && self.changed.phases.contains(&phase)
    }
}

/// A part of the screen.
pub trait Pane {
    /// Which one it is.
    fn id(&self) -> PaneId;

    /// What stands in its frame: name, counts, and what it is about. It begins with the name or with what stands
    /// for it; the shell adds blanks, number and filter. Asked for after [`Pane::render`], so that what it counts is
    /// what was drawn.
    fn title(&self, cx: &Cx<'_>) -> Line<'static>;

    /// The counts for its tab, such as `4·2·5`; empty if it has none.
    fn tab_counts(&self, cx: &Cx<'_>) -> String {
        let _ = cx;
        String::new()
    }

    /// The contexts in which its keys are looked up, the most special first. Global ones are added by the shell.
    fn contexts(&self) -> &'static [Context];

    /// The smallest inside in which it makes sense.
    fn min_size(&self) -> Size {
        Size::new(20, 3)
    }

    /// Does an action, or leaves it to the shell.
    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome;

    /// Draws the inside. `area` may have any size, none included, and lies within `buf`.
    fn render(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>);

    /// A click of the mouse at `position`, which lies in the area last drawn.
    fn hit(&mut self, position: Position, cx: &Cx<'_>) -> Outcome;

    /// Shows only what matches the text (no matter the case), or everything again.
    fn set_filter(&mut self, filter: Option<&str>);

    /// Selects the subject if it has a row for it. False if it has none.
    fn reveal(&mut self, subject: &Subject, cx: &Cx<'_>) -> bool {
        let _ = (subject, cx);
        false
    }

    /// What is selected in it; absent in a pane that follows the selection of others.
    fn selected(&self, cx: &Cx<'_>) -> Option<Subject>;
}
