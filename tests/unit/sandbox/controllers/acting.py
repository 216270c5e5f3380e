"""What tests of controllers do in place of users, kubelets and admission."""

from typing import Any

from intact.kube.resources import Resource
from intact.model.times import timestamp
from intact.sandbox import Hook, Rule
from intact.sandbox.controllers.controller import Controller, Shared
from tests.support.objects import PODS, Json


async def create(shared: Shared, resource: Resource[Json], body: Json) -> Json:
    return await shared.client.create(resource, body, "default")


async def change(shared: Shared, resource: Resource[Json], name: str, body: Json) -> Json:
    return await shared.client.patch(resource, body, name, "default")


def peek(shared: Shared, resource: Resource[Json], name: str) -> Json:
    found = shared.api.peek(resource.full_name, "default", name)
    assert found is not None
    return found


def pods(shared: Shared) -> list[Json]:
    return list(shared.api.objects("pods"))


def pod_names(shared: Shared) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods(shared)]


async def step(controller: Controller, resource: Resource[Json], name: str) -> Json:
    """One look of the controller. Returns the object as it then is."""
    await controller.reconcile(peek(controller.shared, resource, name))
    return peek(controller.shared, resource, name)


async def run_pod(shared: Shared, name: str, *, ready: bool = True, **status: Any) -> None:
    """As a kubelet reports it."""
    condition = {
        "type": "Ready",
        "status": str(ready),
        "lastTransitionTime": timestamp(shared.clock()),
    }
    body = {"status": {"phase": "Running", "conditions": [condition], **status}}
    await shared.client.patch(PODS, body, name, "default", subresource="status")


async def run_all(shared: Shared) -> None:
    for pod in pods(shared):
        if "deletionTimestamp" not in pod["metadata"]:
            await run_pod(shared, pod["metadata"]["name"])


def refuse(shared: Shared, verb: str, resource: str = "pods") -> Hook:
    """From now on the API refuses this verb, until the hook is withdrawn."""

    async def refusal(_: Json) -> Json:
        return {"allowed": False, "status": {"code": 403, "message": "not now"}}

    return shared.api.admit("no.test", refusal, [Rule((resource,), (verb,))])
