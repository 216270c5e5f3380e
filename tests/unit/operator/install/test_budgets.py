"""What `intact uninstall` does to the budgets that stay."""

from datetime import UTC, datetime

import pytest

from intact.kube.client import Client
from intact.kube.errors import ServerError
from intact.kube.resources import PUBS, untyped
from intact.operator.install.budgets import MANAGER, give_groups_back, take_working_back
from intact.operator.webhook.configuration import MUTATING, UrlAddress, mutating_configuration
from intact.sandbox import Kind, Rule
from tests.support.objects import PDBS, Json
from tests.support.pub_cases import amount, budget
from tests.unit.kube.simulated import now, simulated
from tests.unit.operator.install.cluster import new_api

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SCOPE = "intact.dev/budget-scope"
OURS = {"intact.dev/ledger": "{}", "intact.dev/replicas": "{}"}
BUDGETS = untyped(PUBS.group, PUBS.version, PUBS.plural, PUBS.kind)


async def a_pdb(client: Client, name: str, **labels: str) -> None:
    """As Intact leaves it: it lets a whole group go."""
    meta = {"name": name, "labels": labels, "annotations": OURS | {"mine": "x"}}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "maxUnavailable": 1}
    await client.create(PDBS, {"metadata": meta, "spec": spec}, "default")
    conditions = [
        {"type": "DisruptionAllowed", "status": "True"},
        {"type": "BudgetConfigured", "status": "True"},
    ]
    status = {"disruptionsAllowed": 4, "currentHealthy": 12, "conditions": conditions}
    await client.patch(PDBS, {"status": status}, name, "default", subresource="status")


async def read(client: Client, name: str) -> Json:
    return await client.get(PDBS, name, "default")


@simulated
async def test_budgets_in_groups_are_closed_cleaned_and_named() -> None:
    client = Client(new_api())
    await a_pdb(client, "grouped", **{SCOPE: "Workload"})
    await a_pdb(client, "unknown", **{SCOPE: "Rack"})
    await a_pdb(client, "in-pods", **{SCOPE: "Pod"})
    await a_pdb(client, "plain")
    said: list[str] = []
    await give_groups_back(client, said.append)
    for name in ("grouped", "unknown"):
        found = await read(client, name)
        assert found["status"]["disruptionsAllowed"] == 0
        assert found["status"]["currentHealthy"] == 12
        assert [each["type"] for each in found["status"]["conditions"]] == ["DisruptionAllowed"]
        assert found["metadata"]["annotations"] == {"mine": "x"}
        assert found["metadata"]["labels"]
    for name in ("in-pods", "plain"):
        found = await read(client, name)
        assert found["status"]["disruptionsAllowed"] == 4
        assert found["metadata"]["annotations"].keys() == {*OURS, "mine"}
    assert sorted(line.split(" counts ")[0] for line in said) == [
        "PodDisruptionBudget default/grouped",
        "PodDisruptionBudget default/unknown",
    ]


@simulated
async def test_only_our_own_writes_are_exempt_from_the_webhook_on_the_status() -> None:
    client = Client(new_api())
    await client.create(MUTATING, mutating_configuration(UrlAddress("127.0.0.1", 1), b"ca"))
    before = (await client.get(MUTATING, "intact")).webhooks or []
    await a_pdb(client, "grouped", **{SCOPE: "Workload"})
    await give_groups_back(client, lambda _line: None)
    after = (await client.get(MUTATING, "intact")).webhooks or []
    for old, new in zip(before, after, strict=True):
        known = old.get("matchConditions", [])
        added = [each for each in new.get("matchConditions", []) if each not in known]
        is_of_status = old["clientConfig"]["url"].endswith("/gate/pdb-status")
        assert [MANAGER in each["expression"] for each in added] == [True] * is_of_status
        assert {**new, "matchConditions": known} == {**old, "matchConditions": known}


@pytest.mark.parametrize("heals", [True, False])
@simulated
async def test_a_webhook_that_refuses_still_leaves_no_budget_open(heals: bool) -> None:
    """It is noticed late that our writes are exempt, or never: then the uninstall ends with an
    error, before the webhook goes."""
    api = new_api()
    client = Client(api)
    await a_pdb(client, "grouped", **{SCOPE: "Workload"})

    async def answer(_request: Json) -> Json:
        if heals and now() > 5:
            return {"allowed": True}
        raise ConnectionError("no replica answers")

    api.admit("status", answer, [Rule(("poddisruptionbudgets/status",), ("UPDATE",))])
    if heals:
        await give_groups_back(client, lambda _line: None)
        assert (await read(client, "grouped"))["status"]["disruptionsAllowed"] == 0
    else:
        with pytest.raises(ServerError):
            await give_groups_back(client, lambda _line: None)
        assert now() >= 30


@simulated
async def test_working_is_taken_back_and_other_conditions_stay() -> None:
    api = new_api()
    api.register(Kind(PUBS.group, PUBS.version, PUBS.plural, PUBS.kind, status=True))
    client = Client(api)
    for name in ("counted", "new"):
        await client.create(BUDGETS, budget(amount(1), name), "default")
    conditions = [
        {"type": "Reviewed", "status": "True"},
        {"type": "Working", "status": "True", "reason": "Gated"},
    ]
    status = {"status": {"unavailableAllowed": 1, "conditions": conditions}}
    await client.patch(BUDGETS, status, "counted", "default", subresource="status")
    said: list[str] = []
    await take_working_back(client, NOW, said.append)
    assert said == ["2 PodUnavailableBudgets hold nothing any more: Working is False"]
    for name, types in (("counted", ["Working", "Reviewed"]), ("new", ["Working"])):
        found = (await client.get(BUDGETS, name, "default"))["status"]["conditions"]
        assert [each["type"] for each in found] == types
        assert (found[0]["status"], found[0]["reason"]) == ("False", "Uninstalled")
        assert found[0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    await take_working_back(client, NOW, said.append)
    assert len(said) == 1


@simulated
async def test_without_the_crd_there_is_nothing_to_take_back() -> None:
    said: list[str] = []
    await take_working_back(Client(new_api()), NOW, said.append)
    assert said == []
