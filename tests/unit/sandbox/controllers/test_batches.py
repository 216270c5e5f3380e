"""Many pods at once."""

from functools import partial

import pytest

from intact.kube.errors import BadRequest
from intact.sandbox import Rule
from intact.sandbox.controllers.batches import create_all, delete_all
from intact.sandbox.controllers.controller import Shared
from tests.support.objects import CONFIGMAPS, NAMESPACES, Json, configmap, pod
from tests.unit.sandbox.controllers.acting import pod_names, pods


def body(name: str, namespace: str = "default") -> Json:
    return pod(name, namespace=namespace)


def refuse_some(shared: Shared, verb: str, refused: set[str]) -> list[str]:
    """Returns what was asked for, as it grows."""
    asked: list[str] = []

    async def answer(request: Json) -> Json:
        asked.append(request["name"] or request["object"]["metadata"]["name"])
        return {"allowed": asked[-1] not in refused}

    shared.api.admit("some.test", answer, [Rule(("pods",), (verb,))])
    return asked


async def test_creations_begin_slowly_and_stop_with_a_batch_that_is_refused(
    shared: Shared,
) -> None:
    asked = refuse_some(shared, "CREATE", {"p4"})
    names = [f"p{number}" for number in range(12)]
    with pytest.raises(BadRequest):
        await create_all(shared, [partial(body, name) for name in names])
    # One, two, then four, of which one is refused.
    assert asked == names[:7]
    assert pod_names(shared) == [name for name in names[:7] if name != "p4"]


async def test_deletions_go_on_past_a_refusal(shared: Shared) -> None:
    await create_all(shared, [partial(body, f"p{number}") for number in range(4)])
    refuse_some(shared, "DELETE", {"p0", "p2"})
    with pytest.raises(BadRequest):
        await delete_all(shared, pods(shared))
    assert pod_names(shared) == ["p0", "p2"]
    await delete_all(shared, [{"metadata": {"name": "gone", "namespace": "default"}}])


async def test_a_namespace_that_ends_is_no_failure(shared: Shared) -> None:
    await shared.client.create(NAMESPACES, {"metadata": {"name": "ending"}})
    held = configmap("held", finalizers=["test.io/held"])
    await shared.client.create(CONFIGMAPS, held, "ending")
    await shared.client.delete(NAMESPACES, "ending")
    await create_all(shared, [partial(body, "p", "ending")])
    assert pods(shared) == []
