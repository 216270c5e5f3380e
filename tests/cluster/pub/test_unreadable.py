"""Budgets that are stored and cannot be read, or that cover what another one covers."""

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from intact.kube.errors import Conflict
from intact.kube.resources import PUBS, untyped
from intact.operator.install.install import CRDS
from intact.operator.webhook.configuration import MUTATING, NAME, VALIDATING
from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import Json
from tests.support.pub_cases import budget

CRD = "podunavailablebudgets.policy.kruise.io"
BUDGETS = untyped(PUBS.group, PUBS.version, PUBS.plural, PUBS.kind)
WEB, DB = {"app": "web"}, {"app": "db"}
TWO: Json = {"selector": {"matchLabels": WEB}, "minAvailable": 2}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@asynccontextmanager
async def without_a_schema(ns: NamespaceUnderTest) -> AsyncIterator[None]:
    """The API server stores budgets of any shape, as under the CRD of another product."""
    before = await ns.client.get(CRDS, CRD)
    loose = copy.deepcopy(before["spec"])
    for version in loose["versions"]:
        version["schema"]["openAPIV3Schema"] = ANYTHING
    await put_definition(ns, loose)
    wrong = budget({"maxUnavailable": [5]}, "probe")

    async def stores_anything() -> bool:
        answer = await ns.ask("POST", BUDGETS.path(ns.name), wrong, {"dryRun": "All"})
        return "must be" not in answer.message and "Invalid value" not in answer.message

    try:
        await eventually(stores_anything, bool, "the schema to be gone")
        yield
    finally:
        await put_definition(ns, before["spec"])


async def put_definition(ns: NamespaceUnderTest, spec: Json) -> None:
    while True:
        found = await ns.client.get(CRDS, CRD)
        try:
            await ns.client.update(CRDS, found | {"spec": spec}, CRD)
        except Conflict:
            continue
        return


async def working(ns: NamespaceUnderTest, name: str) -> tuple[str, str, str]:
    found = await ns.client.get(BUDGETS, name, ns.name)
    for one in found.get("status", {}).get("conditions", []):
        if one["type"] == "Working":
            return one["status"], one["reason"], one["message"]
    return "", "", ""


async def test_a_budget_that_cannot_be_read_holds_its_pods(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest
) -> None:
    await ns.pods("a", "b", "c", labels=WEB)
    await ns.pods("d", labels=DB)
    await ns.pods("free")
    await ns.budget(TWO, unavailable_allowed=1)
    async with without_a_schema(ns):
        # What is ours to write is repaired, and holds meanwhile.
        damaged = {"disruptedPods": {"x": 5}, "unavailableAllowed": "nine", "conditions": [5]}
        await ns.client.patch(BUDGETS, {"status": damaged}, "budget", ns.name, subresource="status")
        assert (await ns.evict("free", dry_run="All")).code == 201
        await ns.counted(disrupted_pods={}, unavailable_allowed=1)
        stored = (await ns.client.get(BUDGETS, "budget", ns.name))["status"]
        assert (stored.get("disruptedPods", {}), stored["unavailableAllowed"]) == ({}, 1)
        await ns.events("PodUnavailableBudget", "budget", "LedgerRepaired")

        # Specs that are stored while Intact is not there.
        intact_cluster.stop()
        for resource in (VALIDATING, MUTATING):
            await ns.client.delete(resource, NAME)
        lost = {"selector": {"matchLabels": ["web"]}, "maxUnavailable": 1}
        await ns.create(BUDGETS, budget(lost, "lost"))
        fraction = {"selector": {"matchLabels": DB}, "maxUnavailable": 1.5}
        await ns.create(BUDGETS, budget(fraction, "fraction"))
        huge = {"selector": {"matchLabels": {"app": "huge"}}, "minAvailable": 2**31}
        await ns.create(BUDGETS, budget(huge, "huge"))
    intact_cluster.restore()
    for name, field in (
        ("lost", "spec.selector"),
        ("fraction", "spec.maxUnavailable"),
        ("huge", "spec.minAvailable"),
    ):
        [event] = await ns.events("PodUnavailableBudget", name, "Unreadable")
        assert field in event["message"]
    # Beside a spec of wrong types the CRD refuses any status; beside other bad specs it does not.
    status, _, message = await eventually(
        lambda: working(ns, "huge"), lambda found: found[1] == "Unreadable", "huge to be reported"
    )
    assert (status, "spec.minAvailable" in message) == ("False", True)
    await ns.counted()
    for pod in ("free", "a", "d"):
        answer = await ns.delete(pod)
        assert answer.code == 429, answer
        assert "cannot be read, so its pods stay" in answer.message
    await ns.client.delete(BUDGETS, "lost", ns.name)
    await eventually(lambda: ns.delete("free"), lambda answer: answer.code == 200, "free to go")
    answer = await ns.evict("d")
    assert answer.code == 429
    assert "spec.maxUnavailable" in answer.message

    # The user corrects it.
    code, said = await ns.kubectl(
        "patch", "pub", "fraction", "--type=merge", '-p={"spec":{"maxUnavailable":1}}'
    )
    assert code == 0, said
    await ns.counted("fraction", unavailable_allowed=1)
    assert (await ns.evict("d")).code == 201
    assert [(await ns.delete(pod)).code for pod in ("a", "b")] == [200, 429]


async def test_budgets_for_the_same_pods(ns: NamespaceUnderTest) -> None:
    await ns.pods("a", "b", "c", labels=WEB)
    path = BUDGETS.path(ns.name)
    for number in range(5):
        # One right after the other, and one right after its predecessor has gone.
        assert (await ns.ask("POST", path, budget(TWO, f"first-{number}"))).code == 201
        answer = await ns.ask("POST", path, budget(TWO, f"second-{number}"))
        assert answer.code == 422
        assert f"it overlaps with the selector of the budget first-{number}" in answer.message
        await ns.client.delete(BUDGETS, f"first-{number}", ns.name)

    async def create(name: str) -> str | None:
        answer = await ns.ask("POST", path, budget(TWO, name))
        assert answer.code in (201, 422), answer
        return name if answer.code == 201 else None

    made = await asyncio.gather(*(create(f"at-once-{number}") for number in range(6)))
    names = [name for name in made if name is not None]
    assert names
    for name in names:
        found = await ns.counted(name, unavailable_allowed=1)
        if len(names) > 1:
            await eventually(
                lambda name=name: ns.client.get(PUBS, name, ns.name),  # type: ignore[misc]
                lambda found: any(one.type == "Overlapping" for one in found.status.conditions),
                "the overlap to be told",
            )
        else:
            assert not any(one.type == "Overlapping" for one in found.status.conditions)
    assert (await ns.delete("a")).code == 200
    assert (await ns.delete("b")).code == 429
    for name in names[1:]:
        await ns.client.delete(BUDGETS, name, ns.name)
    await eventually(
        lambda: ns.client.get(PUBS, names[0], ns.name),
        lambda found: not any(one.type == "Overlapping" for one in found.status.conditions),
        "no overlap any more",
    )
