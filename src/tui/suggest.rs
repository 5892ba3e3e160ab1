//! The nearest known name to one that is not known.

/// `"; did you mean \"x\"?"` with the nearest of `known`, or nothing if none is near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let limit = 1 + name.chars().count() / 3;
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| format!("; did you mean {candidate:?}?"))
        .unwrap_or_default()
}

/// How many characters must be put in, taken out, replaced or exchanged with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(x != y);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_name() {
        let known = ["select-next", "select-first", "quit"];
        assert_eq!(nearest("select-nxet", known), "; did you mean \"select-next\"?");
        assert_eq!(nearest("qiut", known), "; did you mean \"quit\"?");
    }

    #[test]
    fn something_else_altogether_finds_nothing() {
        assert_eq!(nearest("bananas", ["select-next", "quit"]), "");
    }
}
