//! The selected row of a list and the part of the list that is visible.
//!
//! The selection is kept by key. When the data changes it stays on its object, and the object stays on its line of
//! the screen where it can.

use crate::tui::action::Action;

/// Selection and scroll of a list of rows that have keys.
#[derive(Clone, Debug)]
pub struct Cursor<K> {
    key: Option<K>,
    index: usize,
    offset: usize,
    column: usize,
    n_rows: usize,
    height: usize,
}

impl<K> Default for Cursor<K> {
    fn default() -> Self {
        Self { key: None, index: 0, offset: 0, column: 0, n_rows: 0, height: 1 }
    }
}

impl<K: Clone + PartialEq> Cursor<K> {
    /// Finds the selected object again after the data may have changed; if it is gone, its neighbour is selected.
    /// Call it before everything else, whenever rows may have changed.
    pub fn sync(&mut self, n_rows: usize, key_at: impl Fn(usize) -> K) {
        self.sync_by(n_rows, &key_at, |key| (0..n_rows).find(|index| key_at(*index) == *key));
    }

    /// The same where there is a faster way to find the row of a key than to ask for the key of each.
    pub fn sync_by(
        &mut self,
        n_rows: usize,
        key_at: impl Fn(usize) -> K,
        find: impl FnOnce(&K) -> Option<usize>,
    ) {
        self.n_rows = n_rows;
        if n_rows == 0 {
            self.index = 0;
            self.offset = 0;
            return;
        }
        let found = match &self.key {
            None => None,
            Some(key) if self.index < n_rows && key_at(self.index) == *key => Some(self.index),
            Some(key) => find(key),
        };
        match found {
            Some(index) => {
                self.offset = (self.offset + index).saturating_sub(self.index);
                self.index = index;
            }
            None => {
                self.index = self.index.min(n_rows - 1);
                self.key = Some(key_at(self.index));
            }
        }
        self.clamp();
    }

    /// The selected row; absent in an empty list.
    pub fn index(&self) -> Option<usize> {
        (self.n_rows > 0).then_some(self.index)
    }

    /// The key of the selected row; absent in an empty list.
    pub fn key(&self) -> Option<&K> {
        self.key.as_ref().filter(|_| self.n_rows > 0)
    }

    /// The first visible row.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many columns are scrolled away to the left.
    pub fn column(&self) -> usize {
        self.column
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Selects a row; the last one if there are not so many.
    pub fn select(&mut self, index: usize, key_at: impl Fn(usize) -> K) {
        if self.n_rows == 0 {
            return;
        }
        self.index = index.min(self.n_rows - 1);
        self.key = Some(key_at(self.index));
        self.clamp();
    }

    /// Selects the row with that key, if there is one.
    pub fn select_key(&mut self, key: &K, key_at: impl Fn(usize) -> K) -> bool {
        let found = (0..self.n_rows).find(|index| key_at(*index) == *key);
        if let Some(index) = found {
            self.select(index, key_at);
        }
        found.is_some()
    }

    /// Does the actions that move in a list. False if the action is not one of them.
    pub fn handle(&mut self, action: Action, key_at: impl Fn(usize) -> K) -> bool {
        let page = self.height.saturating_sub(1).max(1);
        let target = match action {
            Action::SelectNext => self.index.saturating_add(1),
            Action::SelectPrevious => self.index.saturating_sub(1),
            Action::SelectFirst => 0,
            Action::SelectLast => usize::MAX,
            Action::PageDown => self.index.saturating_add(page),
            Action::PageUp => self.index.saturating_sub(page),
            Action::ScrollLeft => {
                self.column = self.column.saturating_sub(1);
                return true;
            }
            Action::ScrollRight => {
                self.column = self.column.saturating_add(1);
                return true;
            }
            _ => return false,
        };
        self.select(target, key_at);
        true
    }

    /// Tells how many rows are visible; the selected one is among them afterwards.
    pub fn set_height(&mut self, height: usize) {
        self.height = height.max(1);
        self.clamp();
    }

    /// Tells how far to the right one can scroll.
    pub fn set_max_column(&mut self, max: usize) {
        self.column = self.column.min(max);
    }

    fn clamp(&mut self) {
        let lowest = (self.index + 1).saturating_sub(self.height);
        let last = self.n_rows.saturating_sub(self.height);
        self.offset = self.offset.clamp(lowest, self.index.max(lowest)).min(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(rows: &[&'static str], selected: usize) -> Cursor<&'static str> {
        let mut cursor = Cursor::default();
        cursor.sync(rows.len(), |index| rows[index]);
        cursor.set_height(3);
        cursor.select(selected, |index| rows[index]);
        cursor
    }

    #[test]
    fn selection_stays_on_its_object_when_rows_come_and_go() {
        let mut cursor = cursor(&["a", "b", "c", "d"], 2);
        let fewer = ["b", "c", "d"];
        cursor.sync(fewer.len(), |index| fewer[index]);
        assert_eq!((cursor.index(), cursor.key()), (Some(1), Some(&"c")));
        let more = ["x", "y", "b", "c", "d"];
        cursor.sync(more.len(), |index| more[index]);
        assert_eq!((cursor.index(), cursor.key()), (Some(3), Some(&"c")));
    }

    #[test]
    fn the_neighbour_is_selected_when_the_object_is_gone() {
        let mut cursor = cursor(&["a", "b", "c"], 2);
        let rows = ["a", "b"];
        cursor.sync(rows.len(), |index| rows[index]);
        assert_eq!(cursor.key(), Some(&"b"));
        cursor.sync(0, |_| "");
        assert_eq!((cursor.index(), cursor.key()), (None, None));
    }

    #[test]
    fn the_object_stays_on_its_line_of_the_screen() {
        let rows = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let mut cursor = cursor(&rows, 5);
        assert_eq!(cursor.offset(), 3);
        let fewer = &rows[1..];
        cursor.sync(fewer.len(), |index| fewer[index]);
        assert_eq!((cursor.index(), cursor.offset()), (Some(4), 2));
    }

    #[test]
    fn moving_stops_at_both_ends() {
        let rows = ["a", "b", "c", "d", "e"];
        let mut cursor = cursor(&rows, 0);
        let key_at = |index: usize| rows[index];
        assert!(cursor.handle(Action::SelectPrevious, key_at));
        assert_eq!(cursor.index(), Some(0));
        assert!(cursor.handle(Action::SelectLast, key_at));
        assert!(cursor.handle(Action::SelectNext, key_at));
        assert_eq!((cursor.index(), cursor.offset()), (Some(4), 2));
        assert!(cursor.handle(Action::PageUp, key_at));
        assert_eq!(cursor.index(), Some(2));
        assert!(!cursor.handle(Action::Quit, key_at));
    }
}
