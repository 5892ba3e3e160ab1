//! The rows of a pod group's cycle: its placements, and what each member came to in each of them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use tui_tree_widget::TreeItem;

use super::{Cx, Item, RowId, TreeDrawer};
use crate::explain;
use crate::framework::Code;
use crate::scheduler::pod_group_trace::{
    GroupOutcome, GroupTrace, MemberTrial, MemberVerdict, PlacementTrace,
};
use crate::tui::theme::Role;
use crate::tui::widgets::text;

/// How many members are shown by their signs.
const N_SIGNS: usize = 24;

const fn standing_role(group: &GroupTrace) -> Role {
    match &group.outcome {
        GroupOutcome::InProgress => Role::Text,
        GroupOutcome::Scheduled => Role::StatusSuccess,
        GroupOutcome::WaitingOnPreemption { .. } => Role::StatusWait,
        GroupOutcome::Unschedulable { .. } => Role::StatusUnschedulable,
        GroupOutcome::Error { .. } => Role::StatusError,
    }
}

fn code_of(verdict: &MemberVerdict) -> Code {
    match verdict {
        MemberVerdict::Fits { permit, .. } => permit.code(),
        MemberVerdict::NeedsRoom { .. } => Code::Pending,
        MemberVerdict::Rejected { .. } => Code::Unschedulable,
        MemberVerdict::Error { .. } => Code::Error,
    }
}

/// A line about the group: its name, a sign for each member in the placement that matters, and how it stands.
pub(super) fn render_standing(area: Rect, buf: &mut Buffer, group: &GroupTrace, cx: &Cx<'_>) {
    let style = |role| cx.theme.style(role);
    let mut spans = vec![
        Span::styled("group ", style(Role::Muted)),
        text::span(group.group.to_string(), style(Role::Name)),
        Span::raw(" "),
    ];
    let run = group.schedule_run();
    let placement = run.and_then(|run| {
        let chosen = run.placements.iter().find(|placement| run.chosen.as_ref() == Some(&placement.name));
        chosen.or_else(|| run.placements.last())
    });
    let members = placement.map_or(&[][..], |placement| placement.members.as_slice());
    if group.members.len() <= N_SIGNS {
        for index in 0..group.members.len() {
            spans.push(match members.get(index) {
                Some(member) => {
                    let code = code_of(&member.verdict);
                    Span::styled(cx.glyphs.code(code), cx.theme.code(code))
                }
                None if index == members.len() && group.outcome == GroupOutcome::InProgress => {
                    Span::styled(cx.glyphs.next, style(Role::Accent))
                }
                None => Span::styled(cx.glyphs.dot, style(Role::Muted)),
            });
        }
        spans.push(Span::raw(" "));
    }
    spans.push(text::span(explain::group_so_far(group), style(standing_role(group))));
    if let Some(next) = group.next {
        spans.push(Span::styled(format!(" {} then {next}", cx.glyphs.dot), style(Role::Muted)));
    }
    let width = area.width.saturating_sub(2);
    text::put_line(buf, area.x + 1, area.y, width, &Line::from(spans), cx.glyphs);
}

impl TreeDrawer<'_> {
    /// The group to which the attempt belongs.
    pub(super) fn group(&self, group: &GroupTrace) -> Option<Item> {
        let mut children = Vec::new();
        if let Some(run) = group.schedule_run() {
            for (index, placement) in run.placements.iter().enumerate() {
                if placement.name.is_empty() {
                    children.extend(self.members(group, index, placement, 1));
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
        let role = standing_role(group);
        let mut spans = vec![Span::styled("group ", self.style(Role::Strong))];
        spans.extend(self.find.spans(&name, self.style(Role::Name), self.cx));
        spans.push(text::span(format!("  {}", explain::group_so_far(group)), self.style(role)));
        TreeItem::new(RowId::Group, self.line(spans, 0, false), children).ok()
    }

    fn placement(&self, group: &GroupTrace, index: usize, placement: &PlacementTrace) -> Option<Item> {
        let children = self.members(group, index, placement, 2);
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

    fn members(
        &self,
        group: &GroupTrace,
        placement: usize,
        trace: &PlacementTrace,
        depth: usize,
    ) -> Vec<Item> {
        let tried = trace.members.iter().filter_map(|member| self.member(placement, member, depth));
        tried.chain(self.untried(group, placement, trace, depth)).collect()
    }

    /// The members whose turn has not come in a placement that is being tried.
    fn untried(
        &self,
        group: &GroupTrace,
        placement: usize,
        trace: &PlacementTrace,
        depth: usize,
    ) -> Vec<Item> {
        if trace.status.is_some() {
            return Vec::new();
        }
        let rest = group.members.iter().skip(trace.members.len());
        let rows = rest.enumerate().filter_map(|(index, member)| {
            let name = member.pod.to_string();
            let is_next = index == 0;
            let (sign, words) =
                if is_next { (self.cx.glyphs.next, "  being tried") } else { (" ", "  not tried yet") };
            if !self.find.matches([name.as_str(), words]) {
                return None;
            }
            let role = if is_next { Role::Accent } else { Role::Muted };
            let mut spans = vec![Span::styled(format!("{sign} "), self.style(role))];
            spans.extend(self.find.spans(&name, self.style(Role::Name), self.cx));
            spans.push(Span::styled(words, self.style(role)));
            let id = RowId::Member(placement, member.pod.clone());
            Some(TreeItem::new_leaf(id, self.line(spans, depth, false)))
        });
        rows.collect()
    }

    fn member(&self, placement: usize, member: &MemberTrial, depth: usize) -> Option<Item> {
        let (name, verdict) = (member.pod.to_string(), explain::member_verdict(&member.verdict));
        if !self.find.matches([name.as_str(), verdict.as_str()]) {
            return None;
        }
        let code = code_of(&member.verdict);
        let mut spans =
            vec![Span::styled(format!("{} ", self.cx.glyphs.code(code)), self.cx.theme.code(code))];
        spans.extend(self.find.spans(&name, self.style(Role::Name), self.cx));
        spans.push(text::span(format!("  {verdict}"), self.style(Role::Muted)));
        let line = self.line(spans, depth, false);
        Some(TreeItem::new_leaf(RowId::Member(placement, member.pod.clone()), line))
    }
}
