//! The closed set of things that have a style.
//!
//! A role says what something is, never how it looks: that is the theme's part. A role that a theme leaves out
//! looks like its fallback.

/// What a role is on, so that its contrast can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text that must be easy to read.
    Text,
    /// Lines and areas.
    Decoration,
}

macro_rules! roles {
    ($($variant:ident $name:literal $kind:ident $(falls back to $fallback:ident)? , $doc:literal;)+) => {
        /// What can have a style.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Role {
            $(#[doc = $doc] $variant,)+
        }

        impl Role {
            /// Every role.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name in theme files.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Whether it is text.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind),+ }
            }

            /// The role that it looks like where a theme leaves it out.
            pub const fn fallback(self) -> Option<Self> {
                match self { $(Self::$variant => roles!(@fallback $($fallback)?)),+ }
            }
        }
    };
    (@fallback) => { None };
    (@fallback $fallback:ident) => { Some(Self::$fallback) };
}

roles! {
    Screen "screen" Text, "The whole screen: its background and the text on it.";
    Text "text" Text falls back to Screen, "Ordinary text.";
    Muted "muted" Text falls back to Text, "What is there but not looked for: units, times, signs for nothing.";
    Strong "strong" Text falls back to Text, "What the eye shall find first.";
    Heading "heading" Text falls back to Strong, "Headers of columns and of sections.";
    Label "label" Text falls back to Muted, "The name of a value.";
    Name "name" Text falls back to Text, "The name of an object.";
    Number "number" Text falls back to Text, "An amount.";
    Accent "accent" Text falls back to Strong, "The one colour of what has the focus.";
    Border "border" Decoration falls back to Muted, "The frame of a pane.";
    BorderFocused "border-focused" Decoration falls back to Accent, "The frame of the pane that has the focus.";
    Title "title" Text falls back to Heading, "The title of a pane.";
    TitleFocused "title-focused" Text falls back to Accent, "The title of the pane that has the focus.";
    Selection "selection" Text falls back to Strong, "The selected row where the focus is.";
    SelectionUnfocused "selection-unfocused" Text falls back to Strong, "The selected row where the focus is not.";
    Lit "lit" Decoration falls back to Strong, "What the last step changed.";
    Match "match" Text falls back to Accent, "What a filter found.";
    Scrollbar "scrollbar" Decoration falls back to Border, "Where in the whole the visible part is.";
    StatusBar "status-bar" Text falls back to Screen, "The line on top.";
    StatusBarName "status-bar-name" Text falls back to Accent, "The program's name on top.";
    StatusBarLabel "status-bar-label" Text falls back to Muted, "The name of a value on top.";
    StatusBarValue "status-bar-value" Text falls back to Strong, "A value on top.";
    Paused "paused" Text falls back to Warning, "The session is paused.";
    Running "running" Text falls back to Info, "The session runs.";
    Footer "footer" Text falls back to StatusBar, "The line at the bottom.";
    Key "key" Text falls back to Accent, "A key.";
    KeyLabel "key-label" Text falls back to Muted, "What a key does.";
    Tab "tab" Text falls back to Muted, "A tab.";
    TabFocused "tab-focused" Text falls back to Accent, "The tab of the pane that is shown.";
    Overlay "overlay" Text falls back to Screen, "An overlay.";
    OverlayBorder "overlay-border" Decoration falls back to BorderFocused, "The frame of an overlay.";
    Input "input" Text falls back to Overlay, "Text that is typed.";
    Cursor "cursor" Text falls back to Selection, "The cursor in text that is typed.";
    Info "info" Text falls back to Text, "Something was done.";
    Warning "warning" Text falls back to Strong, "Something is not as expected.";
    Error "error" Text falls back to Warning, "Something failed.";
    Danger "danger" Text falls back to Error, "A deed that takes something away.";
    Armed "armed" Text falls back to Danger, "The word that says that the session writes to its cluster.";
    ArmedBorder "armed-border" Decoration falls back to Error, "The frame of a pane while it does.";
    StatusSuccess "status-success" Text falls back to Text, "Code Success.";
    StatusError "status-error" Text falls back to Error, "Code Error.";
    StatusUnschedulable "status-unschedulable" Text falls back to Warning, "Code Unschedulable.";
    StatusUnresolvable "status-unschedulable-and-unresolvable" Text falls back to Warning, "Code UnschedulableAndUnresolvable.";
    StatusWait "status-wait" Text falls back to Text, "Code Wait.";
    StatusSkip "status-skip" Text falls back to Muted, "Code Skip.";
    StatusPending "status-pending" Text falls back to Text, "Code Pending.";
    QueueActive "queue-active" Text falls back to Heading, "activeQ.";
    QueueBackoff "queue-backoff" Text falls back to Heading, "backoffQ.";
    QueueUnschedulable "queue-unschedulable" Text falls back to Heading, "unschedulablePods.";
    QueueGated "queue-gated" Text falls back to Muted, "A gated pod.";
    Winner "winner" Text falls back to StatusSuccess, "The chosen node.";
    Tie "tie" Text falls back to Strong, "A node with the same total as the chosen one.";
    BarUsed "bar-used" Decoration falls back to Accent, "The part of a bar that is taken.";
    BarHigh "bar-high" Decoration falls back to Warning, "The same where little is left.";
    BarFull "bar-full" Decoration falls back to Error, "The same where nothing is left.";
    BarFree "bar-free" Decoration falls back to Muted, "The part of a bar that is free.";
    ScoreLowest "score-lowest" Text falls back to Muted, "A score in the lowest fifth.";
    ScoreLow "score-low" Text falls back to ScoreLowest, "A score in the second fifth.";
    ScoreMiddle "score-middle" Text falls back to Text, "A score in the middle.";
    ScoreHigh "score-high" Text falls back to ScoreHighest, "A score in the fourth fifth.";
    ScoreHighest "score-highest" Text falls back to Strong, "A score in the highest fifth.";
    LogTrace "log-trace" Text falls back to Muted, "A log line of level trace.";
    LogDebug "log-debug" Text falls back to Muted, "A log line of level debug.";
    LogInfo "log-info" Text falls back to Info, "A log line of level info.";
    LogWarn "log-warn" Text falls back to Warning, "A log line of level warn.";
    LogError "log-error" Text falls back to Error, "A log line of level error.";
}

impl Role {
    /// The role of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_and_fallbacks_end() {
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(*role));
            let mut at = *role;
            let mut n_steps = 0;
            while let Some(next) = at.fallback() {
                at = next;
                n_steps += 1;
                assert!(n_steps < Role::ALL.len(), "the fallbacks of {role:?} go round");
            }
            assert_eq!(at, Role::Screen);
        }
    }
}
