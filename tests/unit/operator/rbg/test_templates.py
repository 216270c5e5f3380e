"""What Intact adds to the pod template of a role."""

from typing import Any

import msgspec
import pytest

from intact.model.rbg import Role, RoleBasedGroup
from intact.operator.rbg.templates import (
    CONFIG_PATH,
    inlined,
    leader_and_worker,
    patch_errors,
    pod_template,
    resolved,
)
from tests.support.rbg_objects import Json, group, kind, role, template
from tests.support.rbg_upstream import BASE, PATCHED, by_reference


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


def read(body: Json) -> RoleBasedGroup:
    return msgspec.convert(body, RoleBasedGroup)


def test_a_template_by_reference_becomes_the_role_s_own() -> None:
    patch = {"spec": {"containers": [{"name": "engine", "args": ["--decode"]}]}}
    own = role("router", image="router:1")
    body = group(
        "llm", by_reference("a"), by_reference("b", patch=patch), own, roleTemplates=[BASE]
    )
    first, second, third = resolved(read(body)).spec.roles
    assert first.template == template()
    [container] = second.template["spec"]["containers"]
    assert container == {"name": "engine", "image": "engine:1", "args": ["--decode"]}
    assert third.template == own["template"]
    assert {one.template_ref for one in (first, second, third)} == {None}
    assert list(patch_errors(read(body))) == []
    assert "args" not in BASE["template"]["spec"]["containers"][0], "others share it"

    as_json = inlined(body)
    assert read(as_json).spec.roles == resolved(read(body)).spec.roles
    assert "roleTemplates" not in as_json["spec"]


def test_a_reference_that_leads_nowhere_and_a_patch_that_does_not_fit_stay_as_they_are() -> None:
    for body in (group("llm", by_reference("a")), PATCHED.body):
        assert resolved(read(body)) == read(body)
    [error] = patch_errors(read(PATCHED.body))
    assert error.path == "spec.roles[0].templatePatch"
    assert inlined(PATCHED.body)["spec"]["roles"] == PATCHED.body["spec"]["roles"]


def test_a_role_based_group_without_references_stays_the_same_object() -> None:
    found = read(group("llm", role("prefill")))
    assert resolved(found) is found
