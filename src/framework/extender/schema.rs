//! The types of answers: `k8s.io/kube-scheduler/extender/v1`, and nodes as `k8s.io/api/core/v1` has them. Fields that
//! a scheduler does not read are here too, since a value of a wrong type spoils the whole answer.

use super::go_json::{GoField, GoStruct, GoType};
use GoType::{Anything, Bool, Int32, Int64, Map, Pointer, Quantity, Slice, Struct, Text, Time};

const STRING: GoType = Text("string");
const STRINGS: GoType = Slice("[]string", &STRING);
const UID: GoType = Text("types.UID");
const STRING_MAP: GoType = Map("map[string]string", &STRING);

macro_rules! structs {
    ($($constant:ident = $package:literal . $name:literal { $($field:literal: $ty:expr $(, in $embedded:literal)?;)+ })+) => {
        $(const $constant: GoType = Struct(&GoStruct {
            name: $name,
            full_name: concat!($package, ".", $name),
            fields: &[$(GoField { name: $field, ty: &$ty, embedded: concat!($($embedded)?) }),+],
        });)+
    };
}

/// `ExtenderFilterResult`.
pub(super) static FILTER_RESULT: GoType = FILTER;
/// `HostPriorityList`.
pub(super) static HOST_PRIORITY_LIST: GoType = Slice("v1.HostPriorityList", &HOST_PRIORITY);
/// `ExtenderPreemptionResult`.
pub(super) static PREEMPTION_RESULT: GoType = PREEMPTION;
/// `ExtenderBindingResult`.
pub(super) static BINDING_RESULT: GoType = BINDING;

const FAILED_NODES: GoType = Map("v1.FailedNodesMap", &STRING);

structs! {
    FILTER = "v1"."ExtenderFilterResult" {
        "Nodes": Pointer(&NODE_LIST);
        "NodeNames": Pointer(&STRINGS);
        "FailedNodes": FAILED_NODES;
        "FailedAndUnresolvableNodes": FAILED_NODES;
        "Error": STRING;
    }
    HOST_PRIORITY = "v1"."HostPriority" {
        "Host": STRING;
        "Score": Int64;
    }
    PREEMPTION = "v1"."ExtenderPreemptionResult" {
        "NodeNameToMetaVictims": Map("map[string]*v1.MetaVictims", &Pointer(&META_VICTIMS));
    }
    META_VICTIMS = "v1"."MetaVictims" {
        "Pods": Slice("[]*v1.MetaPod", &Pointer(&META_POD));
        "NumPDBViolations": Int64;
    }
    META_POD = "v1"."MetaPod" {
        "UID": STRING;
    }
    BINDING = "v1"."ExtenderBindingResult" {
        "Error": STRING;
    }
}

structs! {
    NODE_LIST = "v1"."NodeList" {
        "kind": STRING, in "TypeMeta";
        "apiVersion": STRING, in "TypeMeta";
        "metadata": LIST_META;
        "items": Slice("[]v1.Node", &NODE);
    }
    LIST_META = "v1"."ListMeta" {
        "selfLink": STRING;
        "resourceVersion": STRING;
        "continue": STRING;
        "remainingItemCount": Pointer(&Int64);
        "shardInfo": Pointer(&SHARD_INFO);
    }
    SHARD_INFO = "v1"."ShardInfo" {
        "selector": STRING;
    }
    NODE = "v1"."Node" {
        "kind": STRING, in "TypeMeta";
        "apiVersion": STRING, in "TypeMeta";
        "metadata": OBJECT_META;
        "spec": NODE_SPEC;
        "status": NODE_STATUS;
    }
    OBJECT_META = "v1"."ObjectMeta" {
        "name": STRING;
        "generateName": STRING;
        "namespace": STRING;
        "selfLink": STRING;
        "uid": UID;
        "resourceVersion": STRING;
        "generation": Int64;
        "creationTimestamp": Time;
        "deletionTimestamp": Pointer(&Time);
        "deletionGracePeriodSeconds": Pointer(&Int64);
        "labels": STRING_MAP;
        "annotations": STRING_MAP;
        "ownerReferences": Slice("[]v1.OwnerReference", &OWNER_REFERENCE);
        "finalizers": STRINGS;
        "managedFields": Slice("[]v1.ManagedFieldsEntry", &MANAGED_FIELDS_ENTRY);
    }
    OWNER_REFERENCE = "v1"."OwnerReference" {
        "apiVersion": STRING;
        "kind": STRING;
        "name": STRING;
        "uid": UID;
        "controller": Pointer(&Bool);
        "blockOwnerDeletion": Pointer(&Bool);
    }
    MANAGED_FIELDS_ENTRY = "v1"."ManagedFieldsEntry" {
        "manager": STRING;
        "operation": Text("v1.ManagedFieldsOperationType");
        "apiVersion": STRING;
        "time": Pointer(&Time);
        "fieldsType": STRING;
        "fieldsV1": Pointer(&Anything);
        "subresource": STRING;
    }
}

structs! {
    NODE_SPEC = "v1"."NodeSpec" {
        "podCIDR": STRING;
        "podCIDRs": STRINGS;
        "providerID": STRING;
        "unschedulable": Bool;
        "taints": Slice("[]v1.Taint", &TAINT);
        "configSource": Pointer(&NODE_CONFIG_SOURCE);
        "externalID": STRING;
    }
    TAINT = "v1"."Taint" {
        "key": STRING;
        "value": STRING;
        "effect": Text("v1.TaintEffect");
        "timeAdded": Pointer(&Time);
    }
    NODE_CONFIG_SOURCE = "v1"."NodeConfigSource" {
        "configMap": Pointer(&CONFIG_MAP_NODE_CONFIG_SOURCE);
    }
    CONFIG_MAP_NODE_CONFIG_SOURCE = "v1"."ConfigMapNodeConfigSource" {
        "namespace": STRING;
        "name": STRING;
        "uid": UID;
        "resourceVersion": STRING;
        "kubeletConfigKey": STRING;
    }
}

const RESOURCE_LIST: GoType = Map("v1.ResourceList", &Quantity);
const UNIQUE_VOLUME_NAME: GoType = Text("v1.UniqueVolumeName");

structs! {
    NODE_STATUS = "v1"."NodeStatus" {
        "capacity": RESOURCE_LIST;
        "allocatable": RESOURCE_LIST;
        "phase": Text("v1.NodePhase");
        "conditions": Slice("[]v1.NodeCondition", &NODE_CONDITION);
        "addresses": Slice("[]v1.NodeAddress", &NODE_ADDRESS);
        "daemonEndpoints": NODE_DAEMON_ENDPOINTS;
        "nodeInfo": NODE_SYSTEM_INFO;
        "images": Slice("[]v1.ContainerImage", &CONTAINER_IMAGE);
        "volumesInUse": Slice("[]v1.UniqueVolumeName", &UNIQUE_VOLUME_NAME);
        "volumesAttached": Slice("[]v1.AttachedVolume", &ATTACHED_VOLUME);
        "config": Pointer(&NODE_CONFIG_STATUS);
        "runtimeHandlers": Slice("[]v1.NodeRuntimeHandler", &NODE_RUNTIME_HANDLER);
        "features": Pointer(&NODE_FEATURES);
        "declaredFeatures": STRINGS;
    }
    NODE_CONDITION = "v1"."NodeCondition" {
        "type": Text("v1.NodeConditionType");
        "status": Text("v1.ConditionStatus");
        "lastHeartbeatTime": Time;
        "lastTransitionTime": Time;
        "reason": STRING;
        "message": STRING;
    }
    NODE_ADDRESS = "v1"."NodeAddress" {
        "type": Text("v1.NodeAddressType");
        "address": STRING;
    }
    NODE_DAEMON_ENDPOINTS = "v1"."NodeDaemonEndpoints" {
        "kubeletEndpoint": DAEMON_ENDPOINT;
    }
    DAEMON_ENDPOINT = "v1"."DaemonEndpoint" {
        "Port": Int32;
    }
    NODE_SYSTEM_INFO = "v1"."NodeSystemInfo" {
        "machineID": STRING;
        "systemUUID": STRING;
        "bootID": STRING;
        "kernelVersion": STRING;
        "osImage": STRING;
        "containerRuntimeVersion": STRING;
        "kubeletVersion": STRING;
        "kubeProxyVersion": STRING;
        "operatingSystem": STRING;
        "architecture": STRING;
        "swap": Pointer(&NODE_SWAP_STATUS);
    }
    NODE_SWAP_STATUS = "v1"."NodeSwapStatus" {
        "capacity": Pointer(&Int64);
    }
    CONTAINER_IMAGE = "v1"."ContainerImage" {
        "names": STRINGS;
        "sizeBytes": Int64;
    }
    ATTACHED_VOLUME = "v1"."AttachedVolume" {
        "name": UNIQUE_VOLUME_NAME;
        "devicePath": STRING;
    }
    NODE_CONFIG_STATUS = "v1"."NodeConfigStatus" {
        "assigned": Pointer(&NODE_CONFIG_SOURCE);
        "active": Pointer(&NODE_CONFIG_SOURCE);
        "lastKnownGood": Pointer(&NODE_CONFIG_SOURCE);
        "error": STRING;
    }
    NODE_RUNTIME_HANDLER = "v1"."NodeRuntimeHandler" {
        "name": STRING;
        "features": Pointer(&NODE_RUNTIME_HANDLER_FEATURES);
    }
    NODE_RUNTIME_HANDLER_FEATURES = "v1"."NodeRuntimeHandlerFeatures" {
        "recursiveReadOnlyMounts": Pointer(&Bool);
        "userNamespaces": Pointer(&Bool);
    }
    NODE_FEATURES = "v1"."NodeFeatures" {
        "supplementalGroupsPolicy": Pointer(&Bool);
    }
}
