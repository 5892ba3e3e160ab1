//! How a lesson looks: its blocks as styled lines, for the panel beside the panes and for the overlays.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::lessons::Block;

use super::theme::{Role, Theme};
use super::widgets::glyphs::Glyphs;
use super::widgets::text;

/// A line.
#[derive(Clone, Debug, Default)]
pub struct LessonLine {
    /// Its parts, each with its style.
    pub parts: Vec<(Role, String)>,
    /// The place of the choice that it belongs to.
    pub choice: Option<usize>,
    /// Whether that choice is the one that is about to be taken.
    pub is_chosen: bool,
    /// Whether the question, a hint or what came of the answer begins here: what must be seen if there is no room for all.
    pub is_anchor: bool,
}

/// Which blocks are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    All,
    /// Without the title, which stands in the frame.
    Body,
    /// The question, its choices and its hints.
    Question,
}

struct Writer<'a> {
    lines: Vec<LessonLine>,
    width: usize,
    glyphs: &'a Glyphs,
}

impl Writer<'_> {
    /// A paragraph, with something in front of its first line; the others are indented alike.
    fn paragraph(&mut self, lead: (Role, &str), body: &str, role: Role) -> usize {
        let first = self.lines.len();
        let indent = text::width(lead.1);
        for (i, line) in text::wrap(body, self.width.saturating_sub(indent).max(1)).into_iter().enumerate() {
            let head = if i == 0 { (lead.0, lead.1.to_owned()) } else { (Role::Text, " ".repeat(indent)) };
            self.lines.push(LessonLine { parts: vec![head, (role, line)], ..LessonLine::default() });
        }
        first
    }

    fn gap(&mut self) {
        if !self.lines.is_empty() {
            self.lines.push(LessonLine::default());
        }
    }

    fn anchor(&mut self, at: usize) {
        if let Some(line) = self.lines.get_mut(at) {
            line.is_anchor = true;
        }
    }

    fn evidence(&mut self, lines: &[String]) {
        for line in lines {
            let lead = format!("  {} ", self.glyphs.dot);
            self.paragraph((Role::Muted, &lead), line, Role::Text);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Title(number, n, title) => {
                let lead = format!("{number}/{n}  ");
                self.paragraph((Role::Number, &lead), title, Role::Strong);
            }
            Block::Text(body) => {
                self.gap();
                self.paragraph((Role::Text, ""), body, Role::Text);
            }
            Block::Question(number, n, ask) => {
                self.gap();
                let lead = if *n > 1 { format!("{number}/{n} ") } else { format!("{} ", self.glyphs.next) };
                let at = self.paragraph((Role::Accent, &lead), ask, Role::Strong);
                self.anchor(at);
            }
            Block::Choice(letter, body, mark) => {
                let (sign, role) = match mark {
                    Some(true) => (self.glyphs.success, Role::StatusSuccess),
                    Some(false) => (self.glyphs.failure, Role::StatusUnschedulable),
                    None => (" ", Role::Text),
                };
                let lead = format!("  {sign} {letter}  ");
                let lead_role = if mark.is_some() { role } else { Role::Key };
                let first = self.paragraph((lead_role, &lead), body, role);
                let place = (*letter as usize).checked_sub('a' as usize);
                for line in self.lines.iter_mut().skip(first) {
                    line.choice = place;
                }
            }
            Block::Kind(kind) => {
                self.paragraph((Role::Text, "    "), &format!("Write {kind}."), Role::Muted);
            }
            Block::Hint(hint) => {
                self.gap();
                let at = self.paragraph((Role::Info, "Hint  "), hint, Role::Text);
                self.anchor(at);
            }
            Block::Wrong(typed, against) => {
                self.gap();
                let lead = format!("{} ", self.glyphs.failure);
                let at = self.paragraph(
                    (Role::StatusUnschedulable, &lead),
                    &format!("Not {typed}."),
                    Role::Strong,
                );
                self.anchor(at);
                self.evidence(against);
            }
            Block::Right(answer, is_found, lines) => {
                self.gap();
                let (sign, role) = if *is_found {
                    (self.glyphs.success, Role::StatusSuccess)
                } else {
                    (self.glyphs.arrow, Role::Info)
                };
                let said =
                    if *is_found { format!("Right: {answer}.") } else { format!("The answer: {answer}.") };
                let at = self.paragraph((role, &format!("{sign} ")), &said, Role::Strong);
                self.anchor(at);
                self.evidence(lines);
            }
            Block::Because(body) => {
                self.gap();
                self.paragraph((Role::Text, ""), body, Role::Text);
            }
            Block::Done(right, of) => {
                self.gap();
                let said = format!("The lesson is done: {right} of {of} right at the first try.");
                self.paragraph((Role::StatusSuccess, ""), &said, Role::StatusSuccess);
            }
        }
    }
}

/// The lines of these blocks.
pub fn lines(blocks: &[Block], part: Part, width: usize, glyphs: &Glyphs) -> Vec<LessonLine> {
    let mut writer = Writer { lines: Vec::new(), width, glyphs };
    for block in blocks {
        let is_shown = match part {
            Part::All => true,
            Part::Body => !matches!(block, Block::Title(..)),
            Part::Question => {
                matches!(block, Block::Question(..) | Block::Choice(..) | Block::Kind(_) | Block::Hint(_))
            }
        };
        if is_shown {
            writer.block(block);
        }
    }
    writer.lines
}

/// Where to begin so that the last thing that matters is seen, with as much before it as there is room for.
pub fn offset(lines: &[LessonLine], height: usize) -> usize {
    if lines.len() <= height {
        return 0;
    }
    let anchor = lines.iter().rposition(|line| line.is_anchor).unwrap_or(0);
    anchor.min(lines.len() - height)
}

/// Writes lines into an area from `offset` on.
pub fn put_lines(
    area: Rect,
    buf: &mut Buffer,
    lines: &[LessonLine],
    offset: usize,
    theme: &Theme,
    glyphs: &Glyphs,
) {
    for (line, y) in lines.iter().skip(offset).zip(area.y..area.bottom()) {
        if line.is_chosen {
            buf.set_style(Rect { y, height: 1, ..area }, theme.style(Role::Selection));
        }
        let mut x = area.x;
        for (role, part) in &line.parts {
            let room = area.right().saturating_sub(x);
            let style = if line.is_chosen { theme.style(Role::Selection) } else { theme.style(*role) };
            x = text::put(buf, x, y, room, part, style, glyphs);
        }
    }
}
