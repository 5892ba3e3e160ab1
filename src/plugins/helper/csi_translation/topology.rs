//! Where a volume can be reached, in the topology keys of its CSI driver.
//!
//! Follows `translateTopologyFromInTreeToCSI` of csi-translation-lib and the variant of vSphere.

use std::collections::BTreeSet;

use super::InTreePlugin;
use crate::api::Str;
use crate::api::objects::{Labels, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};

/// Between the zones of a label that has several.
pub(super) const ZONE_DELIMITER: &str = "__";

/// The label of a zone.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
/// The label of a zone in old clusters.
pub(super) const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// The required node affinity with the driver's keys. A zone in the affinity goes before one in the labels.
pub(super) fn translate(
    plugin: InTreePlugin,
    affinity: Option<&NodeSelector>,
    labels: &Labels,
) -> Option<NodeSelector> {
    let mut affinity = affinity.cloned();
    match plugin {
        InTreePlugin::GcePersistentDisk => translate_zones(&mut affinity, labels, "topology.gke.io/zone"),
        InTreePlugin::AwsElasticBlockStore => {
            translate_zones(&mut affinity, labels, "topology.ebs.csi.aws.com/zone");
        }
        InTreePlugin::Cinder => {
            translate_zones(&mut affinity, labels, "topology.cinder.csi.openstack.org/zone");
        }
        InTreePlugin::Vsphere => translate_vsphere(&mut affinity, labels),
        InTreePlugin::AzureDisk | InTreePlugin::AzureFile | InTreePlugin::Portworx => {}
    }
    affinity
}

fn translate_zones(affinity: &mut Option<NodeSelector>, labels: &Labels, key: &str) {
    let (zone, region) = labels_in_use(affinity.as_ref(), labels);
    if has_values(affinity.as_ref(), zone) {
        rename(affinity, zone, key);
    } else if let Some(zones) = labels.get(zone) {
        require(affinity, key, zones.split(ZONE_DELIMITER));
    }
    // Nodes may have the new label of the region alone; the zone has the driver's key by now.
    if region == BETA_REGION && has_values(affinity.as_ref(), region) {
        rename(affinity, region, REGION);
    }
}

fn translate_vsphere(affinity: &mut Option<NodeSelector>, labels: &Labels) {
    let (zone, region) = labels_in_use(affinity.as_ref(), labels);
    for (label, key) in [(zone, "topology.csi.vmware.com/zone"), (region, "topology.csi.vmware.com/region")] {
        if has_values(affinity.as_ref(), label) {
            rename(affinity, label, key);
        } else if let Some(value) = labels.get(label) {
            require(affinity, key, [&**value]);
        }
    }
}

/// Which labels of zone and region the volume has: the affinity goes before the labels, the new ones before the old.
fn labels_in_use(affinity: Option<&NodeSelector>, labels: &Labels) -> (&'static str, &'static str) {
    let has_key = |key: &str| requirements(affinity).any(|requirement| requirement.key == key);
    let is_beta = !has_key(ZONE)
        && (has_key(BETA_ZONE)
            || !labels.contains_key(&Str::from(ZONE)) && labels.contains_key(&Str::from(BETA_ZONE)));
    if is_beta { (BETA_ZONE, BETA_REGION) } else { (ZONE, REGION) }
}

fn requirements(affinity: Option<&NodeSelector>) -> impl Iterator<Item = &NodeSelectorRequirement> {
    let terms = affinity.into_iter().flat_map(|selector| &selector.node_selector_terms);
    terms.flat_map(|term| &term.match_expressions)
}

fn has_values(affinity: Option<&NodeSelector>, key: &str) -> bool {
    requirements(affinity).any(|requirement| requirement.key == key && !requirement.values.is_empty())
}

fn rename(affinity: &mut Option<NodeSelector>, from: &str, to: &str) {
    let terms = affinity.iter_mut().flat_map(|selector| &mut selector.node_selector_terms);
    for requirement in terms.flat_map(|term| &mut term.match_expressions) {
        if requirement.key == from {
            to.clone_into(&mut requirement.key);
        }
    }
}

/// Adds a requirement to every term; none at all if no value has a letter.
fn require<'a>(affinity: &mut Option<NodeSelector>, key: &str, values: impl IntoIterator<Item = &'a str>) {
    let values: BTreeSet<&str> =
        values.into_iter().map(str::trim).filter(|value| !value.is_empty()).collect();
    if values.is_empty() {
        return;
    }
    let terms = &mut affinity.get_or_insert_default().node_selector_terms;
    if terms.is_empty() {
        terms.push(NodeSelectorTerm::default());
    }
    for term in terms {
        term.match_expressions.push(NodeSelectorRequirement {
            key: key.to_owned(),
            operator: "In".to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| (Str::from(*key), Str::from(*value))).collect()
    }

    /// Terms of `key=value,value`, each expression an `In`.
    fn selector(terms: &[&[&str]]) -> NodeSelector {
        let requirement = |text: &&str| {
            let (key, values) = text.split_once('=').unwrap_or((text, ""));
            let values = values.split(',').filter(|value| !value.is_empty()).map(str::to_owned).collect();
            NodeSelectorRequirement { key: key.to_owned(), operator: "In".to_owned(), values }
        };
        let term = |expressions: &&[&str]| NodeSelectorTerm {
            match_expressions: expressions.iter().map(requirement).collect(),
            match_fields: Vec::new(),
        };
        NodeSelector { node_selector_terms: terms.iter().map(term).collect() }
    }

    const GCE: InTreePlugin = InTreePlugin::GcePersistentDisk;

    #[test]
    fn zones_of_the_affinity_get_the_drivers_key_in_every_term() {
        let both =
            selector(&[&["topology.kubernetes.io/zone=a", "disk=ssd"], &["topology.kubernetes.io/zone=b"]]);
        let expected = selector(&[&["topology.gke.io/zone=a", "disk=ssd"], &["topology.gke.io/zone=b"]]);
        let zone_label = labels(&[(ZONE, "c")]);
        assert_eq!(translate(GCE, Some(&both), &zone_label), Some(expected), "the label does not count then");
    }

    #[test]
    fn without_an_affinity_the_zones_come_from_the_labels() {
        let found = |pairs: &[(&str, &str)]| translate(GCE, None, &labels(pairs));
        assert_eq!(found(&[(ZONE, "b__a__ a ")]), Some(selector(&[&["topology.gke.io/zone=a,b"]])));
        assert_eq!(found(&[(BETA_ZONE, "a")]), Some(selector(&[&["topology.gke.io/zone=a"]])));
        assert_eq!(found(&[(BETA_ZONE, "a"), (ZONE, "b")]), Some(selector(&[&["topology.gke.io/zone=b"]])));
        assert_eq!(found(&[(ZONE, "")]), None);
        assert_eq!(found(&[]), None);
        let others = selector(&[&["disk=ssd"], &["disk=hdd"]]);
        let expected =
            selector(&[&["disk=ssd", "topology.gke.io/zone=a"], &["disk=hdd", "topology.gke.io/zone=a"]]);
        assert_eq!(translate(GCE, Some(&others), &labels(&[(ZONE, "a")])), Some(expected));
    }

    #[test]
    fn an_old_region_gets_its_new_name() {
        let old = selector(&[&[
            "failure-domain.beta.kubernetes.io/zone=a",
            "failure-domain.beta.kubernetes.io/region=r",
        ]]);
        let expected = selector(&[&["topology.ebs.csi.aws.com/zone=a", "topology.kubernetes.io/region=r"]]);
        assert_eq!(translate(InTreePlugin::AwsElasticBlockStore, Some(&old), &Labels::new()), Some(expected));
    }

    #[test]
    fn vsphere_has_keys_for_zone_and_region() {
        let both = labels(&[(ZONE, "a__b"), (REGION, "r")]);
        let expected =
            selector(&[&["topology.csi.vmware.com/zone=a__b", "topology.csi.vmware.com/region=r"]]);
        assert_eq!(translate(InTreePlugin::Vsphere, None, &both), Some(expected));
    }

    #[test]
    fn azure_and_portworx_keep_what_they_have() {
        let zone = selector(&[&["topology.kubernetes.io/zone=a"]]);
        for plugin in [InTreePlugin::AzureDisk, InTreePlugin::AzureFile, InTreePlugin::Portworx] {
            assert_eq!(translate(plugin, Some(&zone), &labels(&[(ZONE, "b")])), Some(zone.clone()));
        }
    }
}
