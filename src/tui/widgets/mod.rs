//! Parts that panes and overlays draw with.

pub mod bar;
pub mod cursor;
pub mod frame;
pub mod glyphs;
pub mod line_editor;
pub mod table;
pub mod text;
