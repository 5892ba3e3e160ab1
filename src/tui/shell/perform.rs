//! What actions do that belong to no pane: most are handed to the session, some open an overlay.

use crate::driver::session::{Advance, BackTo, Edit, NoticeLevel, RunState, SessionCommand};
use crate::tui::action::Action;
use crate::tui::commands;
use crate::tui::overlays::branches::BranchesOverlay;
use crate::tui::overlays::breaks::BreaksOverlay;
use crate::tui::overlays::filter::Filter;
use crate::tui::overlays::help::Help;
use crate::tui::overlays::input::Input;
use crate::tui::panes::{PaneId, Subject};

use super::{Effect, Shell};

impl Shell {
    /// Does an action that belongs to no pane.
    pub(super) fn perform(&mut self, action: Action) -> Vec<Effect> {
        use SessionCommand as Tell;
        let session = |command| vec![Effect::Session(command)];
        match action {
            Action::StepCycle => return session(Tell::StepCycle),
            Action::StepPhase => return session(Tell::StepPhase),
            Action::StepPlacement => return session(Tell::StepPlacement),
            Action::BackPhase => return session(Tell::Back(BackTo::Phase)),
            Action::BackCycle => return session(Tell::Back(BackTo::Cycle)),
            Action::BackToStart => return session(Tell::Back(BackTo::Start)),
            Action::BackToChange => return self.carry_out("changed"),
            Action::BreakHere => return self.carry_out("break"),
            Action::Branches => self.overlays.push(Box::new(BranchesOverlay::default())),
            Action::Fork => return session(Tell::Fork),
            Action::Breaks => self.overlays.push(Box::new(BreaksOverlay::default())),
            Action::GoToEnd => return session(Tell::ToEnd),
            Action::RunToOutcome => return session(Tell::RunToOutcome),
            Action::Run => return session(Tell::Run),
            Action::Pause => return session(Tell::Pause),
            Action::ToggleRun => {
                let is_paused = self.world.view.run_state == RunState::Paused;
                return session(if is_paused { Tell::Run } else { Tell::Pause });
            }
            Action::Faster => return session(Tell::Faster),
            Action::Slower => return session(Tell::Slower),
            Action::AdvanceToTimeout => return session(Tell::Advance(Advance::ToNextTimeout)),
            Action::AdvanceBy => self.open_input(
                "advance simulated time",
                "advance",
                "10s".to_owned(),
                "How far, such as 500ms, 10s, 1m30s or 2h. What happens on the way happens in its order.",
            ),
            Action::AddPod => {
                let name = commands::free_pod_name(&self.world.view);
                self.open_input(
                    "add a pod",
                    "add-pod",
                    format!("{name} cpu=500m memory=256Mi priority=0"),
                    "[NAMESPACE/]NAME and what it asks for: cpu= memory= priority= count= example.com/gpu= \
                     select:LABEL=VALUE label:LABEL=VALUE; or the name of a YAML file.",
                );
            }
            Action::Delete => return self.carry_out("delete"),
            Action::FindFix => return self.carry_out("fix"),
            Action::ToggleCordon => return self.toggle_cordon(),
            Action::CopyName => return self.copy_name(),
            Action::FocusNext => self.focus_by(1),
            Action::FocusPrevious => self.focus_by(PaneId::of(self.world.view.live.is_some()).len() - 1),
            Action::FocusQueues => self.go_to_pane(PaneId::Queues),
            Action::FocusCycle => self.go_to_pane(PaneId::Cycle),
            Action::FocusMatrix => self.go_to_pane(PaneId::Matrix),
            Action::FocusWaiting => self.go_to_pane(PaneId::Waiting),
            Action::FocusNodes => self.go_to_pane(PaneId::Nodes),
            Action::FocusDetails => self.go_to_pane(PaneId::Details),
            Action::FocusLog => self.go_to_pane(PaneId::Log),
            // What no pane goes into is looked at in the details.
            Action::Open if self.selected.is_some() => self.go_to_pane(PaneId::Details),
            Action::Zoom => self.focus.arrangement.is_zoomed = !self.focus.arrangement.is_zoomed,
            Action::StartFilter => {
                let current = self.focus.filters[self.focused().index()].as_deref();
                self.overlays.push(Box::new(Filter::new(current)));
            }
            Action::OpenPalette => self.open_palette(""),
            Action::OpenHelp => self.overlays.push(Box::new(Help::default())),
            Action::Back => return self.back(),
            Action::ThemeDark => self.use_theme("dark"),
            Action::ThemeLight => self.use_theme("light"),
            Action::NextTheme => self.use_next_theme(),
            Action::Redraw => return vec![Effect::Redraw],
            Action::Suspend => return vec![Effect::Suspend],
            Action::Quit => return vec![Effect::Quit],
            _ => return self.perform_moving(action),
        }
        Vec::new()
    }

    pub(super) fn open_input(
        &mut self,
        title: &'static str,
        command: &'static str,
        typed: String,
        help: &'static str,
    ) {
        self.overlays.push(Box::new(Input::new(title, command, typed, help)));
    }

    fn toggle_cordon(&mut self) -> Vec<Effect> {
        let Some(name) = self.selected.as_ref().and_then(Subject::node) else {
            self.notify(
                NoticeLevel::Warning,
                "No node is selected: select one, or write :cordon NAME.".to_owned(),
            );
            return Vec::new();
        };
        let node = self.world.view.scheduler.nodes.iter().find(|node| node.name() == name);
        let is_cordoned = node.and_then(|node| node.node()).is_some_and(|node| node.spec.unschedulable);
        let edit = if is_cordoned { Edit::Uncordon(name.clone()) } else { Edit::Cordon(name.clone()) };
        vec![Effect::Session(SessionCommand::Edit(edit))]
    }

    fn copy_name(&mut self) -> Vec<Effect> {
        let name = match self.selected.as_ref() {
            Some(subject) => match (subject.pod(), subject.node()) {
                (Some(pod), _) => Some(pod.to_string()),
                (None, node) => node.map(|node| node.to_string()),
            },
            None => None,
        };
        match name {
            Some(name) => self.copy(name),
            None => {
                self.notify(NoticeLevel::Warning, "Neither a pod nor a node is selected.".to_owned());
                Vec::new()
            }
        }
    }

    pub(super) fn copy(&mut self, copied: String) -> Vec<Effect> {
        self.notify(NoticeLevel::Info, format!("copied {copied}"));
        vec![Effect::Copy(copied)]
    }
}
