//! What is worked out of the extenders before anything is asked of them.
//!
//! Follows `buildExtenders` of `pkg/scheduler/scheduler.go` and `makeTransport` of `extender.go`. Certificates in
//! files are for the driver to read; only what stands in the configuration itself is checked.

use super::effective::{BuildProblem, Subject};
use super::plugin_names as names;
use super::v1::{Extender, KubeSchedulerProfile, PluginArgs};
use crate::api::field::{child, index};

/// Checks the extenders, and gives the resources that they take care of to NodeResourcesFit of every profile, where
/// they replace the configured `ignoredResources`.
pub(super) fn check(extenders: &[Extender], profiles: &mut [KubeSchedulerProfile]) -> Vec<BuildProblem> {
    let mut problems = Vec::new();
    for (i, extender) in extenders.iter().enumerate() {
        if let Some((text, field)) = tls_problem(extender) {
            let path = child(&child(&index("extenders", i), "tlsConfig"), field);
            problems.push(problem(text, path));
        }
    }
    let resources = extenders.iter().flat_map(|extender| &extender.managed_resources);
    let ignored = resources.filter(|resource| resource.ignored_by_scheduler);
    let ignored: Vec<String> = ignored.map(|resource| resource.name.clone()).collect();
    if ignored.is_empty() {
        return problems;
    }
    for (i, profile) in profiles.iter_mut().enumerate() {
        let fit = profile.plugin_config.iter_mut().find(|config| config.name == names::NODE_RESOURCES_FIT);
        match fit.map(|config| &mut config.args) {
            Some(PluginArgs::NodeResourcesFit(args)) => args.ignored_resources.clone_from(&ignored),
            _ => problems
                .push(problem("can't find NodeResourcesFitArgs in plugin config", index("profiles", i))),
        }
    }
    problems
}

fn problem(text: &str, path: String) -> BuildProblem {
    BuildProblem { text: format!("couldn't build extenders: {text}"), subject: Subject::Fields(vec![path]) }
}

/// What is wrong with how TLS is to be spoken, and the field that it is about.
fn tls_problem(extender: &Extender) -> Option<(&'static str, &'static str)> {
    let tls = extender.tls_config.as_ref()?;
    let has_ca = !tls.ca_data.0.is_empty() || !tls.ca_file.is_empty();
    if has_ca && tls.insecure {
        return Some((
            "specifying a root certificates file with the insecure flag is not allowed",
            "insecure",
        ));
    }
    if !tls.ca_data.0.is_empty() && !has_certificate(&tls.ca_data.0) {
        let text = "unable to load root certificates: unable to parse bytes as PEM block";
        return Some((text, "caData"));
    }
    let has_cert = !tls.cert_data.0.is_empty() || !tls.cert_file.is_empty();
    let has_key = !tls.key_data.0.is_empty() || !tls.key_file.is_empty();
    if has_cert && has_key && !tls.cert_data.0.is_empty() && !has_certificate(&tls.cert_data.0) {
        return Some(("tls: failed to find any PEM data in certificate input", "certData"));
    }
    None
}

/// Whether there is a PEM block of a certificate.
fn has_certificate(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).contains("-----BEGIN CERTIFICATE-----")
}
