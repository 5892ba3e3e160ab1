//! Tables and bars of text, for a terminal and for Markdown.

pub(super) use crate::explain::report::Form;
use crate::tui::widgets::text;

/// The widest bar.
const BAR_WIDTH: u64 = 30;

/// A table with a heading for each column. The first `n_left` columns are texts, the others numbers.
pub(super) fn table(form: Form, header: &[&str], rows: &[Vec<String>], n_left: usize) -> String {
    match form {
        Form::Text => text_table(header, rows, n_left),
        Form::Markdown => {
            let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
            let mut out = line(header.iter().map(|cell| (*cell).to_owned()).collect());
            let rules = (0..header.len()).map(|at| if at < n_left { "---" } else { "---:" }.to_owned());
            out.push_str(&line(rules.collect()));
            for row in rows {
                out.push_str(&line(row.iter().map(|cell| markdown(cell)).collect()));
            }
            out
        }
    }
}

/// A cell's text in a Markdown table.
pub(super) fn markdown(cell: &str) -> String {
    text::clean(cell).replace('|', "\\|").replace('\n', " ")
}

fn text_table(header: &[&str], rows: &[Vec<String>], n_left: usize) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| text::clean(cell).into_owned()).collect()).collect();
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| text::width(cell));
        cells.chain(header.get(at).map(|title| text::width(title))).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut out = String::new();
    let mut line = |cells: &[String]| {
        let mut row = String::new();
        for (at, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            // Columns of the terminal, not characters.
            let pad = " ".repeat(width.saturating_sub(text::width(cell)));
            let gap = if at > 0 { "  " } else { "" };
            row.push_str(&if at < n_left {
                format!("{gap}{cell}{pad}")
            } else {
                format!("{gap}{pad}{cell}")
            });
        }
        out.push_str(row.trim_end());
        out.push('\n');
    };
    line(&header.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>());
    for row in &rows {
        line(row);
    }
    out
}

/// Bars of lengths in proportion, each behind its name and with its number as people read it.
pub(super) fn bars(title: &str, values: &[(String, u64, String)]) -> String {
    let most = values.iter().map(|(_, value, _)| *value).max().unwrap_or(0).max(1);
    let wide = values.iter().map(|(name, ..)| text::width(name)).max().unwrap_or(0);
    let mut out = format!("{title}\n");
    for (name, value, told) in values {
        let name = text::clean(name);
        let length = usize::try_from((value * BAR_WIDTH).div_ceil(most)).unwrap_or(0);
        let pad = " ".repeat(wide.saturating_sub(text::width(&name)));
        out.push_str(&format!(
            "  {name}{pad}  {}{told}\n",
            "█".repeat(length) + if length > 0 { " " } else { "" }
        ));
    }
    out
}

/// Thousandths as per cent.
pub(super) fn percent(thousandths: u64) -> String {
    format!("{}.{}%", thousandths / 10, thousandths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_and_texts_left() {
        let rows = [vec!["a".to_owned(), "5".to_owned()], vec!["long".to_owned(), "12345".to_owned()]];
        assert_eq!(table(Form::Text, &["NAME", "N"], &rows, 1), "NAME      N\na         5\nlong  12345\n");
        assert_eq!(
            table(Form::Markdown, &["NAME", "N"], &rows[..1], 1),
            "| NAME | N |\n| --- | ---: |\n| a | 5 |\n"
        );
    }

    #[test]
    fn bars_are_in_proportion() {
        let values = [("a".to_owned(), 10, "10".to_owned()), ("bb".to_owned(), 0, "0".to_owned())];
        assert_eq!(bars("t", &values), format!("t\n  a   {} 10\n  bb  0\n", "█".repeat(30)));
    }
}
