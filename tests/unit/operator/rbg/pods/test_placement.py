"""What a pod of a batch asks of the scheduler."""

from typing import Any

import pytest

from intact.model.meta import ObjectMeta
from intact.model.rbg import (
    AffinityScheduling,
    Coordination,
    CoordinationStrategy,
    LeaderWorkerSetTemplate,
    RbgSpec,
    Role,
    RoleBasedGroup,
)
from intact.operator.rbg.pods.placement import affinity_of, batch_size
from intact.rollout.coordinations import place_label
from intact.rollout.names import AWAITED

NODE, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def rules(topology: str) -> Coordination:
    scheduling = AffinityScheduling(topology_key=topology, ratios={"a": 1, "b": 1})
    return Coordination(
        name="pair",
        type="AffinityScheduling",
        roles=["a", "b"],
        strategy=CoordinationStrategy(affinity_scheduling=scheduling),
    )


def affinity(topology: str, own: dict[str, Any] | None = None, follows: str = "") -> dict[str, Any]:
    group = RoleBasedGroup(metadata=ObjectMeta(name="g", namespace="ns"))
    return affinity_of(group, rules(topology), own, 2, follows)


def requirement(term: dict[str, Any]) -> tuple[str, Any]:
    topology = term["topologyKey"]
    return topology, term["labelSelector"]["matchLabels"].get(place_label(rules(topology)))


@pytest.mark.parametrize("topology", [NODE, ZONE])
def test_a_pod_must_be_with_its_batch(topology: str) -> None:
    [term] = affinity(topology)["podAffinity"][REQUIRED]
    assert requirement(term) == (topology, "2")


def test_a_node_holds_one_batch() -> None:
    away = affinity(NODE)["podAntiAffinity"]
    [term] = away[REQUIRED]
    [_, others] = term["labelSelector"]["matchExpressions"]
    assert (others["operator"], others["values"]) == ("NotIn", ["2"])
    assert PREFERRED not in away


def test_a_zone_may_hold_several() -> None:
    away = affinity(ZONE)["podAntiAffinity"]
    assert REQUIRED not in away
    assert [each["weight"] for each in away[PREFERRED]] == [100]


def test_what_the_pod_asks_for_itself_stays() -> None:
    mine = {"topologyKey": "rack", "labelSelector": {}}
    own = {"nodeAffinity": {"x": []}, "podAffinity": {REQUIRED: [mine]}}
    found = affinity(NODE, own)
    assert found["nodeAffinity"] == {"x": []}
    assert found["podAffinity"][REQUIRED][0] == mine
    assert len(found["podAffinity"][REQUIRED]) == 2


@pytest.mark.parametrize(("workers", "size"), [(None, 5), (4, 2 * 4 + 3)])
def test_the_size_of_a_batch_is_that_of_all_its_roles_in_pods(
    workers: int | None, size: int
) -> None:
    sets = None if workers is None else LeaderWorkerSetTemplate(size=workers)
    roles = [Role(name="a", leader_worker_set=sets), Role(name="b"), Role(name="alone")]
    group = RoleBasedGroup(metadata=ObjectMeta(name="g"), spec=RbgSpec(roles=roles))
    scheduling = AffinityScheduling(topology_key=NODE, ratios={"a": 2, "b": 3})
    strategy = CoordinationStrategy(affinity_scheduling=scheduling)
    assert batch_size(group, Coordination(name="pair", strategy=strategy)) == size


def test_a_pod_that_made_room_comes_after_the_one_that_waited() -> None:
    [batch, other] = affinity(NODE, follows="uid")["podAffinity"][REQUIRED]
    assert AWAITED not in batch["labelSelector"]["matchLabels"]
    assert other["labelSelector"]["matchLabels"][AWAITED] == "uid"
