"""The labels and the affinity that a pod of a LeaderWorkerSet gets when it is made."""

from intact.kube.client import Client
from intact.sandbox import MemoryApi
from intact.sandbox.controllers.leader_worker_set.identity import give_identities, group_key
from intact.sandbox.controllers.leader_worker_set.kind import (
    EXCLUSIVE,
    GROUP_INDEX,
    GROUP_KEY,
    NAME,
    WORKER_INDEX,
)
from tests.support.objects import PODS, Json, pod


async def created(api: MemoryApi, name: str, labels: Json, annotations: Json | None = None) -> Json:
    body = pod(name, labels=labels, annotations=annotations or {})
    return await Client(api).create(PODS, body, "default")


async def test_a_leader_learns_its_group(api: MemoryApi) -> None:
    give_identities(api)
    made = await created(api, "llm-3", {NAME: "llm", WORKER_INDEX: "0"})
    labels = made["metadata"]["labels"]
    assert labels[GROUP_INDEX] == "3"
    # As `echo -n default/llm-3 | sha1sum` says.
    assert labels[GROUP_KEY] == group_key("default", "llm-3")
    assert len(labels[GROUP_KEY]) == 40


async def test_a_worker_learns_its_index_and_keeps_its_group(api: MemoryApi) -> None:
    give_identities(api)
    made = await created(api, "llm-3-7", {NAME: "llm", GROUP_INDEX: "3", GROUP_KEY: "k"})
    labels = made["metadata"]["labels"]
    assert (labels[WORKER_INDEX], labels[GROUP_INDEX], labels[GROUP_KEY]) == ("7", "3", "k")


async def test_other_pods_are_left_alone_and_it_can_end(api: MemoryApi) -> None:
    end = give_identities(api)
    made = await created(api, "web-0", {"app": "web"})
    assert made["metadata"]["labels"] == {"app": "web"}
    end()
    made = await created(api, "llm-3", {NAME: "llm", WORKER_INDEX: "0"})
    assert GROUP_KEY not in made["metadata"]["labels"]


async def test_an_exclusive_group_is_alone_in_its_domain(api: MemoryApi) -> None:
    give_identities(api)
    labels = {NAME: "llm", WORKER_INDEX: "0"}
    made = await created(api, "llm-0", labels, {EXCLUSIVE: "rack"})
    key = made["metadata"]["labels"][GROUP_KEY]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    [own] = made["spec"]["affinity"]["podAffinity"][required]
    [others] = made["spec"]["affinity"]["podAntiAffinity"][required]
    assert own["topologyKey"] == others["topologyKey"] == "rack"
    assert own["labelSelector"]["matchExpressions"] == [
        {"key": GROUP_KEY, "operator": "In", "values": [key]}
    ]
    assert others["labelSelector"]["matchExpressions"] == [
        {"key": GROUP_KEY, "operator": "Exists"},
        {"key": GROUP_KEY, "operator": "NotIn", "values": [key]},
    ]
