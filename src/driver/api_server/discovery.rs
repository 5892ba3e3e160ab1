//! What is served: groups, versions, resources, and as much of OpenAPI as kubectl asks for before it writes.
//!
//! Discovery in both forms, document by document and aggregated (KEP-3352). The OpenAPI documents say for each kind that
//! a write takes `fieldValidation`, so that kubectl leaves validation to the server; they hold no schemas.

use http::{Response, StatusCode};
use hyper::body::Bytes;
use serde_json::{Map, Value, json};

use super::body::{Answer, answer as answer_with, json_answer};
use super::route::{Route, parse};
use crate::driver::sandbox::resources::{Resource, ResourceId};

/// The version whose API this is.
const KUBERNETES_VERSION: &str = "v1.36.3";
/// As the real server writes it: the at sign of what is asked for cannot stand in an answer.
const OPENAPI_V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Groups whose requests are answered and of which nothing is kept.
const REVIEWS: [(&str, &[(&str, &str)]); 2] = [
    (
        "authentication.k8s.io",
        &[("selfsubjectreviews", "SelfSubjectReview"), ("tokenreviews", "TokenReview")],
    ),
    (
        "authorization.k8s.io",
        &[
            ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
            ("selfsubjectrulesreviews", "SelfSubjectRulesReview"),
            ("subjectaccessreviews", "SubjectAccessReview"),
        ],
    ),
];

/// The answer to a path that is about what is served; `None` if it is about something else.
pub(super) fn answer(path: &str, accept: &str) -> Option<Response<Answer>> {
    let is_aggregated = accept.contains("as=APIGroupDiscoveryList") && accept.contains("v=v2");
    let ok = |value: &Value| Some(json_answer(StatusCode::OK, value));
    match path {
        "/version" | "/version/" => return ok(&version()),
        "/openapi/v3" => return ok(&openapi_index()),
        // kubectl looks here for kinds that it does not find elsewhere. An empty message is an empty document.
        "/openapi/v2" if accept.contains("openapi.spec.v2") => {
            return Some(answer_with(StatusCode::OK, OPENAPI_V2_PROTOBUF, Bytes::new()));
        }
        "/openapi/v2" => return ok(&json!({"swagger": "2.0", "info": {"title": "schedscope"}, "paths": {}})),
        "/" => {
            let paths =
                ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"];
            return ok(&json!({"paths": paths}));
        }
        _ => {}
    }
    if let Some(version) = path.strip_prefix("/openapi/v3/") {
        return openapi(version).map(|document| json_answer(StatusCode::OK, &document));
    }
    match parse(path)? {
        Route::Core if is_aggregated => Some(aggregated(&[String::new()])),
        Route::Core => ok(&json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
        })),
        Route::Groups if is_aggregated => Some(aggregated(&groups())),
        Route::Groups => {
            let groups: Vec<Value> = groups().iter().map(|name| group(name)).collect();
            ok(&json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        Route::Group(name) if groups().contains(&name) => {
            let mut group = group(&name);
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            ok(&group)
        }
        Route::Version(name, version) => {
            let resources = resource_list(&name, &version);
            if resources.is_empty() {
                return None;
            }
            let group_version = if name.is_empty() { version } else { format!("{name}/{version}") };
            ok(&json!({
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version,
                "resources": resources,
            }))
        }
        _ => None,
    }
}

fn version() -> Value {
    let version = KUBERNETES_VERSION;
    let mut parts = version.trim_start_matches('v').split('.');
    json!({
        "major": parts.next().unwrap_or_default(), "minor": parts.next().unwrap_or_default(),
        "gitVersion": format!("{version}+schedscope"), "gitCommit": "", "gitTreeState": "", "buildDate": "",
        "goVersion": "", "compiler": "rustc",
        "platform": "",
    })
}

/// The names of all groups but the core one.
fn groups() -> Vec<String> {
    let mut groups: Vec<String> = REVIEWS.iter().map(|(group, _)| (*group).to_owned()).collect();
    groups.extend(ResourceId::all().map(|id| id.get().group.to_owned()).filter(|group| !group.is_empty()));
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// The versions of a group, the preferred one first.
fn versions(group: &str) -> Vec<&'static str> {
    if REVIEWS.iter().any(|(name, _)| *name == group) {
        return vec!["v1"];
    }
    let mut versions: Vec<&str> =
        ResourceId::all().map(ResourceId::get).filter(|it| it.group == group).map(|it| it.version).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

fn group(name: &str) -> Value {
    let version = |version: &&str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let versions = versions(name);
    json!({
        "name": name,
        "versions": versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(version),
    })
}

/// The parts of a resource: name, group and version of the kind, kind, verbs.
fn parts(resource: &Resource) -> Vec<(&'static str, &'static str, &'static str, &'static [&'static str])> {
    let mut parts: Vec<(_, _, _, &[&str])> = Vec::new();
    if resource.has_status {
        parts.push(("status", "", resource.kind, &["get", "patch", "update"]));
    }
    if resource.has_scale {
        parts.push(("scale", "autoscaling/v1", "Scale", &["get", "patch", "update"]));
    }
    if resource.kind == "Pod" {
        parts.push(("binding", "v1", "Binding", &["create"]));
        parts.push(("eviction", "policy/v1", "Eviction", &["create"]));
    }
    parts
}

fn resource_list(group: &str, version: &str) -> Vec<Value> {
    let mut list = Vec::new();
    for (name, resources) in REVIEWS {
        if name == group && version == "v1" {
            list.extend(resources.iter().map(|(plural, kind)| {
                json!({"name": plural, "singularName": kind.to_lowercase(), "namespaced": false, "kind": kind,
                       "verbs": ["create"]})
            }));
        }
    }
    let served = ResourceId::all().map(ResourceId::get);
    for resource in served.filter(|resource| resource.group == group && resource.version == version) {
        let mut entry = json!({
            "name": resource.plural, "singularName": resource.kind.to_lowercase(),
            "namespaced": resource.is_namespaced, "kind": resource.kind, "verbs": VERBS,
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = json!(resource.short_names);
        }
        if resource.is_in_all {
            entry["categories"] = json!(["all"]);
        }
        list.push(entry);
        for (part, api_version, kind, verbs) in parts(resource) {
            let mut entry = json!({
                "name": format!("{}/{part}", resource.plural), "singularName": "",
                "namespaced": resource.is_namespaced, "kind": kind, "verbs": verbs,
            });
            if let Some((group, version)) = group_version(api_version) {
                entry["group"] = group.into();
                entry["version"] = version.into();
            }
            list.push(entry);
        }
    }
    list
}

/// Group and version of an `apiVersion`; `None` for an empty one.
fn group_version(api_version: &str) -> Option<(&str, &str)> {
    if api_version.is_empty() {
        return None;
    }
    Some(api_version.split_once('/').unwrap_or(("", api_version)))
}

/// Discovery of groups in one document.
fn aggregated(groups: &[String]) -> Response<Answer> {
    let items: Vec<Value> = groups
        .iter()
        .map(|group| {
            let versions: Vec<Value> = versions(group)
                .into_iter()
                .map(|version| {
                    let resources = aggregated_resources(group, version);
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let mut metadata = json!({"creationTimestamp": null});
            if !group.is_empty() {
                metadata["name"] = group.clone().into();
            }
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    super::body::answer(
        StatusCode::OK,
        AGGREGATED,
        Bytes::from(serde_json::to_vec(&list).unwrap_or_default()),
    )
}

fn aggregated_resources(group: &str, version: &str) -> Vec<Value> {
    let scope = |is_namespaced: bool| if is_namespaced { "Namespaced" } else { "Cluster" };
    let kind_of =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut list = Vec::new();
    for (name, resources) in REVIEWS {
        if name == group {
            list.extend(resources.iter().map(|(plural, kind)| {
                json!({
                    "resource": plural, "responseKind": kind_of(group, version, kind), "scope": "Cluster",
                    "singularResource": kind.to_lowercase(), "verbs": ["create"],
                })
            }));
        }
    }
    let served = ResourceId::all().map(ResourceId::get);
    for resource in served.filter(|resource| resource.group == group && resource.version == version) {
        let mut entry = json!({
            "resource": resource.plural,
            "responseKind": kind_of(group, version, resource.kind),
            "scope": scope(resource.is_namespaced),
            "singularResource": resource.kind.to_lowercase(),
            "verbs": VERBS,
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = json!(resource.short_names);
        }
        if resource.is_in_all {
            entry["categories"] = json!(["all"]);
        }
        let parts: Vec<Value> = parts(resource)
            .into_iter()
            .map(|(part, api_version, kind, verbs)| {
                let (group, version) = group_version(api_version).unwrap_or((group, version));
                json!({"subresource": part, "responseKind": kind_of(group, version, kind), "verbs": verbs})
            })
            .collect();
        if !parts.is_empty() {
            entry["subresources"] = parts.into();
        }
        list.push(entry);
    }
    list
}

/// `api/v1`, `apis/apps/v1`: each group version by its path.
fn group_paths() -> Vec<(String, String, &'static str)> {
    let core = (String::from("api/v1"), String::new(), "v1");
    let others = groups().into_iter().flat_map(|group| {
        versions(&group)
            .into_iter()
            .map(|version| (format!("apis/{group}/{version}"), group.clone(), version))
            .collect::<Vec<_>>()
    });
    std::iter::once(core).chain(others).collect()
}

fn openapi_index() -> Value {
    let paths: Map<String, Value> = group_paths()
        .into_iter()
        .map(|(path, ..)| {
            let url = json!({"serverRelativeURL": format!("/openapi/v3/{path}")});
            (path, url)
        })
        .collect();
    json!({"paths": paths})
}

fn openapi(path: &str) -> Option<Value> {
    let (_, group, version) = group_paths().into_iter().find(|(known, ..)| known == path)?;
    let query = |name: &str| json!({"name": name, "in": "query", "required": false, "schema": {"type": "string", "uniqueItems": true}});
    let mut paths = Map::new();
    let served = ResourceId::all().map(ResourceId::get);
    for resource in served.filter(|resource| resource.group == group && resource.version == version) {
        let kind = json!({"group": group, "version": version, "kind": resource.kind});
        let write = |action: &str| {
            json!({
                "parameters": [query("dryRun"), query("fieldManager"), query("fieldValidation")],
                "responses": {"200": {"description": "OK"}},
                "x-kubernetes-action": action,
                "x-kubernetes-group-version-kind": kind,
            })
        };
        let namespaced = if resource.is_namespaced { "/namespaces/{namespace}" } else { "" };
        let all = format!("/{path}{namespaced}/{}", resource.plural);
        paths.insert(format!("{all}/{{name}}"), json!({"put": write("put"), "patch": write("patch")}));
        paths.insert(all, json!({"post": write("post")}));
    }
    Some(json!({
        "openapi": "3.0.0", "info": {"title": "schedscope", "version": KUBERNETES_VERSION}, "paths": paths,
        "components": {"schemas": {}},
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_is_found_in_both_forms() {
        for id in ResourceId::all() {
            let resource = id.get();
            let plain = resource_list(resource.group, resource.version);
            assert!(plain.iter().any(|entry| entry["name"] == resource.plural), "{}", resource.plural);
            let aggregated = aggregated_resources(resource.group, resource.version);
            assert!(aggregated.iter().any(|entry| entry["resource"] == resource.plural));
        }
        assert_eq!(versions("scheduling.k8s.io"), ["v1", "v1alpha2"]);
    }

    #[test]
    fn a_path_that_is_not_about_discovery_is_left_to_others() {
        assert!(answer("/api/v1/pods", "*/*").is_none());
        assert!(answer("/apis/unknown", "*/*").is_none());
        assert!(answer("/openapi/v3/apis/unknown/v1", "*/*").is_none());
        assert!(answer("/apis/apps/v1", "*/*").is_some());
    }
}
