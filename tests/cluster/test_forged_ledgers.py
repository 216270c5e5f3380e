"""Ledgers into which someone has written: nothing in them stops a recount, or holds for good."""

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from intact.budget.pdb.annotations import ledger_of
from intact.kube.client import PatchType
from intact.kube.resources import PUBS, untyped
from intact.model.pdb import PodDisruptionBudget
from intact.model.pub import PodUnavailableBudget
from tests.support.namespace_under_test import NamespaceUnderTest, eventually
from tests.support.objects import DEPLOYMENTS, PDBS, Json, deployment
from tests.support.pdb_groups import Groups, condition, spread

BUDGETS = untyped(PUBS.group, PUBS.version, PUBS.plural, PUBS.kind)
FUTURE = "999999999999999"
NEVER = "2400-01-01T00:00:00Z"
DEEP = "[" * 20_000
LEDGERS: tuple[Json, ...] = (
    {"seen": FUTURE},
    {"seen": "abc"},
    {"pods": {"uid": {"name": "p", "operation": "FLY", "at": "soon", "resourceVersion": FUTURE}}},
    {"pods": {"uid": {"name": "p", "operation": "EVICT", "at": NEVER, "resourceVersion": "abc"}}},
    {
        "pods": {
            f"u{n}": {"name": "p", "operation": "", "at": "", "resourceVersion": "1" * 30}
            for n in range(2000)
        }
    },
    {"pods": [DEEP]},
)


async def write(ns: NamespaceUnderTest, ledger: Json) -> PodUnavailableBudget:
    """Write this into the ledger of the budget, and wait until it is repaired."""
    found = msgspec.to_builtins((await ns.status()).ledger)
    text = msgspec.json.encode(found | ledger).decode()
    body = {"status": {"ledger": text}}
    await ns.client.patch(BUDGETS, body, "budget", ns.name, subresource="status")

    async def look() -> Json:
        return await ns.client.get(BUDGETS, "budget", ns.name)

    repaired = await eventually(look, lambda one: one["status"]["ledger"] != text, "a repair")
    return msgspec.convert(repaired, PodUnavailableBudget)


async def test_a_budget_recovers_from_whatever_is_written_into_its_ledger(
    ns: NamespaceUnderTest,
) -> None:
    await ns.create(DEPLOYMENTS, deployment("web", replicas=3))
    names = await ns.running(3)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    await ns.budget({"targetRef": target, "maxUnavailable": 1}, unavailable_allowed=1)
    for ledger in LEDGERS:
        found = await write(ns, ledger)
        assert (found.status.unavailable_allowed, found.status.ledger.pods) == (1, {})
        assert found.status.ledger.seen.isdigit()
        assert int(found.status.ledger.seen) < int(FUTURE)
    # A record of a pod that exists may be true: it holds for its lifetime from now, and no longer.
    # So does one with a time that the API server would refuse in a status.
    other_form = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    records = {
        (await ns.get(name))["metadata"]["uid"]: {
            "name": name,
            "operation": "DELETE",
            "at": at,
            "resourceVersion": FUTURE,
        }
        for name, at in zip(names, (NEVER, other_form), strict=False)
    }
    found = await write(ns, {"pods": records})
    assert (found.status.unavailable_allowed, found.status.current_available) == (0, 1)
    await ns.counted(unavailable_allowed=1, current_available=3)
    events = await ns.events("PodUnavailableBudget", "budget", "LedgerRepaired")
    assert any("which is yet to come" in event["message"] for event in events)
    # A replica may hear of the last count a moment later, and denies until then.
    await eventually(lambda: ns.delete(names[0]), lambda answer: answer.code == 200, "a delete")
    assert (await ns.delete(names[1])).code == 429


def differs_from(text: str) -> Callable[[PodDisruptionBudget], bool]:
    return lambda budget: budget.metadata.annotations["intact.dev/ledger"] != text


async def test_a_budget_in_groups_recovers_from_whatever_is_written_into_its_ledger(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    for group in ("red", "blue"):
        await groups.lws_pods(group, spread(group, 2, "node-0", "node-1"), size=2)
    await groups.budget(maxUnavailable=1, annotations={"intact.dev/expected-replicas": "2"})
    await groups.counted(allowed=1, healthy=2)
    for forged in (
        {"seen": FUTURE},
        {"seen": "abc"},
        {"absent": {"green": NEVER}, "unavailable": {"black": -5}},
        {"absent": {"green": "soon"}, "needs": {"3": 10**6}, "allowed": 10**6},
        {"pods": {"red-0": {"uid": "x", "group": "blue", "version": FUTURE}}},
        {"pods": {f"x-{n}": {"version": "x"} for n in range(2000)}},
        {"pods": [DEEP]},
    ):
        ledger = msgspec.to_builtins(ledger_of(await groups.stored()))
        text = msgspec.json.encode(ledger | forged).decode()
        assert (await groups.annotate(**{"intact.dev/ledger": text})).code == 200
        found = await groups.counted(allowed=1, healthy=2, matches=differs_from(text))
        ledger = ledger_of(found)
        assert (ledger.pods, ledger.expected, ledger.desired) == ({}, 2, 1)
        assert int(ledger.seen) < int(FUTURE)
    assert await ns.events("PodDisruptionBudget", "llm", "LedgerRepaired")
    assert (await ns.evict("red-0")).code == 201
    assert (await ns.evict("blue-0")).code == 429


async def test_however_much_a_condition_has_to_say_the_api_server_takes_it(
    ns: NamespaceUnderTest, groups: Groups
) -> None:
    """It refuses a status with a message of more than 32 KiB, and the budget would never be counted
    again."""
    for group in ("red", "blue"):
        await groups.lws_pods(group, spread(group, 2, "node-0", "node-1"), size=2)
    misspelt = {f"intact.dev/expected-replica{number}": "2" for number in range(400)}
    await groups.budget(maxUnavailable=1, annotations=misspelt)
    found = await groups.counted(allowed=1, healthy=2)
    assert condition(found, "BudgetConfigured")[:2] == ("False", "WithoutEffect")
    await groups.budget(None, name="pods", maxUnavailable=1, annotations=misspelt)

    def reason(budget: PodDisruptionBudget) -> list[str]:
        return [one.reason for one in budget.status.conditions if one.type == "BudgetConfigured"]

    async def of_pods() -> list[str]:
        return reason(await groups.stored("pods"))

    await eventually(of_pods, lambda said: said == ["WithoutEffect"], "a word on the keys")
    # A status write stores annotations as well, and admission does not check them there.
    path = PDBS.path(ns.name, "llm", "status")
    wrong = {"metadata": {"annotations": {"intact.dev/min-ready-replicas": "x" * 100_000}}}
    assert (await ns.ask("PATCH", path, wrong, {}, PatchType.MERGE)).code == 200
    await groups.counted(
        disruptions_allowed=0, matches=lambda budget: reason(budget) == ["InvalidConfig"]
    )
