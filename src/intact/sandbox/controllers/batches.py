"""Many pods at once, of which the API may refuse some."""

from collections.abc import Awaitable, Callable, Iterable

from intact.kube.errors import ApiError
from intact.sandbox.api.objects import Json
from intact.sandbox.controllers.controller import Shared


async def create_all(shared: Shared, pods: Iterable[Callable[[], Json]]) -> None:
    """In batches that double. A batch with a refusal, which is raised, is the last: what one
    request is refused, the next hundred are refused as well."""
    waiting = list(pods)
    size = 1
    while waiting:
        batch, waiting = waiting[:size], waiting[size:]
        await _all(shared.create_pod(make()) for make in batch)
        size *= 2


async def delete_all(shared: Shared, pods: Iterable[Json]) -> None:
    """Each of them, whether or not another may go. The first refusal is raised at the end."""
    await _all(shared.delete_pod(pod) for pod in pods)


async def _all(actions: Iterable[Awaitable[None]]) -> None:
    refusals = []
    for action in actions:
        try:
            await action
        except ApiError as error:
            # No pod is created in a namespace that ends, and there is nothing to be done about it.
            if not error.has_cause("NamespaceTerminating"):
                refusals.append(error)
    if refusals:
        raise refusals[0]
