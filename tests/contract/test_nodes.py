"""What controllers do to nodes."""

from tests.contract.clusters import ClusterBackend
from tests.support.objects import NODES


async def test_a_cordoned_node_is_tainted_until_it_is_uncordoned(
    cluster_backend: ClusterBackend,
) -> None:
    client, name = cluster_backend.client, f"cordoned-{cluster_backend.namespace}"
    body = {"metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}}}
    await client.create(NODES, body)

    async def look() -> list[tuple[str, str]]:
        spec = (await client.get(NODES, name)).get("spec", {})
        return [(each["key"], each["effect"]) for each in spec.get("taints", ())]

    try:
        await cluster_backend.until(look, lambda taints: taints == [])
        await client.patch(NODES, {"spec": {"unschedulable": True}}, name)
        cordoned = [("node.kubernetes.io/unschedulable", "NoSchedule")]
        await cluster_backend.until(look, lambda taints: taints == cordoned)
        await client.patch(NODES, {"spec": {"unschedulable": None}}, name)
        await cluster_backend.until(look, lambda taints: taints == [])
    finally:
        await client.delete(NODES, name)
