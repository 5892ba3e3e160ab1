#!/usr/bin/env python3
"""How much memory `schedscope live` takes for a large cluster.

A small server plays an API server with as many nodes and pods as asked for: list in pages, watch, watch-list. Its pods
are as large as real ones (environment, arguments, volumes, managedFields, status of containers), so that what is
thrown away on the way counts. After the first list every watch is told 410 once, so that everything is listed anew.

    tests/measure/live_memory.py target/release/schedscope [--nodes 5000] [--pods 100000] [--paged] [--console]

With --console it is the console in a terminal that is measured, which keeps the past of the session: after the lists
--changes pods a second change for --seconds, and then somebody goes back.

Prints resident memory (now and at its highest) after the first list and after the second. Exit code 1 if the highest
is above --limit.
"""

import argparse
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

KINDS = {
    "pods": ("v1", "Pod"), "nodes": ("v1", "Node"), "namespaces": ("v1", "Namespace"), "services": ("v1", "Service"),
    "replicationcontrollers": ("v1", "ReplicationController"), "persistentvolumes": ("v1", "PersistentVolume"),
    "persistentvolumeclaims": ("v1", "PersistentVolumeClaim"), "replicasets": ("apps/v1", "ReplicaSet"),
    "statefulsets": ("apps/v1", "StatefulSet"), "poddisruptionbudgets": ("policy/v1", "PodDisruptionBudget"),
}


def managed(paths):
    fields = {"f:metadata": {"f:labels": {".": {}}}, "f:spec": {f"f:{path}": {".": {}, "f:name": {}, "f:image": {}} for path in paths}}
    return [
        {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields}
        for manager in ("kube-controller-manager", "kubelet")
    ]


def node(i):
    name = f"node-{i:05}"
    room = {"cpu": "32", "memory": "128Gi", "pods": "250", "ephemeral-storage": "200Gi"}
    return {
        "metadata": {
            "name": name, "uid": f"00000000-0000-0000-0001-{i:012}", "resourceVersion": "10", "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": f"zone-{i % 3}", "topology.kubernetes.io/region": "region", "node.kubernetes.io/instance-type": "m8",
            },
            "annotations": {"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            "managedFields": managed(["podCIDR", "providerID", "taints"]),
        },
        "spec": {"podCIDR": f"10.{i // 256}.{i % 256}.0/24", "providerID": f"cloud:///{name}"},
        "status": {
            "capacity": room, "allocatable": room,
            "conditions": [{"type": kind, "status": "True" if kind == "Ready" else "False", "reason": "Kubelet" + kind, "message": "kubelet says so",
                            "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                           for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": name}],
            "images": [{"names": [f"example.com/team/app-{j}@sha256:{j:064}", f"example.com/team/app-{j}:v1"], "sizeBytes": 90_000_000 + j} for j in range(30)],
            "nodeInfo": {"machineID": "m", "systemUUID": "u", "bootID": "b", "kernelVersion": "6.1", "osImage": "linux", "kubeletVersion": "v1.36.3"},
        },
    }


def pod(i, n_nodes, n_pending):
    app = i // 20
    is_pending = i < n_pending
    container = {
        "name": "app", "image": f"example.com/team/app-{app % 30}:v1", "args": ["--listen=:8080", "--log-level=info", "--config=/etc/app/config.yaml"],
        "env": [{"name": f"SETTING_{j}", "value": f"value number {j} of the application {app}"} for j in range(25)],
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app"}, {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}}, "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8080}},
        "terminationMessagePath": "/dev/termination-log", "imagePullPolicy": "IfNotPresent",
    }
    spec = {
        "containers": [container, {"name": "sidecar", "image": "example.com/mesh/proxy:v2", "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
                                   "env": [{"name": f"MESH_{j}", "value": "x" * 40} for j in range(10)]}],
        "restartPolicy": "Always", "schedulerName": "default-scheduler", "serviceAccountName": f"app-{app}", "priority": 0, "preemptionPolicy": "PreemptLowerPriority",
        "tolerations": [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in ("not-ready", "unreachable")],
        "volumes": [{"name": "config", "configMap": {"name": f"app-{app}"}},
                    {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": "kube-root-ca.crt"}}]}}],
    }
    status = {"phase": "Pending", "qosClass": "Burstable"}
    if not is_pending:
        spec["nodeName"] = f"node-{i % n_nodes:05}"
        status = {
            "phase": "Running", "qosClass": "Burstable", "podIP": "10.0.0.2", "hostIP": "10.0.0.1", "startTime": "2026-01-01T00:00:00Z",
            "conditions": [{"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"} for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")],
            "containerStatuses": [{"name": name, "ready": True, "restartCount": 0, "image": "x", "imageID": f"sha256:{i:064}", "containerID": f"containerd://{i:064}",
                                   "allocatedResources": spec["containers"][j]["resources"]["requests"], "resources": spec["containers"][j]["resources"],
                                   "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}} for j, name in enumerate(("app", "sidecar"))],
        }
    return {
        "metadata": {
            "name": f"app-{app}-5d8f7c9b4-{i:05}", "namespace": f"team-{app % 200}", "uid": f"00000000-0000-0000-0002-{i:012}", "resourceVersion": "10",
            "creationTimestamp": "2026-01-01T00:00:00Z", "generateName": f"app-{app}-5d8f7c9b4-",
            "labels": {"app.kubernetes.io/name": f"app-{app}", "app.kubernetes.io/part-of": f"team-{app % 200}", "pod-template-hash": "5d8f7c9b4", "version": "v1"},
            "annotations": {"prometheus.io/scrape": "true", "checksum/config": "f" * 64, "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{app}-5d8f7c9b4", "uid": f"00000000-0000-0000-0003-{app:012}", "controller": True, "blockOwnerDeletion": True}],
            "managedFields": managed(["containers", "volumes", "tolerations", "restartPolicy", "schedulerName"]),
        },
        "spec": spec, "status": status,
    }


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    options = None
    lists = {}
    sizes = {}
    relist = threading.Event()
    changing = threading.Event()
    changed = 0

    def log_message(self, *_):
        pass

    def objects(self, resource):
        if resource == "nodes":
            return (node(i) for i in range(self.options.nodes))
        if resource == "pods":
            return (pod(i, self.options.nodes, self.options.pending) for i in range(self.options.pods))
        if resource == "namespaces":
            return ({"metadata": {"name": f"team-{i}", "resourceVersion": "10", "uid": f"n{i}"}} for i in range(200))
        return iter(())

    def answer(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")

    def do_GET(self):
        url = urlparse(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path == "/version":
            return self.answer(200, {"major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""})
        resource = url.path.rsplit("/", 1)[1]
        match = re.match(r"^/(?:api|apis)/(.+)/[^/]+$", url.path)
        version, kind = match.group(1), KINDS.get(resource, ("", resource.capitalize()))[1]
        if query.get("watch") in ("true", "1"):
            if query.get("sendInitialEvents") == "true" and self.options.paged:
                return self.answer(422, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422, "reason": "Invalid", "message": "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"})
            return self.watch(resource, version, kind, query.get("sendInitialEvents") == "true")
        start, limit = int(query.get("continue", "0")), int(query.get("limit", "500"))
        items = getattr(self.server, "items_" + resource, None)
        if items is None:
            items = [json.dumps(item) for item in self.objects(resource)]
            setattr(self.server, "items_" + resource, items)
        page = items[start:start + limit]
        token = str(start + limit) if start + limit < len(items) else ""
        if start == 0:
            Server.lists[resource] = Server.lists.get(resource, 0) + 1
        body = ('{"kind":"%sList","apiVersion":"%s","metadata":{"resourceVersion":"10","continue":"%s"},"items":[%s]}' % (kind, version, token, ",".join(page))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def watch(self, resource, version, kind, initial):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            if initial:
                Server.lists[resource] = Server.lists.get(resource, 0) + 1
                size = 0
                for item in self.objects(resource):
                    item.update(kind=kind, apiVersion=version)
                    data = json.dumps({"type": "ADDED", "object": item}).encode() + b"\n"
                    size += len(data)
                    self.chunk(data)
                Server.sizes[resource] = size
                mark = {"metadata": {"resourceVersion": "10", "annotations": {"k8s.io/initial-events-end": "true"}}, "kind": kind, "apiVersion": version}
                self.chunk(json.dumps({"type": "BOOKMARK", "object": mark}).encode() + b"\n")
            if Server.lists.get(resource, 0) < 2:
                Server.relist.wait()
                gone = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "too old resource version", "reason": "Expired", "code": 410}
                self.chunk(json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n")
                self.chunk(b"")
                return
            version_number = 11
            while True:
                if resource != "pods" or not Server.changing.is_set():
                    time.sleep(0.2)
                    continue
                time.sleep(1)
                for _ in range(self.options.changes):
                    version_number += 1
                    Server.changed += 1
                    item = pod(self.options.pending + Server.changed * 7 % (self.options.pods - self.options.pending), self.options.nodes, self.options.pending)
                    item.update(kind=kind, apiVersion=version)
                    item["metadata"]["resourceVersion"] = str(version_number)
                    item["metadata"]["labels"]["version"] = f"v{version_number}"
                    self.chunk(json.dumps({"type": "MODIFIED", "object": item}).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            pass


def memory(pid):
    text = open(f"/proc/{pid}/status", encoding="utf-8").read()
    return tuple(int(re.search(rf"{key}:\s+(\d+) kB", text).group(1)) // 1024 for key in ("VmRSS", "VmHWM"))


def settled(pid, patience=600):
    """Memory when it has not changed for some seconds."""
    last, end = -1, time.time() + patience
    while (now := memory(pid)[0]) != last and time.time() < end:
        last = now
        time.sleep(6)
    return memory(pid)


def console(options, path):
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", "SCHEDSCOPE_SETTINGS": "/nonexistent", "XDG_STATE_HOME": "/dev/null"}
    program = subprocess.Popen([options.program, "live", "--kubeconfig", path], stdin=follower, stdout=follower, stderr=follower, start_new_session=True, env=env)

    def drain():
        try:
            while os.read(leader, 1 << 16):
                pass
        except OSError:
            pass

    threading.Thread(target=drain, daemon=True).start()
    highest = 0
    try:
        print(f"{options.nodes} nodes, {options.pods} pods, the console with its past", flush=True)
        end = time.time() + 300
        while Server.lists.get("pods", 0) < 1 and time.time() < end:
            time.sleep(1)
        time.sleep(20)
        print("after the first list:  %d MiB, at its highest %d MiB" % settled(program.pid), flush=True)
        Server.relist.set()
        while Server.lists.get("pods", 0) < 2 and time.time() < end:
            time.sleep(1)
        time.sleep(20)
        print("after the second list: %d MiB, at its highest %d MiB" % settled(program.pid), flush=True)
        Server.changing.set()
        time.sleep(options.seconds)
        Server.changing.clear()
        print(f"after {Server.changed} changes: %d MiB, at its highest %d MiB" % settled(program.pid), flush=True)
        for command in (":back cycle", ":back cycle", ":back start"):
            os.write(leader, command.encode() + b"\r")
            time.sleep(5)
        now, highest = settled(program.pid)
        print(f"in the past:           {now} MiB, at its highest {highest} MiB", flush=True)
        if program.poll() is not None:
            print("the program has ended")
            return 1
    finally:
        program.kill()
    return 0 if highest <= options.limit and Server.lists.get("pods", 0) >= 2 else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--pending", type=int, default=500)
    parser.add_argument("--paged", action="store_true", help="the server has no watch-list")
    parser.add_argument("--console", action="store_true", help="measure the console, which keeps the past")
    parser.add_argument("--changes", type=int, default=200, help="pods that change in a second, with --console")
    parser.add_argument("--seconds", type=int, default=120, help="for how long they do")
    parser.add_argument("--limit", type=int, default=1_536, metavar="MiB")
    options = Server.options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "kubeconfig")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}],
                   "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
                   "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, file)
    if options.console:
        return console(options, path)
    start = time.time()
    program = subprocess.Popen([options.program, "live", "-o", "json", "--kubeconfig", path], stdout=subprocess.PIPE, text=True)
    try:
        for line in program.stdout:
            if "started" in line:
                break
        print(f"{options.nodes} nodes, {options.pods} pods, {'paged lists' if options.paged else 'watch-list'}", flush=True)
        print(f"listed after {time.time() - start:.0f} s; pods as JSON: {Server.sizes.get('pods', 0) >> 20} MiB", flush=True)
        threading.Thread(target=lambda: [None for _ in program.stdout], daemon=True).start()
        time.sleep(20)
        now, highest = memory(program.pid)
        print(f"after the first list:  {now} MiB, at its highest {highest} MiB", flush=True)
        Server.relist.set()
        end = time.time() + 300
        while Server.lists.get("pods", 0) < 2 and time.time() < end:
            time.sleep(1)
        time.sleep(20)
        last = memory(program.pid)[0]
        while (again := memory(program.pid)[0]) != last and time.time() < end:
            last = again
            time.sleep(5)
        now, highest = memory(program.pid)
        print(f"after the second list: {now} MiB, at its highest {highest} MiB ({Server.lists['pods']} lists of pods)")
    finally:
        program.kill()
    return 0 if highest <= options.limit and Server.lists["pods"] >= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
