//! Numbers by topology pair (key and value), as PreFilter counts pods and PreScore adds up weights.

use std::fmt;
use std::sync::Arc;

use crate::api::Str;
use crate::framework::topology::{Domain, DomainCounts, Domains, ShowCounts};
use crate::framework::{NodeInfo, PodClass, Snapshot};

/// A number for every domain of some topology keys.
#[derive(Clone, Default)]
pub(super) struct TopologyCounts {
    keys: Vec<(Arc<Domains>, DomainCounts)>,
    /// How many pairs have a number other than 0.
    n_pairs: usize,
}

impl TopologyCounts {
    /// Whether every number is 0.
    pub(super) fn is_zero(&self) -> bool {
        self.n_pairs == 0
    }

    /// The topology keys with their domains and numbers.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&Domains, &DomainCounts)> {
        self.keys.iter().map(|(domains, counts)| (domains.as_ref(), counts))
    }

    /// The sum of the numbers of the domains that the node is in.
    pub(super) fn sum(&self, node: &NodeInfo, position: Option<usize>) -> i64 {
        let numbers = self.keys().filter_map(|(domains, counts)| match domains.of(node, position) {
            Domain::Known(domain) => Some(counts.get(domain)),
            Domain::Absent | Domain::Foreign => None,
        });
        numbers.sum()
    }

    /// Whether any domain that the node is in has a number above 0.
    pub(super) fn is_any_positive(&self, node: &NodeInfo, position: Option<usize>) -> bool {
        !self.is_zero()
            && self.keys().any(|(domains, counts)| match domains.of(node, position) {
                Domain::Known(domain) => counts.get(domain) > 0,
                Domain::Absent | Domain::Foreign => false,
            })
    }

    /// Changes the number of the node's domain of that key; nothing happens if the node lacks the key.
    pub(super) fn add(&mut self, snapshot: &Snapshot, key: &Str, node: &NodeInfo, change: i64) {
        let index = match self.keys.iter().position(|(domains, _)| domains.key() == key) {
            Some(index) => index,
            None => {
                let domains = snapshot.domains(key);
                let zeros = DomainCounts::new(vec![0; domains.len()]);
                self.keys.push((domains, zeros));
                self.keys.len() - 1
            }
        };
        let Some((domains, counts)) = self.keys.get_mut(index) else { return };
        let Domain::Known(domain) = domains.of(node, snapshot.position_of(node)) else { return };
        let before = counts.get(domain);
        let after = counts.add(domain, change);
        match (before, after) {
            (0, 0) => {}
            (0, _) => self.n_pairs += 1,
            (_, 0) => self.n_pairs -= 1,
            _ => {}
        }
    }
}

impl fmt::Debug for TopologyCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys().map(|(domains, counts)| ShowCounts { domains, counts })).finish()
    }
}

/// Adds numbers up, class of pods by class of pods.
pub(super) struct Adder<'a> {
    snapshot: &'a Snapshot,
    keys: Vec<(Arc<Domains>, Vec<i64>)>,
    /// The nodes whose pods count, by position; all if absent.
    listed: Option<&'a [bool]>,
    has_added: bool,
}

impl<'a> Adder<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        Self::on(snapshot, None)
    }

    /// Counts pods on the nodes of a list alone.
    pub(super) fn on(snapshot: &'a Snapshot, listed: Option<&'a [bool]>) -> Self {
        Self { snapshot, keys: Vec::new(), listed, has_added: false }
    }

    /// Makes a key known, so that it is in the outcome even if nothing is added to it.
    pub(super) fn know(&mut self, key: &Str) -> usize {
        match self.keys.iter().position(|(domains, _)| domains.key() == key) {
            Some(index) => index,
            None => {
                let domains = self.snapshot.domains(key);
                let zeros = vec![0; domains.len()];
                self.keys.push((domains, zeros));
                self.keys.len() - 1
            }
        }
    }

    /// Adds `number` to the domain of each pod of the class.
    pub(super) fn add(&mut self, key: &Str, class: &PodClass, number: i64) {
        let index = self.know(key);
        let Some((domains, numbers)) = self.keys.get_mut(index) else { return };
        for (position, n_pods) in class.nodes() {
            let Some(domain) = domains.at(position) else { continue };
            if self.listed.is_some_and(|listed| listed.get(position) == Some(&false)) {
                continue;
            }
            if let Some(sum) = numbers.get_mut(domain as usize) {
                *sum += number * n_pods;
                self.has_added = true;
            }
        }
    }

    /// Whether anything was added to any domain, be it 0 in the end.
    pub(super) const fn has_added(&self) -> bool {
        self.has_added
    }

    pub(super) fn finish(self) -> TopologyCounts {
        let is_set = |numbers: &Vec<i64>| numbers.iter().filter(|number| **number != 0).count();
        let n_pairs = self.keys.iter().map(|(_, numbers)| is_set(numbers)).sum();
        let keys = self.keys.into_iter().map(|(domains, numbers)| (domains, DomainCounts::new(numbers)));
        TopologyCounts { keys: keys.collect(), n_pairs }
    }
}
