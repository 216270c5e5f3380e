"""A snapshot keeps what a rehearsal needs, and nothing that may be a secret."""

import json

import pytest

from intact.sandbox.snapshot.document import Json
from intact.sandbox.snapshot.reduction import DIGEST, Reduction

SECRET = "hunter2"
CONTAINER: Json = {
    "name": "main",
    "image": "main:1",
    "env": [{"name": "PASSWORD", "value": SECRET}],
    "envFrom": [{"secretRef": {"name": SECRET}}],
    "args": [f"--token={SECRET}"],
    "command": ["sh", "-c", SECRET],
    "resources": {"requests": {"cpu": "2"}, "claims": [{"name": SECRET}]},
    "readinessProbe": {"initialDelaySeconds": 7, "exec": {"command": [SECRET]}},
    "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": SECRET}]}},
    "lifecycle": {"preStop": {"sleep": {"seconds": 4}}, "postStart": {"exec": SECRET}},
    "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81, "name": SECRET}],
}
SPEC: Json = {
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "ephemeralContainers": [CONTAINER],
    "nodeSelector": {"pool": "gpu"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "imagePullSecrets": [{"name": SECRET}],
    "volumes": [
        {"name": "scratch", "emptyDir": {"sizeLimit": SECRET}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}},
        {"name": "key", "secret": {"secretName": SECRET}},
        {"name": "all", "projected": {"sources": [SECRET]}},
    ],
    "terminationGracePeriodSeconds": 30,
}
META: Json = {
    "name": "web",
    "namespace": "shop",
    "uid": "u",
    "labels": {"app": "web"},
    "annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": SECRET,
        "vault.example/token": SECRET,
        "leaderworkerset.sigs.k8s.io/size": "4",
    },
    "managedFields": [{"manager": SECRET}],
}


def obj(kind: str, **body: object) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": META, **body}


def template(spec: Json = SPEC, **labels: str) -> Json:
    return {"metadata": {"labels": labels, "annotations": {"note": SECRET}}, "spec": spec}


POD = obj(
    "Pod",
    spec=SPEC | {"nodeName": "node-0"},
    status={
        "phase": "Running",
        "message": SECRET,
        "podIP": "10.0.0.1",
        "conditions": [{"type": "Ready", "status": "True", "message": SECRET}],
        "containerStatuses": [
            {"name": "main", "ready": True, "restartCount": 2,
             "state": {"running": {"startedAt": "t"}},
             "lastState": {"terminated": {"message": SECRET}}}
        ],
    },
)  # fmt: skip
WORKLOADS = [
    obj("Deployment", spec={"replicas": 2, "template": template()}),
    obj("StatefulSet", spec={"template": template(), "volumeClaimTemplates": [{"x": SECRET}]}),
    obj("ControllerRevision", data={"spec": {"template": {**template(), "$patch": "replace"}}}),
    obj("LeaderWorkerSet", spec={"leaderWorkerTemplate": {"workerTemplate": template()}}),
    obj(
        "RoleBasedGroup",
        spec={
            "roles": [
                {
                    "name": "prefill",
                    "template": template(),
                    "leaderWorkerSet": {
                        "patchLeaderTemplate": template({"containers": [CONTAINER]})
                    },
                }
            ]
        },
    ),
    obj("Job", spec={"template": template()}, status={"conditions": [{"message": SECRET}]}),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda each: each["kind"])
def test_nothing_secret_is_kept_of_a_workload(workload: Json) -> None:
    kept = json.dumps(Reduction().of_other(workload))
    assert SECRET not in kept
    assert '"cpu": "2"' in kept
    assert "main:1" in kept


def test_nothing_secret_is_kept_of_a_pod() -> None:
    kept = Reduction().of_pod(POD)
    assert SECRET not in json.dumps(kept)
    assert "10.0.0.1" not in json.dumps(kept)


def test_what_decides_where_a_pod_runs_is_kept() -> None:
    kept = Reduction().of_pod(POD)
    spec = kept["spec"]
    assert spec["nodeName"] == "node-0"
    assert spec["nodeSelector"] == {"pool": "gpu"}
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert spec["volumes"] == [
        {"name": "scratch", "emptyDir": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}},
    ]
    [container] = spec["containers"]
    assert container["resources"] == {"requests": {"cpu": "2"}}
    assert container["ports"] == [{"containerPort": 81, "hostPort": 81}]
    assert container["readinessProbe"] == {"initialDelaySeconds": 7}
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 4}}}
    assert kept["status"]["conditions"] == [{"type": "Ready", "status": "True"}]
    assert kept["status"]["containerStatuses"] == [
        {"name": "main", "ready": True, "restartCount": 2, "state": {"running": {"startedAt": "t"}}}
    ]
    assert kept["metadata"]["annotations"] == {"leaderworkerset.sigs.k8s.io/size": "4"}


def test_a_node_keeps_its_room_and_its_taints() -> None:
    node = obj(
        "Node",
        spec={"taints": [{"key": "gpu", "effect": "NoSchedule"}], "providerID": SECRET},
        status={
            "allocatable": {"cpu": "8"},
            "addresses": [{"address": SECRET}],
            "images": [{"names": [SECRET]}],
            "conditions": [{"type": "Ready", "status": "True", "message": SECRET}],
        },
    )
    kept = Reduction().of_node(node)
    assert SECRET not in json.dumps(kept)
    assert kept["spec"] == {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}
    assert kept["status"]["allocatable"] == {"cpu": "8"}


def test_of_an_unknown_kind_only_the_scale_is_kept() -> None:
    other = obj("TrainingJob", spec={"replicas": 3, "password": SECRET}, status={"replicas": 2})
    kept = Reduction().of_unknown(other)
    assert kept["spec"] == {"replicas": 3}
    assert kept["status"] == {"replicas": 2}
    assert SECRET not in json.dumps(kept)


def digest(kept: Json) -> str:
    found: str = kept["spec"]["template"]["metadata"]["annotations"][DIGEST]
    return found


def test_templates_that_differ_only_in_what_is_left_out_still_differ() -> None:
    other = SPEC | {"containers": [CONTAINER | {"env": [{"name": "PASSWORD", "value": "other"}]}]}
    reduction = Reduction()
    one, two, same = (
        reduction.of_other(obj("ReplicaSet", spec={"template": template(spec, hash=label)}))
        for spec, label in ((SPEC, "a"), (other, "b"), (SPEC, "c"))
    )
    assert digest(one) != digest(two)
    assert digest(one) == digest(same)


def test_the_digest_tells_nothing_outside_of_its_snapshot() -> None:
    one, two = (Reduction().of_other(WORKLOADS[0]) for _ in range(2))
    assert digest(one) != digest(two)


def test_templates_by_reference_hide_no_secret_and_become_their_roles_own() -> None:
    patch = {"spec": {"containers": [{"name": "main", "args": [SECRET]}]}}
    roles = [{"name": "a", "templateRef": {"name": "base"}, "templatePatch": patch}]
    templates = [{"name": "base", "template": {"spec": SPEC}}]
    given = {
        "apiVersion": "workloads.x-k8s.io/v1alpha1",
        "kind": "RoleBasedGroup",
        "metadata": {"name": "llm"},
        "spec": {"roles": roles, "roleTemplates": templates},
    }
    kept = Reduction().of_roles(given)
    assert SECRET not in json.dumps(kept)
    [role] = kept["spec"]["roles"]
    assert set(role) == {"name", "template"}
    assert DIGEST in role["template"]["metadata"]["annotations"]
    assert "roleTemplates" not in kept["spec"]
