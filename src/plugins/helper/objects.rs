//! The objects of an event in the type that a hint expects.
//!
//! Follows `schedutil.As` of `pkg/scheduler/util/utils.go`.

use std::sync::Arc;

use crate::api::objects::{DeviceClass, Node, Pod, PodGroup, ResourceClaim};
use crate::api::{Object, OfKind};

/// Old and new pod of an event.
type PodChange<'a> = (Option<&'a Arc<Pod>>, Option<&'a Arc<Pod>>);

/// An object as it was and as it is; absent where it came or went.
type OldAndNew<'a, T> = (Option<&'a Arc<T>>, Option<&'a Arc<T>>);

/// Old and new object of a type.
///
/// # Errors
/// One of the objects is of another type.
pub fn as_type<'a, T: OfKind>(
    old: Option<&'a Object>,
    new: Option<&'a Object>,
) -> Result<OldAndNew<'a, T>, String> {
    let typed = |object: Option<&'a Object>| match object {
        None => Ok(None),
        Some(object) => match T::of(object) {
            Some(typed) => Ok(Some(typed)),
            None => Err(format!("expected a {}, but got a {}", T::KIND, object.kind())),
        },
    };
    Ok((typed(old)?, typed(new)?))
}

/// The object as it was, if it was there, and as it is.
///
/// # Errors
/// One of the objects is of another type, or there is no new one.
pub fn changed<'a, T: OfKind>(
    old: Option<&'a Object>,
    new: Option<&'a Object>,
) -> Result<(Option<&'a Arc<T>>, &'a Arc<T>), String> {
    let (old, new) = as_type(old, new)?;
    Ok((old, new.ok_or_else(|| format!("expected a {}, but got nothing", T::KIND))?))
}

/// Old and new pod.
///
/// # Errors
/// One of the objects is no pod.
pub fn as_pods<'a>(old: Option<&'a Object>, new: Option<&'a Object>) -> Result<PodChange<'a>, String> {
    let pod = |object: Option<&'a Object>| match object {
        None => Ok(None),
        Some(Object::Pod(pod)) => Ok(Some(pod)),
        Some(other) => Err(format!("expected a Pod, but got a {}", other.kind())),
    };
    Ok((pod(old)?, pod(new)?))
}

/// The pod that was added or changed.
///
/// # Errors
/// It is no pod, or there is none.
pub fn changed_pod<'a>(old: Option<&'a Object>, new: Option<&'a Object>) -> Result<&'a Arc<Pod>, String> {
    as_pods(old, new)?.1.ok_or_else(|| "expected a Pod, but got nothing".to_owned())
}

/// The pod group that was added or changed.
///
/// # Errors
/// It is no pod group, or there is none.
pub fn changed_pod_group<'a>(
    old: Option<&'a Object>,
    new: Option<&'a Object>,
) -> Result<&'a Arc<PodGroup>, String> {
    match new.or(old) {
        Some(Object::PodGroup(group)) if new.is_some() => Ok(group),
        Some(Object::PodGroup(_)) | None => Err("expected a PodGroup, but got nothing".to_owned()),
        Some(other) => Err(format!("expected a PodGroup, but got a {}", other.kind())),
    }
}

/// Old and new node.
///
/// # Errors
/// One of the objects is no node.
pub fn as_nodes<'a>(old: Option<&'a Object>, new: Option<&'a Object>) -> Result<OldAndNew<'a, Node>, String> {
    let node = |object: Option<&'a Object>| match object {
        None => Ok(None),
        Some(Object::Node(node)) => Ok(Some(node)),
        Some(other) => Err(format!("expected a Node, but got a {}", other.kind())),
    };
    Ok((node(old)?, node(new)?))
}

/// The node as it was, if it was there, and as it is.
///
/// # Errors
/// One of the objects is no node, or there is no new one.
pub fn changed_node<'a>(
    old: Option<&'a Object>,
    new: Option<&'a Object>,
) -> Result<(Option<&'a Arc<Node>>, &'a Arc<Node>), String> {
    let (old, new) = as_nodes(old, new)?;
    Ok((old, new.ok_or_else(|| "expected a Node, but got nothing".to_owned())?))
}

/// The claim as it was, if it was there, and as it is.
///
/// # Errors
/// One of the objects is no claim, or there is no new one.
pub fn changed_claim<'a>(
    old: Option<&'a Object>,
    new: Option<&'a Object>,
) -> Result<(Option<&'a Arc<ResourceClaim>>, &'a Arc<ResourceClaim>), String> {
    let claim = |object: Option<&'a Object>| match object {
        None => Ok(None),
        Some(Object::ResourceClaim(claim)) => Ok(Some(claim)),
        Some(other) => Err(format!("expected a ResourceClaim, but got a {}", other.kind())),
    };
    let (old, new) = (claim(old)?, claim(new)?);
    Ok((old, new.ok_or_else(|| "expected a ResourceClaim, but got nothing".to_owned())?))
}

/// The class of devices as it was, if it was there, and as it is.
///
/// # Errors
/// One of the objects is no such class, or there is no new one.
pub fn changed_class<'a>(
    old: Option<&'a Object>,
    new: Option<&'a Object>,
) -> Result<(Option<&'a Arc<DeviceClass>>, &'a Arc<DeviceClass>), String> {
    let class = |object: Option<&'a Object>| match object {
        None => Ok(None),
        Some(Object::DeviceClass(class)) => Ok(Some(class)),
        Some(other) => Err(format!("expected a DeviceClass, but got a {}", other.kind())),
    };
    let (old, new) = (class(old)?, class(new)?);
    Ok((old, new.ok_or_else(|| "expected a DeviceClass, but got nothing".to_owned())?))
}
