//! Everything that a key or a command can do, in one table.
//!
//! Dispatch, the keymap's parser, the footer, the help overlay, the command palette and the key table of the
//! README are all made from it. What an action does is not here: panes and the shell decide that.

use std::fmt;

/// Where a key can be bound. The contexts of what has the focus are looked through first, then
/// [`Stepper`](Self::Stepper), then [`Global`](Self::Global).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// Everywhere, unless text is typed or an overlay is open.
    Global,
    /// Steering the session; everywhere where `Global` is.
    Stepper,
    /// Anything with rows.
    List,
    /// The queues pane.
    Queues,
    /// The cycle pane.
    Cycle,
    /// The matrix pane.
    Matrix,
    /// The waiting pane.
    Waiting,
    /// The nodes pane.
    Nodes,
    /// The details pane.
    Details,
    /// The log pane.
    Log,
    /// The timeline pane.
    Timeline,
    /// The pane of agreement and deeds.
    Agreement,
    /// A question about binds that wait.
    Ask,
    /// Overlays.
    Overlay,
    /// An overlay that asks whether something shall be done.
    Confirm,
    /// Where text is typed: keys without a binding go into the text.
    TextInput,
}

impl Context {
    /// Every context.
    pub const ALL: [Self; 16] = [
        Self::Global,
        Self::Stepper,
        Self::List,
        Self::Queues,
        Self::Cycle,
        Self::Matrix,
        Self::Waiting,
        Self::Nodes,
        Self::Details,
        Self::Log,
        Self::Timeline,
        Self::Agreement,
        Self::Ask,
        Self::Overlay,
        Self::Confirm,
        Self::TextInput,
    ];

    /// The name of its table in a keymap file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Stepper => "stepper",
            Self::List => "list",
            Self::Queues => "queues",
            Self::Cycle => "cycle",
            Self::Matrix => "matrix",
            Self::Waiting => "waiting",
            Self::Nodes => "nodes",
            Self::Details => "details",
            Self::Log => "log",
            Self::Timeline => "timeline",
            Self::Agreement => "agreement",
            Self::Ask => "ask",
            Self::Overlay => "overlay",
            Self::Confirm => "confirm",
            Self::TextInput => "text-input",
        }
    }

    /// The context of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|context| context.as_str() == name)
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A short word for the footer. Hints stand in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Where there is no room for all, those with the highest rank are left out first.
    pub rank: u8,
    /// One word.
    pub label: &'static str,
}

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionInfo {
    /// The action.
    pub action: Action,
    /// Its name in keymap files and in the palette.
    pub name: &'static str,
    /// Where it can be bound.
    pub contexts: &'static [Context],
    /// Its word in the footer, if it has one.
    pub hint: Option<Hint>,
    /// Whether it has no key by default and is reached through the palette.
    pub is_palette_only: bool,
    /// What it does, as an order and without a full stop.
    pub description: &'static str,
}

macro_rules! actions {
    ($(
        $variant:ident $name:literal [$($context:ident)+]
        $(hint $rank:literal $label:literal)? $(palette $palette:literal)? $description:literal;
    )+) => {
        /// What a key or a command can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Action {
            $(#[doc = $description] $variant,)+
        }

        impl Action {
            /// The table.
            pub const TABLE: &'static [ActionInfo] = &[$(ActionInfo {
                action: Self::$variant,
                name: $name,
                contexts: &[$(Context::$context),+],
                hint: actions!(@hint $($rank $label)?),
                is_palette_only: actions!(@palette $($palette)?),
                description: $description,
            },)+];
        }
    };
    (@hint) => { None };
    (@hint $rank:literal $label:literal) => { Some(Hint { rank: $rank, label: $label }) };
    (@palette) => { false };
    (@palette $palette:literal) => { $palette };
}

actions! {
    StepCycle "step-cycle" [Stepper] hint 2 "cycle" "Do the rest of this attempt, or a whole one";
    StepPhase "step-phase" [Stepper] hint 3 "phase" "Do the next phase of the attempt";
    StepPlacement "step-placement" [Stepper] palette true "Do the next placement of a pod group's trial, or the next phase";
    BackPhase "back-phase" [Stepper] hint 8 "back" "Go back to before the last phase";
    BackCycle "back-cycle" [Stepper] "Go back to before the attempt that is under way or was made last";
    BackToChange "back-to-change" [Stepper] "Go back to the last change of the selected pod or node: who put it here?";
    BackToStart "back-to-start" [Stepper] "Go back to the beginning of what is known";
    BreakHere "break-here" [Stepper] "Set a breakpoint on the selected pod, node, plugin or cell";
    Branches "branches" [Stepper] palette true "Show the branches: where each left another, by what, and what came of it";
    Fork "fork" [Stepper] "Begin a branch of this moment: of a live cluster, a paused sandbox beside it";
    Breaks "breaks" [Stepper] "Show the breakpoints and watches, with how often each was hit";
    GoToEnd "go-to-end" [Stepper] "Go on to the last moment that is known";
    RunToOutcome "run-to-outcome" [Stepper] hint 16 "outcome" "Go on until a pod is bound or rejected";
    Run "run" [Stepper] "Run freely";
    Pause "pause" [Stepper] "Stop running";
    ToggleRun "toggle-run" [Stepper] hint 4 "run" "Run, or stop running";
    Faster "faster" [Stepper] "Run faster";
    Slower "slower" [Stepper] "Run slower";
    AdvanceToTimeout "advance-to-timeout" [Stepper] hint 9 "timeout" "Move simulated time to the next thing that happens by itself";
    AdvanceBy "advance-by" [Stepper] "Move simulated time by a duration that you type";
    NextMarker "next-marker" [Stepper] "Go to the next marker or note";
    PreviousMarker "previous-marker" [Stepper] "Go to the marker or note before";
    NextFailure "next-failure" [Stepper] "Go to the next attempt that failed";
    PreviousFailure "previous-failure" [Stepper] "Go to the attempt before that failed";
    NextPreemption "next-preemption" [Stepper] "Go to the next preemption";
    PreviousPreemption "previous-preemption" [Stepper] "Go to the preemption before";
    NextCycleOfPod "next-cycle-of-pod" [Stepper] "Go to the next attempt of the selected pod";
    PreviousCycleOfPod "previous-cycle-of-pod" [Stepper] "Go to the attempt of the selected pod before";
    Search "search" [Stepper] "Search what is known for a pod, a node, a plugin or a message";
    SearchNext "search-next" [Stepper] "Go to the next place of what was searched";
    SearchPrevious "search-previous" [Stepper] "Go to the place of what was searched before";
    AddMarker "add-marker" [Stepper] "Mark this moment with a name";
    ToggleRecording "toggle-recording" [Stepper] "Record the session from its start on, or stop recording";

    SelectNext "select-next" [List] "Select the next row";
    SelectPrevious "select-previous" [List] "Select the row before";
    SelectFirst "select-first" [List] "Select the first row";
    SelectLast "select-last" [List] "Select the last row";
    PageDown "page-down" [List] "Go a page down";
    PageUp "page-up" [List] "Go a page up";
    ScrollLeft "scroll-left" [List] "Scroll left";
    ScrollRight "scroll-right" [List] "Scroll right";
    Open "open" [List] hint 7 "open" "Go into the selected thing";
    NextSection "next-section" [List] "Go to the next section of the pane";
    PreviousSection "previous-section" [List] "Go to the section before";
    Fold "fold" [Cycle Matrix Nodes] "Fold the selected row, or go to the row that it belongs to";
    Unfold "unfold" [Cycle Matrix Nodes] "Unfold the selected row";
    ToggleFold "toggle-fold" [Cycle Matrix Nodes] hint 11 "fold" "Fold or unfold the selected row";
    FoldAll "fold-all" [Cycle Matrix Nodes] "Fold everything";
    UnfoldAll "unfold-all" [Cycle Matrix Nodes] "Unfold everything";
    NextMode "next-mode" [Matrix Nodes Details Log Timeline Agreement] hint 10 "mode" "Show the pane's next mode";
    PreviousMode "previous-mode" [Matrix Nodes Details Log Timeline Agreement] "Show the pane's mode before";
    NextSort "next-sort" [Matrix Nodes] "Put the rows in the next order";
    SortByColumn "sort-by-column" [Matrix] hint 17 "sort" "Put the rows in the order of the selected column, or turn that round";
    ReverseSort "reverse-sort" [Matrix] "Turn the order of the rows round";
    DecidingFirst "deciding-first" [Matrix] "Put the columns that decide first, or in the profile's order";
    NextLink "next-link" [Details] hint 12 "name" "Select the next name that can be gone to";
    PreviousLink "previous-link" [Details] "Select the name before that can be gone to";
    AllowWaiting "allow-waiting" [Waiting] hint 17 "allow" "Let the selected pod go on that Permit plugins hold, after asking once";
    RejectWaiting "reject-waiting" [Waiting] hint 18 "reject" "Turn the selected pod down that Permit plugins hold, after asking once";
    ToggleFollow "toggle-follow" [Log Details] hint 12 "follow" "Follow what is newest, or stay";

    AddPod "add-pod" [Global] hint 14 "add" "Add a pod from a template";
    Delete "delete" [Global] hint 15 "delete" "Delete the selected pod or node, after asking once";
    ToggleCordon "toggle-cordon" [Global] "Cordon or uncordon the selected node";
    FindFix "find-fix" [Global] "Find what would let the selected pod run; each fix is tried in a copy";
    CopyName "copy-name" [Global] "Copy the name of the selected thing";
    CopyText "copy-text" [Global] "Copy everything that the details say of the selected thing";

    FocusNext "focus-next" [Global] "Go to the next pane";
    FocusPrevious "focus-previous" [Global] "Go to the pane before";
    FocusQueues "focus-queues" [Global] "Go to the queues";
    FocusCycle "focus-cycle" [Global] "Go to the current attempt";
    FocusMatrix "focus-matrix" [Global] "Go to the matrix of nodes and plugins";
    FocusWaiting "focus-waiting" [Global] "Go to the waiting pods and binding cycles";
    FocusNodes "focus-nodes" [Global] "Go to the nodes";
    FocusDetails "focus-details" [Global] "Go to the details of the selected thing";
    FocusLog "focus-log" [Global] "Go to the events and log lines";
    FocusTimeline "focus-timeline" [Global] "Go to the timeline";
    FocusAgreement "focus-agreement" [Global] "On a live cluster: go to predictions beside decisions, and to what was done";
    FocusKinds "focus-kinds" [Global] "On a live cluster: go to the kinds of objects and how their watches stand";
    Arm "arm-disarm" [Global] "On a live cluster: arm after a question, or disarm at once";
    ToggleConfirming "toggle-confirming" [Global] "On a live cluster: let each bind wait for a person, or none";
    AnswerBinds "answer-binds" [Global] "On a live cluster: answer the binds that wait";
    JumpBack "jump-back" [Global] "Go back to where you were: pane and selected thing";
    JumpForward "jump-forward" [Global] "Go forward again after going back";
    OpenFinder "open-finder" [Global] "Go to a pod, a node, a plugin, an action or a word by a part of its name";
    NextLayout "next-layout" [Global] "Change to the next layout: operate, teach, debug";
    Wider "wider" [Global] "Make the focused pane wider";
    Narrower "narrower" [Global] "Make the focused pane narrower";
    Taller "taller" [Global] "Make the focused pane taller";
    Shorter "shorter" [Global] "Make the focused pane less tall";
    EvenOut "even-out" [Global] palette true "Give every pane its default size again";
    Zoom "zoom" [Global] hint 13 "zoom" "Give the focused pane the whole screen, or give it back";
    StartFilter "start-filter" [Global] hint 5 "find" "Find in the focused pane";
    OpenPalette "open-palette" [Global] hint 6 "command" "Type a command";
    OpenHelp "open-help" [Global] hint 1 "help" "Show the keys of the focused pane";
    Back "back" [Global] "Come out: clear the filter, give back the whole screen, stop what goes on until something happens, or leave the details";
    LessonAnswer "lesson-answer" [Global] "In a lesson: answer the question, or go on after the answer";
    LessonText "lesson-text" [Global] "In a lesson: read the whole text";
    LessonMore "lesson-more" [Global] "In a lesson: show more of the text in its panel";
    LessonHint "lesson-hint" [Global] "In a lesson: get a hint";
    LessonReveal "lesson-reveal" [Global] "In a lesson: let the answer be told";
    LessonNext "lesson-next" [Global] "In a lesson: go to the next lesson";
    LessonPrevious "lesson-previous" [Global] "In a lesson: go to the lesson before";
    LessonAgain "lesson-again" [Global] "In a lesson: begin it again";
    LessonList "lesson-list" [Global] "In a lesson: list the lessons";
    LessonPanel "lesson-panel" [Global] "In a lesson: hide its panel, or show it";
    ThemeDark "theme-dark" [Global] palette true "Use the dark theme";
    ThemeLight "theme-light" [Global] palette true "Use the light theme";
    NextTheme "next-theme" [Global] palette true "Change to the next theme";
    Redraw "redraw" [Global] "Draw the whole screen again";
    Suspend "suspend" [Global] "Go to the shell; `fg` comes back";
    Quit "quit" [Global] "Quit";

    ConfirmBind "confirm-bind" [Ask] hint 1 "bind" "Bind the pod";
    DeclineBind "decline-bind" [Ask] hint 2 "decline" "Turn the bind down: the pod is tried again after its backoff";
    ConfirmAllBinds "confirm-all-binds" [Ask] hint 3 "bind all" "Bind every pod that waits now";
    DeclineAllBinds "decline-all-binds" [Ask] "Turn down every bind that waits now";
    LeaveBinds "leave-binds" [Ask] hint 4 "later" "Leave the binds waiting";
    Close "close" [Overlay] hint 2 "close" "Close the overlay";
    CompareBranch "compare-branch" [Overlay] "Put the selected branch beside the present one";
    ToggleBreak "toggle-break" [Overlay] "Switch a breakpoint on or off";
    DeleteBreak "delete-break" [Overlay] "Delete a breakpoint or a watch";
    CopyCommands "copy-commands" [Overlay] "Copy the command lines of the selected fix";
    Accept "accept" [Overlay Confirm TextInput] hint 1 "accept" "Do it";
    Refuse "refuse" [Confirm] hint 2 "no" "Leave it";
    Cancel "cancel" [TextInput] hint 2 "cancel" "Leave without doing anything";
    Complete "complete" [TextInput] hint 3 "complete" "Complete what is typed";
    HistoryPrevious "history-previous" [TextInput] "Go up: to the suggestion or the line typed before";
    HistoryNext "history-next" [TextInput] "Go down: to the next suggestion or line";
    CursorLeft "cursor-left" [TextInput] "Move the cursor left";
    CursorRight "cursor-right" [TextInput] "Move the cursor right";
    CursorWordLeft "cursor-word-left" [TextInput] "Move the cursor a word left";
    CursorWordRight "cursor-word-right" [TextInput] "Move the cursor a word right";
    CursorStart "cursor-start" [TextInput] "Move the cursor to the start";
    CursorEnd "cursor-end" [TextInput] "Move the cursor to the end";
    DeleteBackward "delete-backward" [TextInput] "Delete the character before the cursor";
    DeleteForward "delete-forward" [TextInput] "Delete the character under the cursor";
    DeleteWord "delete-word" [TextInput] "Delete the word before the cursor";
    DeleteToStart "delete-to-start" [TextInput] "Delete everything before the cursor";
    DeleteToEnd "delete-to-end" [TextInput] "Delete everything from the cursor on";
}

impl Action {
    /// The action's line in the table.
    pub fn info(self) -> &'static ActionInfo {
        // The table is made in the order of the variants.
        &Self::TABLE[self as usize]
    }

    /// Its name in keymap files and in the palette.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The action of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|info| info.name == name).map(|info| info.action)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_action_finds_its_own_line_and_its_name_leads_back() {
        for info in Action::TABLE {
            assert_eq!(info.action.info(), info);
            assert_eq!(Action::parse(info.name), Some(info.action));
        }
    }

    #[test]
    fn names_are_kebab_case_and_unique() {
        let names: BTreeSet<_> = Action::TABLE.iter().map(|info| info.name).collect();
        assert_eq!(names.len(), Action::TABLE.len());
        for name in names {
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        }
    }

    #[test]
    fn descriptions_are_orders_without_a_full_stop() {
        for info in Action::TABLE {
            assert!(info.description.starts_with(|c: char| c.is_ascii_uppercase()), "{}", info.name);
            assert!(!info.description.ends_with('.'), "{}", info.name);
        }
    }
}
