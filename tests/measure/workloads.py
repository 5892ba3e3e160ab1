#!/usr/bin/env python3
"""Writes workloads with volumes and devices, to be measured by compare.py.

    workloads.py [--nodes N] [--pods N] DIR

Makes DIR/volumes (each pod has a bound claim whose volume one zone reaches, and a claim that waits for its first
consumer and is to be provisioned), DIR/local-volumes (a claim that waits for its first consumer, and local volumes on
the nodes) and DIR/dra (each pod has a claim for one of a node's eight devices, chosen by a selector).
"""

import argparse
import json
import os

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DRIVER = "disk.example.com"


def node(i):
    labels = {HOSTNAME: f"node-{i:05}", ZONE: f"zone-{i % 3}"}
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    status = {"capacity": amounts, "allocatable": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": labels[HOSTNAME], "labels": labels}, "status": status}


def csi_node(i):
    driver = {"name": DRIVER, "nodeID": f"node-{i:05}", "topologyKeys": [ZONE], "allocatable": {"count": 16}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": f"node-{i:05}"},
        "spec": {"drivers": [driver]},
    }


def storage_class(name, provisioner, mode):
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


def claim(name, storage_class_name, volume=None):
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class_name,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    metadata = {"name": name, "namespace": "default"}
    if volume:
        spec["volumeName"] = volume
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    status = {"phase": "Bound" if volume else "Pending"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def volume(name, storage_class_name, key, value, source, claim_name=None):
    expression = {"key": key, "operator": "In", "values": [value]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class_name,
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        **source,
    }
    if claim_name:
        spec["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": claim_name}
    phase = "Bound" if claim_name else "Available"
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec, "status": {"phase": phase}}


def pod(name, extra):
    container = {"name": "c", "image": "registry.example.com/c", "resources": {"requests": {"cpu": "100m", "memory": "500Mi"}}}
    if "resourceClaims" in extra:
        container["resources"]["claims"] = [{"name": claim["name"]} for claim in extra["resourceClaims"]]
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **extra}}


def claimed(*names):
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}} for i, name in enumerate(names)]
    return {"volumes": volumes}


def csi(handle):
    return {"csi": {"driver": DRIVER, "volumeHandle": handle}}


def volumes(n_nodes, n_pods):
    cluster = [node(i) for i in range(n_nodes)] + [csi_node(i) for i in range(n_nodes)]
    cluster.append(storage_class("fast", DRIVER, "Immediate"))
    cluster.append(storage_class("late", DRIVER, "WaitForFirstConsumer"))
    pending = []
    for i in range(n_pods):
        cluster.append(volume(f"pv-{i}", "fast", ZONE, f"zone-{i % 3}", csi(f"pv-{i}"), f"bound-{i}"))
        cluster.append(claim(f"bound-{i}", "fast", f"pv-{i}"))
        cluster.append(claim(f"late-{i}", "late"))
        pending.append(pod(f"pod-{i}", claimed(f"bound-{i}", f"late-{i}")))
    return cluster, pending


def local_volumes(n_nodes, n_pods):
    cluster = [node(i) for i in range(n_nodes)]
    cluster.append(storage_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"))
    for i in range(n_nodes):
        cluster.append(volume(f"pv-{i}", "local", HOSTNAME, f"node-{i:05}", {"local": {"path": "/mnt"}}))
    cluster += [claim(f"local-{i}", "local") for i in range(n_pods)]
    return cluster, [pod(f"pod-{i}", claimed(f"local-{i}")) for i in range(n_pods)]


def dra(n_nodes, n_pods):
    api = "resource.k8s.io/v1"
    cluster = [node(i) for i in range(n_nodes)]
    selector = {"cel": {"expression": 'device.attributes["gpu.example.com"].model == "b" && device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("20Gi"))'}}
    spec = {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]}
    cluster.append({"apiVersion": api, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": spec})
    for i in range(n_nodes):
        devices = [
            {
                "name": f"gpu-{j}",
                "attributes": {"model": {"string": "ab"[j % 2]}},
                "capacity": {"memory": {"value": f"{16 + 8 * (j % 3)}Gi"}},
            }
            for j in range(8)
        ]
        pool = {"name": f"node-{i:05}", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.example.com", "nodeName": f"node-{i:05}", "pool": pool, "devices": devices}
        cluster.append({"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": f"slice-{i}"}, "spec": spec})
    pending = []
    for i in range(n_pods):
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "selectors": [selector]}}
        metadata = {"name": f"gpu-{i}", "namespace": "default"}
        cluster.append({"apiVersion": api, "kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": {"requests": [request]}}})
        pending.append(pod(f"pod-{i}", {"resourceClaims": [{"name": "gpu", "resourceClaimName": f"gpu-{i}"}]}))
    return cluster, pending


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=500)
    parser.add_argument("folder", metavar="DIR")
    args = parser.parse_args()
    for name, make in [("volumes", volumes), ("local-volumes", local_volumes), ("dra", dra)]:
        folder = os.path.join(args.folder, name)
        os.makedirs(folder, exist_ok=True)
        for file, items in zip(["cluster.json", "pending.json"], make(args.nodes, args.pods)):
            with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
                json.dump({"apiVersion": "v1", "kind": "List", "items": items}, out)


main()
