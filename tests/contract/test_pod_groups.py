"""PodGroups and Workloads of Kubernetes 1.36, where they are switched on."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from devcluster.cluster import Cluster
from intact.kube.errors import Forbidden, Invalid, NotFound
from tests.contract.clusters import ClusterBackend
from tests.support.objects import PODS, Json, pod
from tests.support.pdb_groups import POD_GROUPS, WORKLOADS

_GATES = "--feature-gates=GenericWorkload=true,GangScheduling=true"


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    flags = {
        "kube-apiserver": (_GATES, "--runtime-config=scheduling.k8s.io/v1alpha2=true"),
        "kube-controller-manager": (_GATES,),
        "kube-scheduler": (_GATES,),
    }
    started = Cluster(nodes=3, flags=flags)
    started.open()
    yield started
    started.close(failed=request.session.testsfailed > 0)


BOTH = (
    'spec.schedulingPolicy: Invalid value: "{basic, gang}": '
    "must specify exactly one of: `basic`, `gang`"
)


async def workload(cluster: ClusterBackend) -> None:
    template = {"name": "worker", "schedulingPolicy": {"gang": {"minCount": 2}}}
    body = {"metadata": {"name": "llm"}, "spec": {"podGroupTemplates": [template]}}
    await cluster.create(WORKLOADS, body)


async def pod_group(cluster: ClusterBackend, template: str = "", **policy: Any) -> Json:
    spec: Json = {"schedulingPolicy": policy or {"gang": {"minCount": 2}}}
    if template:
        reference = {"workloadName": "llm", "podGroupTemplateName": template}
        spec["podGroupTemplateRef"] = {"workload": reference}
    return await cluster.create(POD_GROUPS, {"metadata": {"name": "red"}, "spec": spec})


async def member(cluster: ClusterBackend, name: str, **more: Any) -> None:
    body = pod(name, **more)
    body["spec"]["schedulingGroup"] = {"podGroupName": "red"}
    await cluster.create(PODS, body)


async def test_a_pod_group_is_protected_and_disrupted_by_pods(
    cluster_backend: ClusterBackend,
) -> None:
    await workload(cluster_backend)
    made = await pod_group(cluster_backend, "worker")
    assert made["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]
    assert "generation" not in made["metadata"]
    assert made["spec"]["disruptionMode"] == "Pod"
    assert made["status"] == {}


async def test_its_template_must_be_there(cluster_backend: ClusterBackend) -> None:
    rejected = 'podgroups.scheduling.k8s.io "red" is forbidden: PodGroup rejected: '
    with pytest.raises(Forbidden) as refused:
        await pod_group(cluster_backend, "worker")
    assert str(refused.value) == f'{rejected}Workload "llm" not found'
    await workload(cluster_backend)
    with pytest.raises(Forbidden) as refused:
        await pod_group(cluster_backend, "other")
    why = 'PodGroupTemplate "other" not found in Workload "llm"'
    assert str(refused.value) == rejected + why


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (
            {"other": {}},
            'spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`',
        ),
        (
            {"basic": {}, "gang": {"minCount": 1}},
            BOTH,
        ),
        ({"gang": {"minCount": 0}}, "spec.schedulingPolicy.gang.minCount: Required value"),
    ],
)
async def test_it_has_one_policy(cluster_backend: ClusterBackend, policy: Json, why: str) -> None:
    with pytest.raises(Invalid) as refused:
        await pod_group(cluster_backend, **policy)
    assert str(refused.value) == f'PodGroup.scheduling.k8s.io "red" is invalid: {why}'


async def test_a_workload_has_templates(cluster_backend: ClusterBackend) -> None:
    with pytest.raises(Invalid, match=r"spec.podGroupTemplates"):
        await cluster_backend.create(WORKLOADS, {"metadata": {"name": "llm"}, "spec": {}})


async def test_it_stays_until_its_last_pod_is_gone(cluster_backend: ClusterBackend) -> None:
    await pod_group(cluster_backend, gang={"minCount": 1})
    for name in ("a", "b"):
        await member(cluster_backend, name)
    client, namespace = cluster_backend.client, cluster_backend.namespace
    await client.delete(POD_GROUPS, "red", namespace)
    for name in ("a", "b"):
        found = await cluster_backend.get(POD_GROUPS, "red")
        assert "deletionTimestamp" in found["metadata"]
        await client.delete(PODS, name, namespace, grace_period_seconds=0)

    async def is_gone() -> bool:
        try:
            await cluster_backend.get(POD_GROUPS, "red")
        except NotFound:
            return True
        return False

    await cluster_backend.until(is_gone, bool)


async def crowded(cluster: ClusterBackend, *names: str, amount: int) -> None:
    """Pods of the group that ask for so much of a thousand that each of three nodes has."""
    for name in names:
        body = pod(name)
        requests = {"requests": {"cpu": str(amount)}}
        body["spec"]["containers"][0]["resources"] = requests
        body["spec"]["schedulingGroup"] = {"podGroupName": "red"}
        await cluster.create(PODS, body)


async def nodes_of(cluster: ClusterBackend) -> dict[str, str]:
    return {
        each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in await cluster.pods()
    }


async def messages(cluster: ClusterBackend) -> list[str]:
    """Why pods wait."""
    return sorted(
        each["message"]
        for one in await cluster.pods()
        for each in one["status"].get("conditions") or ()
        if each["type"] == "PodScheduled" and each["status"] == "False"
    )


async def until_scheduled(cluster: ClusterBackend, status: str, reason: str) -> None:
    """Until the PodGroup says so."""

    def says(group: Json) -> bool:
        conditions = group["status"].get("conditions") or ()
        return [(each["type"], each["status"], each["reason"]) for each in conditions] == [
            ("PodGroupScheduled", status, reason)
        ]

    await cluster.until(lambda: cluster.get(POD_GROUPS, "red"), says)


WAITING = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or "
    "more plugins asked to wait and no plugin rejected pod"
)


async def test_pods_wait_for_their_pod_group_and_for_as_many_as_it_needs(
    cluster_backend: ClusterBackend,
) -> None:
    await crowded(cluster_backend, "a", amount=1)
    await asyncio.sleep(1)
    assert not any((await nodes_of(cluster_backend)).values())
    await pod_group(cluster_backend)
    await asyncio.sleep(1)
    assert not any((await nodes_of(cluster_backend)).values())
    assert await messages(cluster_backend) == []
    await crowded(cluster_backend, "b", amount=1)
    await cluster_backend.until(
        lambda: nodes_of(cluster_backend), lambda found: all(found.values())
    )
    await until_scheduled(cluster_backend, "True", "Scheduled")


async def test_a_gang_without_room_takes_none(cluster_backend: ClusterBackend) -> None:
    await pod_group(cluster_backend, gang={"minCount": 4})
    await crowded(cluster_backend, *"abcd", amount=900)
    found = await cluster_backend.until(
        lambda: messages(cluster_backend), lambda found: len(found) == 4
    )
    assert found.count(WAITING) == 3
    assert not any((await nodes_of(cluster_backend)).values())
    assert any("3 Insufficient cpu" in text for text in found)
    await until_scheduled(cluster_backend, "False", "Unschedulable")


async def test_beyond_its_need_pods_of_a_gang_get_what_room_there_is(
    cluster_backend: ClusterBackend,
) -> None:
    await pod_group(cluster_backend, gang={"minCount": 3})
    await crowded(cluster_backend, *"abcdefg", amount=450)
    await cluster_backend.until(
        lambda: nodes_of(cluster_backend), lambda found: sum(map(bool, found.values())) == 6
    )
    placed = [name for name, node in (await nodes_of(cluster_backend)).items() if node]
    await cluster_backend.client.delete(PODS, placed[0], cluster_backend.namespace)
    await cluster_backend.until(
        lambda: nodes_of(cluster_backend),
        lambda found: len(found) == 6 and all(found.values()),
    )
