//! What was worked out in copies comes in: a list to choose from, or a text.

use crate::driver::advice::Advice;
use crate::driver::session::SessionView;
use crate::tui::overlays::fixes::FixesOverlay;
use crate::tui::overlays::message::Message;

use super::Shell;

impl Shell {
    /// Shows an answer that the older view did not have.
    pub(super) fn take_advice(&mut self, old: &SessionView, new: &SessionView) {
        let number = |view: &SessionView| view.known.advice.as_ref().map(|(number, _)| *number);
        let Some((_, advice)) = new.known.advice.as_ref().filter(|_| number(new) > number(old)) else {
            return;
        };
        match advice.as_ref() {
            Advice::Fix(report) => {
                let pod = &report.question.pod;
                if !report.fixes.is_empty() {
                    self.overlays.push(Box::new(FixesOverlay::default()));
                } else if report.is_fine_on.is_none() {
                    let body = format!("{}\n\n{}", report.message, report.not_found().join("\n"));
                    self.overlays.push(Box::new(Message::new(format!("no fix for {pod}"), body)));
                }
            }
            Advice::Capacity(report) => {
                let title = format!("capacity for {}", report.pod);
                self.overlays.push(Box::new(Message::new(title, report.text())));
            }
        }
    }
}
