"""RoleBasedGroups in batches, and which batches run on which nodes."""

from collections import Counter
from collections.abc import Mapping, Sequence

from intact.model.rbg import RoleBasedGroup
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import NODES, PODS, Json
from tests.support.rbg_objects import batches, group, kind, role, template
from tests.support.rbg_waiting import role_pods

BATCH = "batch.coordination.workloads.x-k8s.io/batched"
MEMBER = "coordination.workloads.x-k8s.io/batched"


def fits_one(ns: NamespaceUnderTest, image: str = "engine:1") -> Json:
    container = {"name": "engine", "image": image, "resources": {"requests": {"cpu": "1"}}}
    return template(containers=[container], nodeSelector={"home": ns.name})


def six_three(
    ns: NamespaceUnderTest, mode: str, workload: str = "StatefulSet", **spec: object
) -> Json:
    each = kind(workload) | {"template": fits_one(ns)}
    roles = (role("prefill", 6) | each, role("decode", 3) | each)
    coordination = [batches({"prefill": 2, "decode": 1}, mode)]
    return group("llm", *roles, **{"coordination": coordination, **spec})


async def placed(ns: NamespaceUnderTest) -> dict[str, Counter[tuple[str, str]]]:
    """By node: how many pods of which role and batch."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    for name in ("prefill", "decode"):
        for pod in await role_pods(ns, name):
            if "deletionTimestamp" in pod["metadata"]:
                continue
            labels = pod["metadata"]["labels"]
            assert labels[MEMBER] == "member"
            node = pod["spec"].get("nodeName", "")
            found.setdefault(node, Counter())[name, labels[BATCH]] += 1
    return found


def whole(number: int) -> Counter[tuple[str, str]]:
    return Counter({("prefill", str(number)): 2, ("decode", str(number)): 1})


def by_batch(found: dict[str, Counter[tuple[str, str]]]) -> list[Counter[tuple[str, str]]]:
    return sorted(found.values(), key=lambda one: min(batch for _, batch in one))


def progress(found: RoleBasedGroup) -> tuple[int, int, int, list[int]]:
    [state] = [one for one in found.status.coordination_state if one.name == "batched"]
    assert state.batches is not None
    one = state.batches
    return one.total, one.started, one.ready, one.pending


def node_name(ns: NamespaceUnderTest, index: int) -> str:
    return f"{ns.name[-6:]}-{index}"


async def resize(ns: NamespaceUnderTest, cpu: int) -> None:
    """Give all nodes of the namespace room for so many pods."""
    size = {"status": {"allocatable": {"cpu": str(cpu)}, "capacity": {"cpu": str(cpu)}}}
    for node in (await ns.client.list(NODES, labels=f"home={ns.name}")).items:
        await ns.client.patch(NODES, size, node["metadata"]["name"], subresource="status")


async def bind(ns: NamespaceUnderTest, layout: Mapping[int, Sequence[str]]) -> None:
    """Put pods on nodes, by the nodes' index, as a scheduler without batches may have done."""
    wanted = {name for names in layout.values() for name in names}

    async def there() -> set[str]:
        return {one["metadata"]["name"] for one in (await ns.client.list(PODS, ns.name)).items}

    await eventually(there, lambda found: wanted <= found, "the pods")
    for index, names in layout.items():
        target = {"apiVersion": "v1", "kind": "Node", "name": node_name(ns, index)}
        for name in names:
            body = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": name, "namespace": ns.name},
                "target": target,
            }
            await ns.client.create_subresource(PODS, name, ns.name, "binding", body)
