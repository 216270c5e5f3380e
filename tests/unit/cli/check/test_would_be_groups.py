"""The pods that LeaderWorkerSets and RoleBasedGroups would make."""

from typing import Any

import msgspec

from intact.cli.check.would_be_groups import pods_of_rbg, pods_of_set
from intact.model.rbg import RoleBasedGroup

LWS = "leaderworkerset.sigs.k8s.io"
BATCH = "batch.coordination.workloads.x-k8s.io/b"
TEMPLATE = {"metadata": {"labels": {"app": "llm"}}, "spec": {}}


def group(*roles: Any, **spec: Any) -> RoleBasedGroup:
    body = {"metadata": {"name": "llm", "namespace": "apps"}, "spec": {"roles": roles} | spec}
    return msgspec.convert(body, RoleBasedGroup)


def test_a_leader_and_its_workers() -> None:
    spec = {
        "leaderWorkerTemplate": {
            "size": 3,
            "leaderTemplate": {"metadata": {"labels": {"role": "leader"}}},
            "workerTemplate": TEMPLATE,
        }
    }
    found = list(pods_of_set("llm", spec, 2))
    assert [one.suffix for one in found] == ["0", "0-1", "0-2", "1", "1-1", "1-2"]
    assert [one.labels[f"{LWS}/group-key"] for one in found] == ["llm-0"] * 3 + ["llm-1"] * 3
    assert found[0].template["metadata"]["labels"] == {"role": "leader"}
    assert found[1].template == TEMPLATE
    assert found[1].annotations == {f"{LWS}/size": "3"}


def test_a_set_without_a_template_makes_nothing() -> None:
    assert list(pods_of_set("llm", {}, 2)) == []


def test_the_roles_of_a_group() -> None:
    roles = ({"name": "a", "replicas": 2, "template": TEMPLATE}, {"name": "b"})
    found = list(pods_of_rbg(group(*roles)))
    assert [one.suffix for one in found] == ["a-0", "a-1", "b-0"]
    assert found[0].labels["rolebasedgroup.workloads.x-k8s.io/name"] == "llm"
    assert found[0].labels["rolebasedgroup.workloads.x-k8s.io/role"] == "a"


def test_a_role_that_is_a_set() -> None:
    workload = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    role = {"name": "a", "replicas": 2, "workload": workload, "leaderWorkerSet": {"size": 2}}
    found = list(pods_of_rbg(group(role)))
    assert [one.labels[f"{LWS}/group-key"] for one in found] == ["llm-a-0"] * 2 + ["llm-a-1"] * 2


def test_batches_and_the_surplus_that_does_not_run() -> None:
    roles = ({"name": "a", "replicas": 5}, {"name": "b", "replicas": 3})
    strategy = {"affinityScheduling": {"topologyKey": "host", "ratios": {"a": 2, "b": 1}}}
    batches = {"name": "b", "type": "AffinityScheduling", "roles": ["a", "b"], "strategy": strategy}
    found = list(pods_of_rbg(group(*roles, coordination=[batches])))
    assert [(one.suffix, one.labels[BATCH]) for one in found] == [
        ("a-0", "0"),
        ("a-1", "0"),
        ("a-2", "1"),
        ("a-3", "1"),
        ("b-0", "0"),
        ("b-1", "1"),
    ]
    assert {one.annotations["intact.dev/batch-size"] for one in found} == {"3"}
