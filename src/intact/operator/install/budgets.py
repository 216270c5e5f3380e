"""What `intact uninstall` does to the budgets that stay: none of them may look as if it were held,
and none may let more go than it says.

A PodDisruptionBudget in groups has a `disruptionsAllowed` of a whole group's pods, and the stock
controller counts it again only when something changes. So it gets 0 while the webhook still holds
its status: the webhook goes only after that, and the write makes the stock controller count.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from intact.budget.pdb.group_conditions import BUDGET_CONFIGURED
from intact.budget.pdb.group_settings import LEDGER, REPLICAS
from intact.budget.pdb.scope import SCOPE_LABEL, counts_pods
from intact.budget.pub.conditions import UNINSTALLED, WORKING
from intact.kube.client import Client
from intact.kube.errors import Conflict, KubeError, NotFound, ServerError
from intact.kube.resources import PDBS, PUBS, untyped
from intact.kube.store import key_of
from intact.model.pdb import PodDisruptionBudget
from intact.model.times import timestamp
from intact.operator.pdb.give_back import is_left_over
from intact.operator.pdb.status import status_patch
from intact.operator.webhook.configuration import MUTATING, NAME, PDB_STATUS_PATH

Json = dict[str, Any]
Say = Callable[[str], None]

MANAGER = "intact-uninstall"
"""The field manager of these writes."""
_NOT_OURS = {
    "name": "not-by-the-uninstall",
    "expression": (
        "!(has(request.options) && has(request.options.fieldManager)"
        f" && request.options.fieldManager == '{MANAGER}')"
    ),
}
_NOTICED_WITHIN = 30.0
"""Seconds for the API server to notice a changed registration."""
_PAUSE = 0.2
_ATTEMPTS = 10
_BUDGETS = untyped(PUBS.group, PUBS.version, PUBS.plural, PUBS.kind)


async def give_groups_back(client: Client, say: Say) -> None:
    """Close the PodDisruptionBudgets in groups, and name them. Intact must not run any more, and
    its webhooks must still be registered. Raises `KubeError`."""
    listed = await client.list(PDBS, labels=SCOPE_LABEL)
    budgets = [each for each in listed.items if not counts_pods(each) and not each.server_decides]
    if not budgets:
        return
    held = await _let_us_write(client)
    for budget in budgets:
        if held or is_left_over(budget) or REPLICAS in budget.metadata.annotations:
            await _close(client, budget)
        namespace, name = key_of(budget)
        say(
            f"PodDisruptionBudget {namespace}/{name} counts pods from now on: "
            f"its label {SCOPE_LABEL} has no effect without Intact"
        )


async def _let_us_write(client: Client) -> bool:
    """Exempt our own writes, and only these, from the webhook on the status, which does not answer
    any more. Returns whether there is such a webhook."""
    for _ in range(_ATTEMPTS):
        try:
            found = await client.get(MUTATING, NAME)
        except NotFound:
            return False
        webhooks = [_exempting(each) for each in found.webhooks or []]
        if webhooks == found.webhooks:
            return True
        version = found.metadata.resource_version
        patch = {"metadata": {"resourceVersion": version}, "webhooks": webhooks}
        try:
            await client.patch(MUTATING, patch, NAME)
        except Conflict:
            continue
        return True
    raise KubeError(f"the {MUTATING.kind} {NAME} changes faster than it can be written")


def _exempting(webhook: Json) -> Json:
    config = webhook["clientConfig"]
    path = config["service"].get("path", "") if "service" in config else config["url"]
    conditions = webhook.get("matchConditions") or []
    if not path.endswith(PDB_STATUS_PATH) or _NOT_OURS in conditions:
        return webhook
    return webhook | {"matchConditions": [*conditions, _NOT_OURS]}


async def _close(client: Client, budget: PodDisruptionBudget) -> None:
    """Let nothing go, and remove what Intact wrote. Until the API server has noticed that our
    writes are exempt, it answers 500."""
    namespace, name = key_of(budget)
    loop = asyncio.get_running_loop()
    end = loop.time() + _NOTICED_WITHIN
    while True:
        conditions = [each for each in budget.status.conditions if each.type != BUDGET_CONFIGURED]
        status = replace(budget.status, disruptions_allowed=0, conditions=conditions)
        patch = status_patch(budget, status, dict.fromkeys((LEDGER, REPLICAS)))
        try:
            await client.patch(
                PDBS, patch, name, namespace, subresource="status", field_manager=MANAGER
            )
        except NotFound:
            return
        except (Conflict, ServerError):
            if loop.time() > end:
                raise
            await asyncio.sleep(_PAUSE)
        else:
            return
        try:
            budget = await client.get(PDBS, name, namespace)
        except NotFound:
            return


async def take_working_back(client: Client, now: datetime, say: Say) -> None:
    """Say on every PodUnavailableBudget that nothing holds its pods. Raises `KubeError`."""
    try:
        found = (await client.list(_BUDGETS)).items
    except NotFound:
        return  # the CRD is not there
    changed = [each for each in found if await _take_back(client, each, now)]
    if changed:
        say(f"{len(changed)} PodUnavailableBudgets hold nothing any more: {WORKING} is False")


async def _take_back(client: Client, budget: Json, now: datetime) -> bool:
    """Returns whether it was written."""
    name, namespace = budget["metadata"]["name"], budget["metadata"]["namespace"]
    for _ in range(_ATTEMPTS):
        conditions = (budget.get("status") or {}).get("conditions") or []
        if any(
            each["type"] == WORKING and each.get("reason") == UNINSTALLED for each in conditions
        ):
            return False
        working = {
            "type": WORKING,
            "status": "False",
            "reason": UNINSTALLED,
            "message": "Intact was removed from the cluster: the budget holds nothing",
            "lastTransitionTime": timestamp(now),
        }
        others = [each for each in conditions if each["type"] != WORKING]
        version = budget["metadata"]["resourceVersion"]
        patch = {
            "metadata": {"resourceVersion": version},
            "status": {"conditions": [working, *others]},
        }
        try:
            await client.patch(_BUDGETS, patch, name, namespace, subresource="status")
        except NotFound:
            return False
        except Conflict:
            budget = await client.get(_BUDGETS, name, namespace)
        else:
            return True
    raise KubeError(f"the status of the budget {namespace}/{name} changes too fast to be written")
