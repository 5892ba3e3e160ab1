//! Command lines about layouts and words.

use super::{CommandCx, Deed};
use crate::tui::layout::Preset;
use crate::tui::suggest::nearest;

/// What is to be done with the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutDeed {
    /// Use a preset.
    Preset(Preset),
    /// Use the one that was saved.
    Own,
    /// Keep the present one.
    Save,
}

/// `:layout`.
pub(super) fn layout(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    let [word] = arguments else { return Err("write :layout operate, teach, debug, own or save".to_owned()) };
    Ok(Deed::Layout(match *word {
        "own" => LayoutDeed::Own,
        "save" => LayoutDeed::Save,
        name => LayoutDeed::Preset(Preset::parse(name).ok_or_else(|| {
            let known = Preset::ALL.map(Preset::as_str).into_iter().chain(["own", "save"]);
            format!("there is no layout {name:?}{}", nearest(name, known))
        })?),
    }))
}

/// `:explain`.
pub(super) fn explain(arguments: &[&str], _: &CommandCx<'_>) -> Result<Deed, String> {
    Ok(Deed::Explain((!arguments.is_empty()).then(|| arguments.join(" "))))
}
