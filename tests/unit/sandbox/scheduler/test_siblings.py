"""The pods among which a pod without constraints is spread."""

from typing import Any

from intact.kube.client import Client
from intact.kube.resources import untyped
from intact.sandbox import MemoryApi
from intact.sandbox.scheduler.pods import pod_info
from intact.sandbox.scheduler.siblings import Siblings
from tests.support.objects import STATEFUL_SETS
from tests.support.scheduling import a_pod

A = {"app": "a"}
SERVICES = untyped("", "v1", "services", "Service")


def owned(kind: str = "StatefulSet", name: str = "web") -> dict[str, Any]:
    pod = a_pod("p", labels=A | {"tier": "1"}, namespace="default")
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    return pod


def selected(siblings: Siblings, pod: dict[str, Any], labels: dict[str, str]) -> bool:
    found = siblings.of(pod_info(pod))
    selector = found.selector() if found is not None else None
    return selector is not None and selector.selects(labels)


async def test_pods_of_one_owner_and_of_one_service_are_siblings(
    api: MemoryApi, client: Client
) -> None:
    siblings = Siblings(api)
    assert siblings.of(pod_info(owned())) is None
    template = {"metadata": {"labels": A}, "spec": {"containers": []}}
    spec = {"serviceName": "web", "selector": {"matchLabels": A}, "template": template}
    await client.create(STATEFUL_SETS, {"metadata": {"name": "web"}, "spec": spec}, "default")
    assert selected(siblings, owned(), A)
    assert not selected(siblings, owned(), {"app": "b"})
    assert siblings.of(pod_info(owned("ReplicaSet"))) is None
    assert siblings.of(pod_info(owned("Job"))) is None
    service = {"metadata": {"name": "s"}, "spec": {"selector": {"tier": "1"}}}
    await client.create(SERVICES, service, "default")
    assert not selected(siblings, owned(), A)
    assert selected(siblings, owned(), A | {"tier": "1"})
    await client.delete(SERVICES, "s", "default")
    assert selected(siblings, owned(), A)
