"""What Intact adds to the pod template of a role."""

from typing import Any

import msgspec
import pytest

from intact.model.rbg import Role
from intact.operator.rbg.templates import CONFIG_PATH, leader_and_worker, pod_template
from tests.support.rbg_objects import Json, kind, role


def made(body: Json) -> Json:
    return pod_template("ns", "llm", msgspec.convert(body, Role), "rev", {"more": "label"})


def engine(body: Json) -> Json:
    [container] = made(body)["spec"]["containers"]
    found: Json = container
    return found


def container(**more: Any) -> Json:
    return role("prefill") | {"template": {"spec": {"containers": [{"name": "engine", **more}]}}}


def test_labels_of_the_user_stay_and_those_of_the_role_win() -> None:
    own = "rolebasedgroup.workloads.x-k8s.io/role"
    body = role("prefill")
    body["template"]["metadata"] = {"labels": {"app": "mine", own: "other"}, "annotations": {}}
    labels = made(body)["metadata"]["labels"]
    assert (labels["app"], labels[own], labels["more"]) == ("mine", "prefill", "label")
    assert labels["rolebasedgroup.workloads.x-k8s.io/role-revision-hash-prefill"] == "rev"


def test_variables_of_the_user_come_last_and_win() -> None:
    mine = {"name": "ROLE_NAME", "value": "mine"}
    env = engine(container(env=[mine]))["env"]
    assert env[-1] == mine
    assert [one["name"] for one in env].count("ROLE_NAME") == 1
    assert {"name": "GROUP_NAME", "value": "llm"} in env


@pytest.mark.parametrize(
    ("workload", "label"),
    [
        ("StatefulSet", "metadata.labels['apps.kubernetes.io/pod-index']"),
        ("LeaderWorkerSet", "metadata.labels['leaderworkerset.sigs.k8s.io/group-index']"),
        ("Deployment", None),
    ],
)
def test_the_index_of_a_pod(workload: str, label: str | None) -> None:
    env = engine(role("prefill", **kind(workload)))["env"]
    found = [one["valueFrom"]["fieldRef"]["fieldPath"] for one in env if "valueFrom" in one]
    assert found == ([label] * 2 if label else [])


def test_the_addresses_are_mounted_but_for_a_deployment() -> None:
    found = made(role("prefill"))["spec"]
    assert found["volumes"] == [{"name": "rbg-config", "configMap": {"name": "llm"}}]
    assert found["containers"][0]["volumeMounts"][0]["mountPath"] == CONFIG_PATH
    assert "volumes" not in made(role("router", **kind("Deployment")))["spec"]


def test_a_mount_of_the_user_at_the_same_path_stays_alone() -> None:
    mine = {"name": "mine", "mountPath": CONFIG_PATH}
    assert engine(container(volumeMounts=[mine]))["volumeMounts"] == [mine]


def test_leader_and_worker_get_their_patches() -> None:
    patch = {"spec": {"containers": [{"name": "engine", "image": "leader:1"}]}}
    sets = role("decode", leaderWorkerSet={"patchLeaderTemplate": patch}, **kind("LeaderWorkerSet"))
    both = leader_and_worker("ns", "llm", msgspec.convert(sets, Role), "rev", {})
    images = [one["spec"]["containers"][0]["image"] for one in both]
    assert images == ["leader:1", "engine:1"]
