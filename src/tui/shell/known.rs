//! Actions about what is known of the session: finding places, marking them, recording.

use crate::driver::seek::{SeekTo, Wanted};
use crate::driver::session::{NoticeLevel, SessionCommand};
use crate::tui::action::Action;
use crate::tui::panes::{PaneId, Subject};

use super::{Effect, Shell};

impl Shell {
    /// Does an action of that kind; nothing where it is none.
    pub(super) fn perform_known(&mut self, action: Action) -> Vec<Effect> {
        let seek = |to| vec![Effect::Session(SessionCommand::Seek(to))];
        match action {
            Action::FocusTimeline => self.go_to_pane(PaneId::Timeline),
            Action::NextMarker => return seek(SeekTo::Next(Wanted::Mark)),
            Action::PreviousMarker => return seek(SeekTo::Previous(Wanted::Mark)),
            Action::NextFailure => return seek(SeekTo::Next(Wanted::Failure)),
            Action::PreviousFailure => return seek(SeekTo::Previous(Wanted::Failure)),
            Action::NextPreemption => return seek(SeekTo::Next(Wanted::Preemption)),
            Action::PreviousPreemption => return seek(SeekTo::Previous(Wanted::Preemption)),
            Action::NextCycleOfPod | Action::PreviousCycleOfPod => {
                let Some(pod) = self.selected.as_ref().and_then(Subject::pod).cloned() else {
                    self.notify(NoticeLevel::Warning, "No pod is selected.".to_owned());
                    return Vec::new();
                };
                let wanted = Wanted::CycleOf(pod);
                let is_next = action == Action::NextCycleOfPod;
                return seek(if is_next { SeekTo::Next(wanted) } else { SeekTo::Previous(wanted) });
            }
            Action::Search => self.open_input(
                "search what is known",
                "search",
                String::new(),
                "A part of the name of a pod, a node or a plugin, of a message or of a note. The next moment that \
                 has it is gone to.",
            ),
            Action::SearchNext => return vec![Effect::Session(SessionCommand::SeekAgain { is_back: false })],
            Action::SearchPrevious => return vec![Effect::Session(SessionCommand::SeekAgain { is_back: true })],
            Action::AddMarker => self.open_input(
                "mark this moment",
                "mark",
                String::new(),
                "What it shall be called. It can be gone to by that name, and is written into the recording.",
            ),
            Action::ToggleRecording => {
                let is_recording = self.world.view.known.recorder.is_some();
                return self.carry_out(if is_recording { "record stop" } else { "record" });
            }
            _ => return self.perform_live(action),
        }
        Vec::new()
    }
}
