//! Words for what was decided and not done.
//!
//! While a session only observes, the scheduler goes on as if its binds were done, so that it decides on the state that
//! they make. What it says of them is put into the words of a prediction here.

use crate::driver::live::engine::Mode;
use crate::scheduler::view::ObjectEvent;

use super::Cx;

/// What is said of an attempt, as a prediction if it was one.
pub fn of_attempt(text: String, number: u64, cx: &Cx<'_>) -> String {
    let is_predicted = cx.view.live.as_ref().is_some_and(|live| live.is_predicted(number));
    if is_predicted { words(&text) } else { text }
}

/// What is said of the present, as a prediction if nothing is written.
pub fn of_present(text: String, cx: &Cx<'_>) -> String {
    if observes(cx) { words(&text) } else { text }
}

/// The note of an Event, with a word where it was not written.
pub fn note(event: &ObjectEvent, cx: &Cx<'_>) -> String {
    if is_unwritten(event, cx) { format!("(not written) {}", event.note) } else { event.note.clone() }
}

/// Whether an Event is what would have been written.
pub fn is_unwritten(event: &ObjectEvent, cx: &Cx<'_>) -> bool {
    cx.view.live.as_ref().is_some_and(|live| !live.was_writing(event.at))
}

/// Whether the session is live and writes nothing.
pub fn observes(cx: &Cx<'_>) -> bool {
    cx.view.live.as_ref().is_some_and(|live| live.mode == Mode::Observe)
}

fn words(text: &str) -> String {
    const WORDS: [(&str, &str); 6] = [
        ("the binding cycle runs", "the cluster has not decided"),
        ("A failure would bring it back into the queue.", "This is a prediction: nothing is written."),
        ("and is being bound: Bind", "by this scheduler's choice; the cluster has not decided"),
        ("It has a place on", "It would be bound to"),
        ("being bound to ", "would be bound to "),
        ("bound to ", "would bind to "),
    ];
    for (done, predicted) in WORDS {
        if text.contains(done) && !text.contains("would be bound to ") {
            return words_after(&text.replace(done, predicted), done);
        }
    }
    text.to_owned()
}

/// The other sentences of the same text.
fn words_after(text: &str, done: &str) -> String {
    let text = if done.starts_with("and is being bound") {
        text.replace("It has a place on", "It would be bound to")
    } else {
        text.to_owned()
    };
    text.replace("placed on ", "would bind to ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_is_never_said_to_be_bound() {
        assert_eq!(words("bound to a-1: wins by 14"), "would bind to a-1: wins by 14");
        assert_eq!(words("being bound to a-1"), "would be bound to a-1");
        assert_eq!(
            words("placed on a-1; the binding cycle runs"),
            "would bind to a-1; the cluster has not decided"
        );
        assert_eq!(
            words("It has a place on a-1 and is being bound: Bind."),
            "It would be bound to a-1 by this scheduler's choice; the cluster has not decided."
        );
        assert_eq!(words("0/3 nodes are available"), "0/3 nodes are available");
    }
}
