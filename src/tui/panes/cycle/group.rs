//! The rows of a pod group's cycle: its placements, and what each member came to in each of them.

use ratatui::text::Span;
use tui_tree_widget::TreeItem;

use super::{Item, RowId, TreeDrawer};
use crate::explain;
use crate::framework::Code;
use crate::scheduler::pod_group_trace::{
    GroupOutcome, GroupTrace, MemberTrial, MemberVerdict, PlacementTrace,
};
use crate::tui::theme::Role;
use crate::tui::widgets::text;

impl TreeDrawer<'_> {
    /// The group to which the attempt belongs.
    pub(super) fn group(&self, group: &GroupTrace) -> Option<Item> {
        let mut children = Vec::new();
        if let Some(run) = group.schedule_run() {
            for (index, placement) in run.placements.iter().enumerate() {
                if placement.name.is_empty() {
                    children.extend(self.members(index, placement, 1));
                } else {
                    children.extend(self.placement(group, index, placement));
                }
            }
        }
        let n_more = group.runs.len().saturating_sub(1);
        if n_more > 0 {
            let trials = if n_more == 1 { "trial" } else { "trials" };
            let note = format!("{n_more} {trials} in search of pods that could make room");
            let spans = vec![Span::styled(note, self.style(Role::Muted))];
            children.push(TreeItem::new_leaf(RowId::Search, self.line(spans, 1, false)));
        }
        for pod in &group.victims {
            let spans = vec![
                text::span(pod.to_string(), self.style(Role::Name)),
                Span::styled("  has to go", self.style(Role::Muted)),
            ];
            let line = self.line(spans, 1, false);
            children.push(TreeItem::new_leaf(RowId::GroupVictim(pod.clone()), line));
        }
        let name = group.group.to_string();
        if self.find.is_on() && children.is_empty() && !self.find.matches([name.as_str()]) {
            return None;
        }
        let role = match &group.outcome {
            GroupOutcome::InProgress => Role::Text,
            GroupOutcome::Scheduled => Role::StatusSuccess,
            GroupOutcome::WaitingOnPreemption { .. } => Role::StatusWait,
            GroupOutcome::Unschedulable { .. } => Role::StatusUnschedulable,
            GroupOutcome::Error { .. } => Role::StatusError,
        };
        let mut spans = vec![Span::styled("group ", self.style(Role::Strong))];
        spans.extend(self.find.spans(&name, self.style(Role::Name), self.cx));
        spans.push(text::span(format!("  {}", explain::group_so_far(group)), self.style(role)));
        TreeItem::new(RowId::Group, self.line(spans, 0, false), children).ok()
    }

    fn placement(&self, group: &GroupTrace, index: usize, placement: &PlacementTrace) -> Option<Item> {
        let children = self.members(index, placement, 2);
        if self.find.is_on() && children.is_empty() && !self.find.matches([placement.name.as_ref()]) {
            return None;
        }
        let run = group.schedule_run()?;
        let is_chosen = run.chosen.as_ref() == Some(&placement.name);
        let sign = if is_chosen { self.cx.glyphs.winner } else { " " };
        let style = self.style(if is_chosen { Role::Winner } else { Role::Name });
        let total = run.scores.as_ref().and_then(|(names, outcome)| {
            let at = names.iter().position(|name| *name == placement.name)?;
            outcome.totals.get(at)
        });
        let mut note = format!("  {}", super::n_nodes(placement.n_nodes));
        if let Some(total) = total {
            note.push_str(&format!(", total {total}"));
        }
        let spans = vec![
            Span::styled(format!("{sign} "), style),
            text::span(&placement.name, style),
            Span::styled(note, self.style(Role::Muted)),
            text::span(format!("  {}", explain::placement_verdict(placement)), self.style(Role::Text)),
        ];
        TreeItem::new(RowId::Placement(index), self.line(spans, 1, false), children).ok()
    }

    fn members(&self, placement: usize, trace: &PlacementTrace, depth: usize) -> Vec<Item> {
        trace.members.iter().filter_map(|member| self.member(placement, member, depth)).collect()
    }

    fn member(&self, placement: usize, member: &MemberTrial, depth: usize) -> Option<Item> {
        let (name, verdict) = (member.pod.to_string(), explain::member_verdict(&member.verdict));
        if !self.find.matches([name.as_str(), verdict.as_str()]) {
            return None;
        }
        let code = match &member.verdict {
            MemberVerdict::Fits { permit, .. } => permit.code(),
            MemberVerdict::NeedsRoom { .. } => Code::Pending,
            MemberVerdict::Rejected { .. } => Code::Unschedulable,
            MemberVerdict::Error { .. } => Code::Error,
        };
        let mut spans =
            vec![Span::styled(format!("{} ", self.cx.glyphs.code(code)), self.cx.theme.code(code))];
        spans.extend(self.find.spans(&name, self.style(Role::Name), self.cx));
        spans.push(text::span(format!("  {verdict}"), self.style(Role::Muted)));
        let line = self.line(spans, depth, false);
        Some(TreeItem::new_leaf(RowId::Member(placement, member.pod.clone()), line))
    }
}
