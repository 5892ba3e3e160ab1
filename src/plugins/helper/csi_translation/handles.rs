//! The handle under which a CSI driver knows a volume.
//!
//! Follows the `plugins` of csi-translation-lib.

use std::collections::BTreeSet;

use serde_json::Value;

use super::InTreePlugin;
use super::topology::{BETA_ZONE, ZONE, ZONE_DELIMITER};
use crate::api::objects::PersistentVolume;
use crate::plugins::helper::volumes::text;

/// Stands for what is not known of a disk of GCE.
const UNSPECIFIED: &str = "UNSPECIFIED";
/// The annotation of a volume with the resource group of its share.
const RESOURCE_GROUP: &str = "kubernetes.io/azure-file-resource-group";

/// The handle of an inline volume.
pub(super) fn inline(
    plugin: InTreePlugin,
    source: &Value,
    volume_name: &str,
    namespace: &str,
) -> Result<String, String> {
    match plugin {
        InTreePlugin::GcePersistentDisk => Ok(gce("zones", UNSPECIFIED, source)),
        InTreePlugin::AzureFile => {
            let namespace = if namespace.is_empty() { "default" } else { namespace };
            Ok(azure_file("", source, volume_name, namespace))
        }
        _ => other(plugin, source),
    }
}

/// The handle of a persistent volume.
pub(super) fn persistent(
    plugin: InTreePlugin,
    source: &Value,
    volume: &PersistentVolume,
) -> Result<String, String> {
    match plugin {
        InTreePlugin::GcePersistentDisk => {
            let label = |key: &str| {
                volume.metadata.labels.get(key).map(|value| &**value).filter(|value| !value.is_empty())
            };
            let zones: Vec<&str> =
                label(BETA_ZONE).or_else(|| label(ZONE)).unwrap_or_default().split(ZONE_DELIMITER).collect();
            match zones.as_slice() {
                [] | [""] => Ok(gce("zones", UNSPECIFIED, source)),
                [zone] => Ok(gce("zones", zone, source)),
                _ => {
                    let region = gce_region(&zones)
                        .map_err(|error| format!("failed to get region from zones: {error}"))?;
                    Ok(gce("regions", &region, source))
                }
            }
        }
        InTreePlugin::AzureFile => {
            let own = source.get("secretNamespace").and_then(Value::as_str);
            let of_claim = volume.spec.claim_ref.as_ref().map(|claim| &*claim.namespace);
            let namespace = own.or(of_claim).filter(|namespace| !namespace.is_empty());
            let namespace = namespace.ok_or_else(|| {
                "could not find a secret namespace in PersistentVolumeSource or ClaimRef".to_owned()
            })?;
            let group = volume.metadata.annotations.get(RESOURCE_GROUP).map_or("", |group| group);
            Ok(azure_file(group, source, &volume.metadata.name, namespace))
        }
        _ => other(plugin, source),
    }
}

/// Those whose handle is in the source and nowhere else.
fn other(plugin: InTreePlugin, source: &Value) -> Result<String, String> {
    match plugin {
        InTreePlugin::AwsElasticBlockStore => aws(text(source, "volumeID"))
            .map_err(|error| format!("failed to translate Kubernetes ID to EBS Volume ID {error}")),
        InTreePlugin::AzureDisk => match source.get("kind").and_then(Value::as_str) {
            Some(kind) if !kind.eq_ignore_ascii_case("Managed") => {
                Err(format!("kind({kind}) is not supported in csi migration"))
            }
            _ => Ok(text(source, "diskURI").to_owned()),
        },
        InTreePlugin::Vsphere => Ok(text(source, "volumePath").to_owned()),
        _ => Ok(text(source, "volumeID").to_owned()),
    }
}

fn gce(scope: &str, place: &str, source: &Value) -> String {
    format!("projects/{UNSPECIFIED}/{scope}/{place}/disks/{}", text(source, "pdName"))
}

/// The region that all zones are in: `us-east1` of `us-east1-b`.
fn gce_region(zones: &[&str]) -> Result<String, String> {
    let mut regions = BTreeSet::new();
    for zone in zones {
        let parts: Vec<&str> = zone.split('-').collect();
        let [locale, region, _] = parts.as_slice() else {
            return Err(format!(
                "zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            ));
        };
        regions.insert(format!("{locale}-{region}"));
    }
    if regions.len() > 1 {
        let regions: Vec<String> = regions.into_iter().map(|region| format!("{region}:{{}}")).collect();
        return Err(format!("multiple or no regions gotten from zones, got: map[{}]", regions.join(" ")));
    }
    Ok(regions.pop_first().unwrap_or_default())
}

/// The id of Amazon in `aws://zone/vol-1`, `aws:///vol-1` or `vol-1`.
fn aws(id: &str) -> Result<String, String> {
    let Some(rest) = id.strip_prefix("aws://") else { return Ok(id.to_owned()) };
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let path = path.find('/').and_then(|at| path.get(at..)).unwrap_or_default();
    let path = unescape(path)
        .map_err(|error| format!("Invalid disk name ({id}): parse {id:?}: invalid URL escape {error:?}"))?;
    let volume = path.trim_matches('/');
    if volume.starts_with("vol-") && !volume.contains('/') {
        return Ok(volume.to_owned());
    }
    Err(format!("Invalid format for AWS volume ({id})"))
}

/// A path with its `%2F` and the like replaced; an error names the escape that is none.
fn unescape(path: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = more.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let is_hex = |digits: &&str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match digits.filter(is_hex).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = more.get(2..).unwrap_or_default();
            }
            None => {
                let escape = [b"%", more.get(..2).unwrap_or(more)].concat();
                return Err(String::from_utf8_lossy(&escape).into_owned());
            }
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn azure_file(group: &str, source: &Value, volume_name: &str, namespace: &str) -> String {
    let secret = text(source, "secretName");
    let account = storage_account(secret).unwrap_or(secret);
    format!("{group}#{account}#{}#{volume_name}#{namespace}", text(source, "shareName"))
}

/// The account in the name of a secret: what `azure-storage-account-(.+)-secret` finds.
fn storage_account(secret: &str) -> Option<&str> {
    const PREFIX: &str = "azure-storage-account-";
    secret.match_indices(PREFIX).find_map(|(at, _)| {
        let rest = secret.get(at + PREFIX.len()..)?.lines().next()?;
        let end = rest.rfind("-secret").filter(|end| *end > 0)?;
        rest.get(..end)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::Str;
    use crate::api::objects::ObjectReference;
    use InTreePlugin::{AwsElasticBlockStore, AzureDisk, AzureFile, GcePersistentDisk, Portworx, Vsphere};

    fn handle(plugin: InTreePlugin, source: &Value, labels: &[(&str, &str)]) -> Result<String, String> {
        let mut volume = PersistentVolume::default();
        volume.metadata.name = Str::from("pv");
        volume.metadata.labels =
            labels.iter().map(|(key, value)| (Str::from(*key), Str::from(*value))).collect();
        let claim = ObjectReference { namespace: Str::from("shop"), ..ObjectReference::default() };
        volume.spec.claim_ref = Some(claim);
        persistent(plugin, source, &volume)
    }

    fn ok(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }

    #[test]
    fn a_disk_of_gce_is_named_by_the_zone_or_region_of_its_labels() {
        let disk = json!({"pdName": "d"});
        let zonal = ok("projects/UNSPECIFIED/zones/us-east1-b/disks/d");
        assert_eq!(handle(GcePersistentDisk, &disk, &[(ZONE, "us-east1-b")]), zonal);
        assert_eq!(handle(GcePersistentDisk, &disk, &[(ZONE, "x"), (BETA_ZONE, "us-east1-b")]), zonal);
        assert_eq!(
            handle(GcePersistentDisk, &disk, &[(ZONE, "us-east1-b__us-east1-c")]),
            ok("projects/UNSPECIFIED/regions/us-east1/disks/d")
        );
        let unknown = ok("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
        assert_eq!(handle(GcePersistentDisk, &disk, &[]), unknown);
        assert_eq!(inline(GcePersistentDisk, &disk, "v", "shop"), unknown);
        assert_eq!(
            handle(GcePersistentDisk, &disk, &[(ZONE, "us-west1-a__us-east1-b")]),
            Err("failed to get region from zones: multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]".to_owned())
        );
        assert!(
            handle(GcePersistentDisk, &disk, &[(ZONE, "a__b")]).is_err_and(|text| text.ends_with("got: a"))
        );
    }

    #[test]
    fn a_volume_of_amazon_is_its_id_with_or_without_a_zone() {
        let id = |id: &str| inline(AwsElasticBlockStore, &json!({"volumeID": id}), "v", "shop");
        for same in ["aws://us-east-1a/vol-1", "aws:///vol-1", "vol-1", "aws://us-east-1a/vol%2D1/"] {
            assert_eq!(id(same), ok("vol-1"), "{same}");
        }
        assert_eq!(id("disk-1"), ok("disk-1"), "a bare id is not looked at");
        assert_eq!(
            id("aws:///disk-1"),
            Err("failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws:///disk-1)".to_owned())
        );
        assert!(id("aws:///vol-1/2").is_err());
        assert!(id("aws:///vol-%zz").is_err_and(|text| text.ends_with("invalid URL escape \"%zz\"")));
    }

    #[test]
    fn a_disk_of_azure_must_be_managed() {
        let disk = |kind: &str| handle(AzureDisk, &json!({"diskURI": "/subscriptions/x", "kind": kind}), &[]);
        assert_eq!(disk("managed"), ok("/subscriptions/x"));
        assert_eq!(disk("Dedicated"), Err("kind(Dedicated) is not supported in csi migration".to_owned()));
        assert_eq!(handle(AzureDisk, &json!({"diskURI": "u"}), &[]), ok("u"));
    }

    #[test]
    fn a_share_of_azure_is_named_by_account_share_volume_and_namespace() {
        let share = json!({"secretName": "azure-storage-account-acc-secret", "shareName": "s"});
        assert_eq!(handle(AzureFile, &share, &[]), ok("#acc#s#pv#shop"));
        assert_eq!(inline(AzureFile, &share, "v", ""), ok("#acc#s#v#default"));
        let other = json!({"secretName": "mine", "shareName": "s", "secretNamespace": "vault"});
        assert_eq!(handle(AzureFile, &other, &[]), ok("#mine#s#pv#vault"));
        assert_eq!(storage_account("x-azure-storage-account-a-secret-b-secret-c"), Some("a-secret-b"));
        assert_eq!(storage_account("azure-storage-account--secret"), None);
    }

    #[test]
    fn the_others_have_their_handle_in_the_source() {
        assert_eq!(handle(Portworx, &json!({"volumeID": "p"}), &[]), ok("p"));
        assert_eq!(handle(InTreePlugin::Cinder, &json!({"volumeID": "c"}), &[]), ok("c"));
        assert_eq!(inline(Vsphere, &json!({"volumePath": "[ds] x"}), "v", "shop"), ok("[ds] x"));
    }
}
