"""The objects that a RoleBasedGroup owns."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from intact.model.meta import ObjectMeta
from intact.model.rbg import Role, RoleBasedGroup
from intact.model.role_workload import RoleWorkload, RoleWorkloadSpec, RoleWorkloadStatus
from intact.operator.rbg import objects
from intact.rollout.facts import RoleFacts, WorkloadFacts
from intact.rollout.names import BATCHED, GROUP
from intact.rollout.orders import WorkloadOrder
from tests.support.rbg_objects import Json, batches, group, kind, role
from tests.support.rbg_upstream import rollout


def read(*roles: Json, **spec: Any) -> RoleBasedGroup:
    body = group("llm", *roles, **spec)
    body["metadata"] |= {"namespace": "ns", "uid": "the-uid"}
    return msgspec.convert(body, RoleBasedGroup)


def spec(found: RoleBasedGroup, live: RoleWorkload | None = None, **order: Any) -> Json:
    """Of the workload of the first role."""
    first: Role = found.spec.roles[0]
    wanted = WorkloadOrder("llm-" + first.name, first, "rev", **({"replicas": 4} | order))
    body = objects.workload(found, wanted, live, 6)
    assert body["metadata"]["ownerReferences"][0]["uid"] == "the-uid"
    assert body["metadata"]["annotations"]["rolebasedgroup.workloads.x-k8s.io/role-size"] == "6"
    found_spec: Json = body["spec"]
    return found_spec


@pytest.mark.parametrize(
    ("given", "order", "expected"),
    [
        pytest.param(None, 3, 3, id="the rollout's"),
        pytest.param("50%", None, 2, id="the role's, of what it has"),
        pytest.param("30%", None, 2, id="rounded up"),
        pytest.param(None, None, 0, id="none"),
        pytest.param("150%", None, "150%", id="for the API server to refuse"),
        pytest.param(-1, None, -1, id="negative: for the API server to refuse"),
    ],
)
def test_the_partition_of_a_stateful_set(
    given: str | int | None, order: int | None, expected: int | str
) -> None:
    strategy: Json = {"updateStrategy": {"rollingUpdate": {"partition": given}}} if given else {}
    found = spec(read(role("prefill", **strategy)), partition=order)
    assert found["updateStrategy"]["rollingUpdate"]["partition"] == expected


def test_immutable_fields_of_a_stateful_set_keep_their_value() -> None:
    live = RoleWorkload(
        metadata=ObjectMeta(name="llm-prefill"),
        spec=RoleWorkloadSpec(service_name="before", pod_management_policy="OrderedReady"),
    )
    found = spec(read(role("prefill")), live)
    assert (found["serviceName"], found["podManagementPolicy"]) == ("before", "OrderedReady")
    fresh = spec(read(role("prefill")))
    assert (fresh["serviceName"], fresh["podManagementPolicy"]) == ("s-llm-prefill", "Parallel")


def test_a_rollout_overrides_how_many_pods_of_a_deployment_may_be_unavailable() -> None:
    own: Json = {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 3, "maxSurge": "10%"}}}
    router = read(role("router", **own, **kind("Deployment")))
    assert spec(router)["strategy"]["rollingUpdate"] == {"maxUnavailable": 3, "maxSurge": "10%"}
    held = spec(router, max_unavailable=0)["strategy"]["rollingUpdate"]
    assert held["maxUnavailable"] == 0


def test_a_leader_worker_set_has_both_templates_and_the_partition_of_the_rollout() -> None:
    patch = {"spec": {"containers": [{"name": "engine", "image": "leader:1"}]}}
    sets = role(
        "decode",
        leaderWorkerSet={"size": 3, "patchLeaderTemplate": patch},
        **kind("LeaderWorkerSet"),
    )
    found = spec(read(sets), partition=2, max_unavailable=1)
    update = found["rolloutStrategy"]["rollingUpdateConfiguration"]
    assert update == {"partition": 2, "maxUnavailable": 1}
    templates = found["leaderWorkerTemplate"]
    assert templates["size"] == 3
    images = [
        templates[name]["spec"]["containers"][0]["image"]
        for name in ("leaderTemplate", "workerTemplate")
    ]
    assert images == ["leader:1", "engine:1"]


def test_pods_of_a_role_in_batches_are_sent_to_the_placement_webhook() -> None:
    rules = batches({"prefill": 2, "decode": 1})
    found = spec(read(role("prefill", 4), role("decode", 2), coordination=[rules]))
    assert found["template"]["metadata"]["labels"][BATCHED] == "batched"
    assert BATCHED not in spec(read(role("prefill")))["template"]["metadata"]["labels"]


def test_a_service_of_a_stateful_set_shows_pods_that_are_not_ready() -> None:
    ports = [{"name": "http", "port": 80, "targetPort": "web"}, {"port": 9000}]
    found = read(role("prefill", servicePorts=ports), role("router", **kind("Deployment")))
    prefill, router = (objects.service(found, facts(one))["spec"] for one in found.spec.roles)
    assert prefill["publishNotReadyAddresses"]
    assert "publishNotReadyAddresses" not in router
    assert [(one["name"], one["port"]) for one in prefill["ports"]] == [
        ("http", 80),
        ("port9000", 9000),
    ]
    assert prefill["ports"][0]["targetPort"] == "web"


def test_a_leader_worker_set_needs_no_service() -> None:
    found = read(role("decode", **kind("LeaderWorkerSet")), role("prefill"))
    assert [objects.has_service(facts(one)) for one in found.spec.roles] == [False, True]


def test_a_role_keeps_what_its_old_pods_need_while_it_changes_its_kind() -> None:
    before = WorkloadFacts("llm-decode", "uid", 2, "old", kind="StatefulSet")
    found = read(role("decode", 3, **kind("LeaderWorkerSet")))
    [decode] = found.spec.roles
    moving = replace(facts(decode, 3), others=[before])
    assert objects.has_service(moving)
    assert objects.service(found, moving)["spec"]["publishNotReadyAddresses"]
    new = WorkloadFacts("llm-decode-new", "uid", 1, "new", kind="LeaderWorkerSet")
    body = objects.config_map(found, {"decode": replace(moving, workloads=[new])})
    listed = msgspec.yaml.decode(body["data"]["config.yaml"])["roles"]["decode"]["instances"]
    assert [one["address"] for one in listed] == [
        *(f"llm-decode-new-{number}.llm-decode-new" for number in range(3)),
        *(f"llm-decode-{number}.s-llm-decode" for number in range(2)),
    ]
    as_deployment = read(role("decode", 3, **kind("Deployment")))
    [decode] = as_deployment.spec.roles
    moving = replace(facts(decode, 3), others=[before])
    body = objects.config_map(as_deployment, {"decode": moving})
    listed = msgspec.yaml.decode(body["data"]["config.yaml"])["roles"]["decode"]["instances"]
    assert [one["address"] for one in listed] == [
        f"llm-decode-{number}.s-llm-decode" for number in range(2)
    ]


def facts(one: Role, size: int = 1) -> RoleFacts:
    return RoleFacts(role=one, desired=size, revision="new")


def test_the_config_map_has_an_address_for_each_ordinal() -> None:
    found = read(
        role("prefill", servicePorts=[{"name": "my-port", "port": 80}]),
        role("router", **kind("Deployment")),
        role("decode", **kind("LeaderWorkerSet")),
    )
    sizes = {"prefill": 1, "router": 2, "decode": 1}
    body = objects.config_map(
        found, {one.name: facts(one, sizes[one.name]) for one in found.spec.roles}
    )
    roles = msgspec.yaml.decode(body["data"]["config.yaml"])["roles"]
    assert roles["prefill"]["instances"] == [
        {"address": "llm-prefill-0.s-llm-prefill", "ports": {"my_port": 80}}
    ]
    assert roles["router"] == {"size": 2, "address": "s-llm-router", "instances": []}
    assert roles["decode"]["instances"] == [{"address": "llm-decode-0.llm-decode"}]


def test_a_deployment_is_paused_once_it_has_had_its_first_pods() -> None:
    """A Deployment that is created paused never makes any."""
    found = read(role("router", **kind("Deployment"), **rollout(paused=True)))
    assert "paused" not in spec(found)
    fresh = RoleWorkload(metadata=ObjectMeta(name="llm-router"))
    assert "paused" not in spec(found, fresh)
    seen = msgspec.structs.replace(fresh, status=RoleWorkloadStatus(observed_generation=1))
    assert spec(found, seen)["paused"] is True


@pytest.mark.parametrize("workload", ["StatefulSet", "LeaderWorkerSet"])
def test_a_paused_role_keeps_every_ordinal(workload: str) -> None:
    found = spec(read(role("a", **kind(workload), **rollout(paused=True, partition=1))))
    strategy = found.get("updateStrategy") or found["rolloutStrategy"]
    rolling = strategy.get("rollingUpdate") or strategy["rollingUpdateConfiguration"]
    assert rolling["partition"] == 4


def test_the_restart_policy_of_a_leader_worker_set() -> None:
    found = spec(read(role("a", restartPolicy="None", **kind("LeaderWorkerSet"))))
    assert found["leaderWorkerTemplate"]["restartPolicy"] == "None"


def test_a_port_says_what_is_spoken_on_it() -> None:
    port = {"port": 80, "appProtocol": "http", "nodePort": 0}
    found = read(role("prefill", servicePorts=[port]))
    [made] = objects.service(found, found.spec.roles[0])["spec"]["ports"]
    assert made == {"name": "port80", "port": 80, "protocol": "TCP", "appProtocol": "http"}


def test_an_adapter_has_the_labels_that_its_role_gives_it() -> None:
    given = {"enable": True, "labels": {"tier": "gold", GROUP: "other"}}
    found = read(role("prefill", scalingAdapter=given))
    labels = objects.scaling_adapter(found, found.spec.roles[0], 1)["metadata"]["labels"]
    assert (labels["tier"], labels[GROUP]) == ("gold", "llm")
