//! Command lines: what stands after the `:`.
//!
//! One table gives the parser, the palette's list and its completions. Parsing does nothing: it answers with a
//! [`Deed`], and the shell does it.

use std::time::Duration;

use crate::api::time::parse_human_duration;
use crate::api::{Kind, NamespacedName, Str};
use crate::driver::session::{Advance, BackTo, Edit, SessionCommand, SessionView, Speed};
use crate::explain::glossary;

use super::action::Action;
use super::known_commands as known;
use super::panes::Subject;
use super::suggest::nearest;
use super::theme::library::Themes;

mod advice;
mod branches;
mod debug;
mod edits;
mod lesson;
mod live;
mod moving;
mod open;
mod permit;
mod what_if;
mod why;
mod world;

pub use lesson::LessonDeed;
pub use moving::LayoutDeed;

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Shows a thing in the details.
    Open(Subject),
    /// The same as an action.
    Action(Action),
    /// Something for the session.
    Session(SessionCommand),
    /// Something for the session that takes something away: ask first.
    Confirm {
        /// The question, with the name of what it is about.
        question: String,
        /// What else there is to know, such as what undoes it.
        detail: String,
        /// What to do if the answer is yes.
        command: SessionCommand,
    },
    /// Asks whether the session shall write to its cluster.
    Arm {
        /// Whether it shall although somebody else serves the same names.
        anyway: bool,
    },
    /// Reads a file and gives it to the session.
    ApplyFile(String),
    /// Reads a configuration from a file and gives it to the session.
    ConfigFile(String),
    /// Changes the theme.
    Theme(String),
    /// Changes the layout, or keeps it.
    Layout(LayoutDeed),
    /// Does something with a lesson.
    Lesson(LessonDeed),
    /// Says what a word means; of the selected thing, if none is named.
    Explain(Option<String>),
    /// Shows the workloads of a cluster that lives.
    Workloads,
}

/// What a command line may leave out because it is selected, and what its names can be.
#[derive(Clone, Copy)]
pub struct CommandCx<'a> {
    /// The newest view.
    pub view: &'a SessionView,
    /// What is selected.
    pub selected: Option<&'a Subject>,
    /// The themes that can be chosen.
    pub themes: &'a Themes,
}

/// What kind of word comes next, for completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Pod,
    Node,
    Kind,
    Theme,
    Speed,
    Taint,
    Label,
    Back,
    Duration,
    Branch,
    PodSetting,
    NodeSetting,
    Wanted,
    Layout,
    Term,
    Waiting,
    Plugin,
    Workload,
}

impl Word {
    /// Whether what is offered shows a form that a person fills in.
    const fn is_form(self) -> bool {
        matches!(self, Self::Taint | Self::Label | Self::PodSetting | Self::NodeSetting | Self::Workload)
    }
}

/// A command.
#[derive(Debug)]
pub struct CommandInfo {
    /// Its name.
    pub name: &'static str,
    /// Its arguments as a person reads them; those in brackets may be left out.
    pub arguments: &'static str,
    /// What it does.
    pub description: &'static str,
    words: &'static [Word],
    parse: fn(&[&str], &CommandCx<'_>) -> Result<Deed, String>,
}

impl CommandInfo {
    /// Whether it cannot be done without arguments.
    pub fn needs_arguments(&self) -> bool {
        !self.arguments.is_empty() && !self.arguments.starts_with('[')
    }
}

/// Every command.
pub const COMMANDS: &[CommandInfo] = &[
    command("step", "", "Do the next phase of the attempt", &[], |_, _| session(SessionCommand::StepPhase)),
    command("cycle", "", "Do the rest of this attempt, or a whole one", &[], |_, _| {
        session(SessionCommand::StepCycle)
    }),
    command(
        "back",
        "[phase|cycle|start|DURATION]",
        "Go back, or to that time after the start",
        &[Word::Back],
        back,
    ),
    command("end", "", "Go on to the last moment that is known", &[], |_, _| session(SessionCommand::ToEnd)),
    command(
        "changed",
        "[pod NS/NAME | node NAME]",
        "Go back to the last change of a pod or a node",
        &[Word::Kind],
        changed,
    ),
    command(
        "branch",
        "[N]",
        "Go to the end of a branch, 0 is the first; without N begin one here",
        &[Word::Branch],
        branches::branch,
    ),
    command("goto", "DURATION|N%|MARKER", "Go to a time after the start, or to a marker", &[], known::goto),
    command(
        "next",
        "marker|failure|preemption|pod [NS/NAME]",
        "Go to the next such moment",
        &[Word::Wanted],
        known::next,
    ),
    command(
        "previous",
        "marker|failure|preemption|pod [NS/NAME]",
        "Go to the last such moment before",
        &[Word::Wanted],
        known::previous,
    ),
    command("search", "[TEXT]", "Go to the next moment with this text", &[], known::search),
    command("leave", "", "Leave the recording: go on from here as a sandbox", &[], |_, _| {
        session(SessionCommand::Leave)
    }),
    command("mark", "NAME", "Mark this moment", &[], known::mark),
    command("note", "TEXT", "Say something about this moment", &[], known::note),
    command("record", "[FILE|stop]", "Record the session from its start on", &[], known::record),
    command("take", "", "Take the controls of a session that several people look at", &[], known::take),
    command("release", "", "Give the controls back", &[], known::release),
    command("save-last", "[FILE]", "Save what happened as a recording", &[], known::save_last),
    command(
        "break",
        "[once | after N] [CONDITION]",
        "Stop where a condition is true, such as node == a-1 && code == Unschedulable",
        &[],
        debug::set_break,
    ),
    command("watch", "VALUE|CONDITION", "Show a value as it changes, such as chosen", &[], debug::watch),
    command("unbreak", "N|all", "Delete a breakpoint or a watch", &[], debug::delete),
    command("enable", "N", "Let a breakpoint stop again", &[], debug::enable),
    command("disable", "N", "Let a breakpoint stop no more", &[], debug::disable),
    command("run-to", "CONDITION", "Go on until a condition is true", &[], debug::run_to),
    command(
        "run-back-to",
        "CONDITION",
        "Go back to where a condition was true last",
        &[],
        debug::run_back_to,
    ),
    command(
        "compare",
        "[A B]",
        "Put two branches side by side: which pods go other ways, and by which plugin",
        &[],
        branches::compare,
    ),
    command(
        "whatif",
        "drain [NODE] | scale KIND/NAME N | config FILE | ...",
        "Show what would be if the cluster changed, beside what is",
        &[],
        what_if::what_if,
    ),
    command("weight", "PLUGIN N", "Give a Score plugin another weight", &[], branches::weight),
    command("config", "FILE", "Start the scheduler again under another configuration", &[], branches::config),
    command("outcome", "", "Go on until a pod is bound or rejected", &[], |_, _| {
        session(SessionCommand::RunToOutcome)
    }),
    command("run", "", "Run freely", &[], |_, _| session(SessionCommand::Run)),
    command("pause", "", "Stop running", &[], |_, _| session(SessionCommand::Pause)),
    command("speed", "N|max", "Run at N times wall-clock speed", &[Word::Speed], speed),
    command(
        "advance",
        "[DURATION]",
        "Move simulated time, or go to the next timeout",
        &[Word::Duration],
        advance,
    ),
    command(
        "add-pod",
        "[FILE | NAME cpu=.. memory=.. priority=.. count=..]",
        "Add a pod",
        &[],
        edits::add_pod,
    ),
    command("add-node", "NAME cpu=.. memory=.. zone=..", "Add a node", &[], edits::add_node),
    command("apply", "FILE", "Add the objects of a manifest", &[], edits::apply),
    command(
        "delete",
        "[pod NS/NAME | node NAME | KIND NS/NAME]",
        "Delete a pod, a node or another object, after asking once",
        &[Word::Kind],
        edits::delete,
    ),
    command("cordon", "[NODE]", "Let no new pods onto a node", &[Word::Node], |arguments, cx| {
        session(SessionCommand::Edit(Edit::Cordon(only_node(arguments, cx)?)))
    }),
    command("uncordon", "[NODE]", "Let new pods onto a node again", &[Word::Node], |arguments, cx| {
        session(SessionCommand::Edit(Edit::Uncordon(only_node(arguments, cx)?)))
    }),
    command(
        "taint",
        "NODE KEY=VALUE:EFFECT",
        "Taint a node; KEY:EFFECT- takes a taint away",
        &[Word::Node, Word::Taint],
        |arguments, cx| {
            let (node, taint) = node_and_word(arguments, cx, "KEY=VALUE:EFFECT")?;
            session(SessionCommand::Edit(Edit::Taint { node, taint }))
        },
    ),
    command(
        "label",
        "NODE KEY=VALUE",
        "Label a node; KEY- takes a label away",
        &[Word::Node, Word::Label],
        |arguments, cx| {
            let (node, label) = node_and_word(arguments, cx, "KEY=VALUE")?;
            session(SessionCommand::Edit(Edit::Label { node, label }))
        },
    ),
    command("world", "[on|off | PART on|off]", "Show or switch what lives in the cluster", &[], world::world),
    command("workloads", "", "Show the workloads, and what has become of them", &[], world::workloads),
    command("scale", "KIND NAME N", "Scale a workload", &[Word::Workload], world::scale),
    command("rollout", "restart KIND NAME", "Make all pods of a workload anew", &[], world::rollout),
    command("drain", "[NODE] [--force]", "Cordon a node and evict its pods", &[Word::Node], world::drain),
    command("node-down", "[NODE]", "Cut a node off", &[Word::Node], world::node_down),
    command("node-up", "[NODE]", "Bring a node back that was cut off", &[Word::Node], world::node_up),
    command(
        "fix",
        "[POD [NODE]]",
        "Find what would let a pod run, or get it onto a node, each proven in a copy",
        &[Word::Pod, Word::Node],
        advice::fix,
    ),
    command(
        "try-fix",
        "N",
        "Do one of the fixes that were found last, on a branch where there is something to leave",
        &[],
        advice::try_fix,
    ),
    command(
        "capacity",
        "[POD] [preempt]",
        "Count how many more pods like one fit, and what binds first",
        &[Word::Pod],
        advice::capacity,
    ),
    command(
        "why",
        "[POD [NODE]]",
        "Ask every plugin about a pod and each node, or one node: all refusals and points",
        &[Word::Pod, Word::Node],
        why::why,
    ),
    command(
        "plugin",
        "NAME",
        "Show what a plugin refuses now, and what wakes its pods",
        &[Word::Plugin],
        why::plugin,
    ),
    command(
        "open",
        "KIND [NS/]NAME",
        "Show all about an object: pod, node, pvc, pv, sc, pdb, podgroup, resourceclaim, profile, ...",
        &[Word::Kind],
        open::open,
    ),
    command("internals", "", "Show what the scheduler holds inside", &[], |_, _| {
        Ok(Deed::Open(Subject::Internals))
    }),
    command(
        "allow",
        "[POD]",
        "Let a pod go on that Permit plugins hold, after asking once",
        &[Word::Waiting],
        permit::allow,
    ),
    command(
        "reject",
        "[POD]",
        "Turn a pod down that Permit plugins hold, after asking once",
        &[Word::Waiting],
        permit::reject,
    ),
    command("arm", "[anyway]", "On a live cluster: write from now on, after a question", &[], live::arm),
    command("disarm", "", "On a live cluster: write nothing from now on", &[], live::disarm),
    command("confirm", "[on|off]", "On a live cluster: let each bind wait for a person", &[], live::confirm),
    command("theme", "NAME", "Change the theme", &[Word::Theme], |arguments, _| {
        let [name] = arguments else { return Err(usage("theme")) };
        Ok(Deed::Theme((*name).to_owned()))
    }),
    command(
        "layout",
        "operate|teach|debug|own|save",
        "Change which panes stand together, or keep it as your own",
        &[Word::Layout],
        moving::layout,
    ),
    command(
        "explain",
        "[WORD]",
        "Say what a plugin, a point, a code, a queue or a field is",
        &[Word::Term],
        moving::explain,
    ),
    command("answer", "[ANSWER]", "In a lesson: answer the question, or go on", &[], lesson::answer),
    command(
        "lesson",
        "[N|NAME|text|hint|tell|next|previous|again|list]",
        "In a lesson: read it, or go to another one",
        &[],
        lesson::lesson,
    ),
    command("help", "", "Show the keys of the focused pane", &[], |_, _| Ok(Deed::Action(Action::OpenHelp))),
    command("quit", "", "Quit", &[], |_, _| Ok(Deed::Action(Action::Quit))),
];

/// Short names.
const ALIASES: [(&str, &str); 9] = [
    ("q", "quit"),
    ("q!", "quit"),
    ("exit", "quit"),
    ("h", "help"),
    ("s", "step"),
    ("n", "cycle"),
    ("pods", "focus-queues"),
    ("po", "focus-queues"),
    ("no", "focus-nodes"),
];

/// Reads a command line.
pub fn parse(line: &str, cx: &CommandCx<'_>) -> Result<Deed, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some((name, arguments)) = words.split_first() else { return Err("nothing is typed".to_owned()) };
    let name = ALIASES.iter().find(|(alias, _)| alias == name).map_or(*name, |(_, full)| full);
    if let Some(info) = COMMANDS.iter().find(|info| info.name == name) {
        if info.arguments.is_empty() && !arguments.is_empty() {
            return Err(format!(":{name} takes no arguments"));
        }
        return (info.parse)(arguments, cx);
    }
    match Action::parse(name) {
        Some(action) if arguments.is_empty() => Ok(Deed::Action(action)),
        Some(_) => Err(format!(":{name} takes no arguments")),
        None => {
            let known =
                COMMANDS.iter().map(|info| info.name).chain(Action::TABLE.iter().map(|info| info.name));
            Err(format!("unknown command {name:?}{}", nearest(name, known)))
        }
    }
}

/// What can be typed next: whole lines with a word about each.
pub fn complete(line: &str, cx: &CommandCx<'_>) -> Vec<Candidate> {
    let line = line.trim_start();
    match line.split_once(char::is_whitespace) {
        None => complete_name(line),
        Some((name, rest)) => {
            let Some(info) = COMMANDS.iter().find(|info| info.name == name) else { return Vec::new() };
            complete_argument(info, rest.trim_start(), cx)
        }
    }
}

/// What the command or the action of that name does; empty if there is none.
pub(super) fn description_of(name: &str) -> &'static str {
    let command = COMMANDS.iter().find(|info| info.name == name).map(|info| info.description);
    let action = || Action::parse(name).map(|action| action.info().description);
    command.or_else(action).unwrap_or_default()
}

/// A line that can be typed next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The line.
    pub line: String,
    /// The arguments that it still needs, or may have.
    pub arguments: &'static str,
    /// What it does.
    pub description: String,
    /// The action that it is, so that its key can be shown.
    pub action: Option<Action>,
    /// Whether it is complete.
    pub is_complete: bool,
}

fn complete_name(typed: &str) -> Vec<Candidate> {
    let commands = COMMANDS.iter().map(|info| Candidate {
        line: info.name.to_owned(),
        arguments: info.arguments,
        description: info.description.to_owned(),
        action: same_action(info.name),
        is_complete: !info.needs_arguments(),
    });
    let actions = Action::TABLE
        .iter()
        .filter(|info| {
            works_from_the_palette(info.action) && COMMANDS.iter().all(|other| other.name != info.name)
        })
        .map(|info| Candidate {
            line: info.name.to_owned(),
            arguments: "",
            description: info.description.to_owned(),
            action: Some(info.action),
            is_complete: true,
        });
    let alias = ALIASES.iter().find(|(alias, _)| *alias == typed).map(|(_, full)| *full);
    let mut ranked: Vec<(u32, Candidate)> = commands
        .chain(actions)
        .filter_map(|candidate| {
            let rank =
                if alias == Some(candidate.line.as_str()) { Some(0) } else { rank(&candidate.line, typed) };
            Some((rank?, candidate))
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The action whose key does what a command without arguments does.
fn same_action(command: &str) -> Option<Action> {
    match command {
        "step" => Some(Action::StepPhase),
        "cycle" => Some(Action::StepCycle),
        "outcome" => Some(Action::RunToOutcome),
        "advance" => Some(Action::AdvanceToTimeout),
        "help" => Some(Action::OpenHelp),
        name => Action::parse(name),
    }
}

/// Whether an action does something when nothing is typed and no overlay is open.
fn works_from_the_palette(action: Action) -> bool {
    use super::action::Context;
    let inside = [Context::Overlay, Context::Confirm, Context::TextInput];
    !matches!(action, Action::OpenPalette | Action::OpenFinder)
        && action.info().contexts.iter().any(|context| !inside.contains(context))
}

fn complete_argument(info: &CommandInfo, rest: &str, cx: &CommandCx<'_>) -> Vec<Candidate> {
    let (done, typed) = match rest.rfind(char::is_whitespace) {
        Some(at) => (rest[..at].trim_end(), &rest[at + 1..]),
        None => ("", rest),
    };
    let n_done = done.split_whitespace().count();
    let kind = match (info.name, n_done, done) {
        ("delete" | "changed", 1, "pod") => Some(Word::Pod),
        ("delete" | "changed", 1, "node") => Some(Word::Node),
        ("delete" | "changed", 1.., _) => None,
        ("add-pod", 1.., _) => Some(Word::PodSetting),
        ("add-node", 1.., _) => Some(Word::NodeSetting),
        _ => info.words.get(n_done).copied(),
    };
    let Some(kind) = kind else { return Vec::new() };
    let prefix = if done.is_empty() { info.name.to_owned() } else { format!("{} {done}", info.name) };
    let mut ranked: Vec<(u32, String)> = words(info.name, kind, cx)
        .into_iter()
        // A setting is given once.
        .filter(|word| !word.ends_with('=') || !done.split_whitespace().any(|given| given.starts_with(word)))
        .filter_map(|word| Some((rank(&word, typed)?, word)))
        .take(2_000)
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let is_last =
        n_done + 1 >= info.words.len().max(if matches!(info.name, "delete" | "changed") { 2 } else { 1 });
    ranked
        .into_iter()
        .map(|(_, word)| Candidate {
            line: format!("{prefix} {word}"),
            arguments: "",
            description: String::new(),
            action: None,
            is_complete: is_last && !kind.is_form(),
        })
        .collect()
}

fn words(command: &str, kind: Word, cx: &CommandCx<'_>) -> Vec<String> {
    let plain = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match kind {
        Word::Kind => {
            let others = Kind::ALL.iter().filter(|kind| !matches!(kind, Kind::Pod | Kind::Node));
            let others = others
                .filter(|_| matches!(command, "delete" | "open"))
                .map(|kind| kind.as_str().to_lowercase());
            ["pod", "node"].map(str::to_owned).into_iter().chain(others).collect()
        }
        Word::Duration => plain(&["1s", "10s", "1m", "5m", "1h"]),
        Word::Branch => (0..cx.view.moment.n_branches).map(|branch| branch.to_string()).collect(),
        Word::Label => plain(&["key=value", "key-"]),
        Word::PodSetting => {
            plain(&["cpu=", "memory=", "priority=", "count=", "image=", "label:app=", "select:disk="])
        }
        Word::NodeSetting => plain(&["cpu=", "memory=", "zone=", "pods="]),
        Word::Wanted => plain(&["marker", "failure", "preemption", "pod"]),
        Word::Layout => plain(&["operate", "teach", "debug", "own", "save"]),
        Word::Term => glossary::entries_of(&cx.view.scheduler).map(|entry| entry.word.to_owned()).collect(),
        Word::Back => plain(&["phase", "cycle", "start"]),
        Word::Theme => cx.themes.names().map(str::to_owned).collect(),
        Word::Speed => plain(&["1", "2", "10", "60", "600", "max"]),
        Word::Taint => plain(&["key=value:NoSchedule", "key=value:PreferNoSchedule", "key=value:NoExecute"]),
        Word::Node => cx.view.scheduler.nodes.iter().map(|node| node.name().to_string()).collect(),
        Word::Plugin => why::plugins(cx),
        Word::Workload => world::names(cx),
        Word::Waiting => cx.view.scheduler.waiting.iter().map(|row| row.pod.key().to_string()).collect(),
        Word::Pod => pods(cx.view).map(|pod| pod.to_string()).collect(),
    }
}

/// Every pod that the view names.
pub(super) fn pods(view: &SessionView) -> impl Iterator<Item = NamespacedName> + '_ {
    let view = &view.scheduler;
    let queued = view.active_q.iter().chain(&view.backoff_q).chain(&view.unschedulable_pods);
    queued
        .map(|row| row.pod.key())
        .chain(view.waiting.iter().map(|row| row.pod.key()))
        .chain(view.nodes.iter().flat_map(|node| node.pods().iter().map(|pod| pod.pod.key())))
}

/// A name of the form `pod-N` that no pod of the view has.
pub fn free_pod_name(view: &SessionView) -> String {
    let highest = pods(view)
        .filter_map(|pod| pod.name.strip_prefix("pod-").and_then(|digits| digits.parse::<u32>().ok()))
        .max()
        .unwrap_or(0);
    format!("pod-{}", highest.saturating_add(1))
}

/// The rank of a name that has the typed letters, but others between them.
const LETTERS_IN_ORDER: u32 = 3;

/// How well `typed` matches a name; lower is better, `None` is not at all. A prefix is best, then a part, then
/// the letters in order.
pub fn rank(name: &str, typed: &str) -> Option<u32> {
    if typed.is_empty() {
        return Some(1);
    }
    let (name, typed) = (name.to_lowercase(), typed.to_lowercase());
    if name == typed {
        return Some(0);
    }
    if let Some(at) = name.find(&typed) {
        return Some(if at == 0 { 1 } else { 2 });
    }
    let mut rest = name.chars();
    typed.chars().all(|c| rest.any(|other| other == c)).then_some(LETTERS_IN_ORDER)
}

/// Whether a name that was typed up to here and sent off can be meant for a candidate that nobody moved to. One that only
/// has its letters in the same order may do something else than was wanted.
pub fn can_mean(candidate: &Candidate, typed: &str) -> bool {
    let is_alias = ALIASES.iter().any(|(alias, full)| *alias == typed && *full == candidate.line);
    is_alias || rank(&candidate.line, typed).is_some_and(|rank| rank < LETTERS_IN_ORDER)
}

const fn command(
    name: &'static str,
    arguments: &'static str,
    description: &'static str,
    words: &'static [Word],
    parse: fn(&[&str], &CommandCx<'_>) -> Result<Deed, String>,
) -> CommandInfo {
    CommandInfo { name, arguments, description, words, parse }
}

fn session(command: SessionCommand) -> Result<Deed, String> {
    Ok(Deed::Session(command))
}

fn usage(name: &str) -> String {
    let arguments = COMMANDS.iter().find(|info| info.name == name).map_or("", |info| info.arguments);
    format!("write :{name} {arguments}")
}

fn back(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    session(match arguments {
        [] | ["phase"] => SessionCommand::Back(BackTo::Phase),
        ["cycle"] => SessionCommand::Back(BackTo::Cycle),
        ["start"] => SessionCommand::Back(BackTo::Start),
        [word] => SessionCommand::ToElapsed(parse_duration(word)?),
        _ => return Err(usage("back")),
    })
}

fn changed(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Deed, String> {
    let (kind, key) = match arguments {
        [] => match cx.selected.map(|subject| (subject.pod(), subject.node())) {
            Some((Some(pod), _)) => (Kind::Pod, pod.clone()),
            Some((None, Some(node))) => (Kind::Node, NamespacedName::cluster(node.clone())),
            Some((None, None)) | None => {
                return Err("neither a pod nor a node is selected: name one".to_owned());
            }
        },
        ["pod" | "po" | "pods", name] => (Kind::Pod, find_pod(name, cx)),
        ["node" | "no" | "nodes", name] => (Kind::Node, NamespacedName::cluster(*name)),
        _ => return Err(usage("changed")),
    };
    session(SessionCommand::Back(BackTo::Change(kind, key)))
}

fn speed(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    let [word] = arguments else { return Err(usage("speed")) };
    let speed = match word.trim_start_matches(['x', '×']) {
        "max" => Speed::Max,
        number => match number.parse() {
            Ok(times) if times > 0 => Speed::Times(times),
            _ => return Err(format!("{word:?} is not a speed: a number from 1 on, or max")),
        },
    };
    session(SessionCommand::SetSpeed(speed))
}

fn advance(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    match arguments {
        [] => session(SessionCommand::Advance(Advance::ToNextTimeout)),
        [word] => session(SessionCommand::Advance(Advance::By(parse_duration(word)?))),
        _ => Err(usage("advance")),
    }
}

/// Reads a duration such as `10s`, `1m30s`, `500ms`, `2h`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let is_whole = !text.contains('.');
    let duration = is_whole.then(|| parse_human_duration(text)).flatten();
    duration.ok_or_else(|| format!("{text:?} is not a duration like 10s, 1m30s or 500ms"))
}

fn pod_name(text: &str) -> NamespacedName {
    match text.split_once('/') {
        Some((namespace, name)) => NamespacedName::new(namespace, name),
        None => NamespacedName::new("default", text),
    }
}

/// The pod of that name; without a namespace it is looked for in all, and taken from `default` unless exactly one
/// is found.
fn find_pod(text: &str, cx: &CommandCx<'_>) -> NamespacedName {
    if text.contains('/') {
        return pod_name(text);
    }
    let mut found = pods(cx.view).filter(|pod| *pod.name == *text);
    match (found.next(), found.next()) {
        (Some(pod), None) => pod,
        _ => pod_name(text),
    }
}

fn only_node(arguments: &[&str], cx: &CommandCx<'_>) -> Result<Str, String> {
    match arguments {
        [] => selected_node(cx),
        ["node", name] | [name] => Ok(Str::from(*name)),
        _ => Err("one node at a time".to_owned()),
    }
}

fn node_and_word(arguments: &[&str], cx: &CommandCx<'_>, form: &str) -> Result<(Str, String), String> {
    match arguments {
        [word] => Ok((selected_node(cx)?, (*word).to_owned())),
        ["node", node, word] | [node, word] => Ok((Str::from(*node), (*word).to_owned())),
        _ => Err(format!("name the node, then {form}")),
    }
}

fn selected_node(cx: &CommandCx<'_>) -> Result<Str, String> {
    cx.selected.and_then(Subject::node).cloned().ok_or_else(|| "no node is selected: name it".to_owned())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a command that cannot be read is a failure of the test")]
mod tests;
