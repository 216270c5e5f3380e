"""The eviction subresource of pods, branch by branch as kube-apiserver has it.

Its check of the budget is a PUT of the budget's status by the API server itself, which passes
admission like any other write; on a conflict it is repeated on the fresh budget.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from intact.sandbox.api.admission import Operation
from intact.sandbox.api.failures import Failure, bad_request, not_found, unexpected
from intact.sandbox.api.namespaces import check_lifecycle
from intact.sandbox.api.objects import Json, copied, metadata
from intact.sandbox.api.removal.budgets import decremented, is_free, selects, still_processed
from intact.sandbox.api.removal.delete_options import (
    DeleteOptions,
    check_preconditions,
    read_options,
)
from intact.sandbox.api.removal.deletion import delete
from intact.sandbox.api.removal.group_budgets import GroupBudget, counts_groups
from intact.sandbox.api.routing import API_SERVER, Call, Route
from intact.sandbox.api.state import State
from intact.sandbox.api.store import Stored
from intact.sandbox.api.writing.writes import update

T = TypeVar("T")

EVICTION = ("policy", "v1", "Eviction")
_VERSIONS = ("policy/v1", "policy/v1beta1")
_ATTEMPTS = 20
_INTERVAL = 0.5


async def evict(state: State, call: Call, eviction: Json) -> Json:
    _check_type(eviction)
    options = call.options("CreateOptions")
    await state.pause()
    check_lifecycle(state, call, "CREATE", eviction)
    mutated = await state.admission.mutate(
        Operation(call, "CREATE", eviction, None, options, call.dry_run, EVICTION)
    )
    assert mutated is not None
    if metadata(mutated).get("name") != call.route.name:
        raise bad_request("name in URL does not match name in Eviction object")
    delete_options = _merged_options(call, mutated)
    await state.admission.validate(
        Operation(call, "CREATE", mutated, None, options, call.dry_run, EVICTION)
    )
    await _Evictor(state, call, delete_options).evict()
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _check_type(eviction: Json) -> None:
    version = eviction.setdefault("apiVersion", "policy/v1")
    if eviction.setdefault("kind", "Eviction") != "Eviction":
        raise bad_request(f"{eviction['kind']} cannot be handled as a Eviction")
    if version not in _VERSIONS:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            "(policy/v1)"
        )
    eviction["apiVersion"] = "policy/v1"


def _merged_options(call: Call, eviction: Json) -> DeleteOptions:
    """A dry run may be requested in the query or in the body; if in both, both must agree."""
    sent = dict(eviction.get("deleteOptions") or {})
    asked = [call.query["dryRun"]] if call.dry_run else []
    inside = sent.get("dryRun") or []
    if asked and inside and asked != inside:
        raise unexpected(
            f"Non-matching dry-run options in request and content: {asked} and {inside}"
        )
    if asked and not inside:
        sent["dryRun"] = asked
        if "deleteOptions" in eviction:
            eviction["deleteOptions"] = sent
    return read_options(sent)


class _Evictor:
    def __init__(self, state: State, call: Call, options: DeleteOptions) -> None:
        self._state = state
        self._options = options
        self._pod = replace(call, route=replace(call.route, subresource=""))
        self._budgets = state.registry.named("poddisruptionbudgets.policy")

    async def evict(self) -> None:
        retried = not self._options.resource_version
        pod = await _retrying(self._state, self._delete_if_no_budget_matters, enabled=retried)
        if pod is None:
            return
        budgets = self._budgets_of(pod)
        if len(budgets) > 1:
            raise Failure(
                {
                    "message": "This pod has more than one PodDisruptionBudget, which the eviction "
                    "subresource does not support.",
                    "code": 500,
                }
            )
        options = self._options
        if budgets:
            if self._is_free(pod, budgets[0]):
                options = options.at_version(str(pod.revision))
            else:
                await self._take_from(budgets[0], pod.obj)
        try:
            await self._mark_and_delete(options)
        except Failure as failure:
            pinned = options is not self._options and not self._options.resource_version
            if failure.code == 409 and pinned:
                raise still_processed(budgets[0].obj["metadata"]["name"]) from failure
            raise

    def _read_pod(self) -> Stored:
        where = self._pod.route
        pod = self._state.store.get(where.kind, where.key)
        if pod is None:
            raise not_found(where.kind, where.name)
        return pod

    async def _delete_if_no_budget_matters(self) -> Stored | None:
        """The pod, if its budgets must be checked; None if it was deleted without."""
        pod = self._read_pod()
        phase = pod.obj.get("status", {}).get("phase")
        over = phase in ("Succeeded", "Failed") or "deletionTimestamp" in pod.obj["metadata"]
        if not over and phase != "Pending":
            return pod
        options = self._options
        if not over and not options.resource_version:
            options = options.at_version(str(pod.revision))
        await self._mark_and_delete(options)
        return None

    def _budgets_of(self, pod: Stored) -> list[Stored]:
        labels = pod.obj["metadata"].get("labels") or {}
        namespace = self._pod.route.namespace
        return [
            budget
            for budget in self._state.store.listed(self._budgets, namespace)
            if selects(budget.obj, labels)
        ]

    def _is_free(self, pod: Stored, budget: Stored) -> bool:
        if counts_groups(budget.obj):
            return GroupBudget(self._state, budget.copy()).is_free(pod.obj)
        return is_free(pod.obj, budget.obj)

    def _taken(self, budget: Json, pod: Json) -> Json:
        if counts_groups(budget):
            return GroupBudget(self._state, budget).taken(pod, self._state.now())
        return decremented(budget, pod["metadata"]["name"], self._state.now())

    async def _take_from(self, budget: Stored, pod: Json) -> None:
        """Takes one allowed disruption, and records the pod as disrupted."""
        fresh: Stored | None = budget

        async def attempt() -> None:
            nonlocal fresh
            current = fresh or self._state.store.get(self._budgets, budget.key)
            fresh = None
            if current is None:
                raise not_found(self._budgets, budget.obj["metadata"]["name"])
            taken = self._taken(current.copy(), pod)
            if not self._options.dry_run:
                await self._write_status(taken)

        await _retrying(self._state, attempt)

    async def _write_status(self, budget: Json) -> None:
        meta = budget["metadata"]
        route = Route(self._budgets, "v1", meta["namespace"], meta["name"], subresource="status")
        query = {"fieldManager": "kube-apiserver"}
        call = Call(route, replace(self._pod.request, query=query), API_SERVER)
        await update(self._state, call, lambda _current: copied(budget), uid=meta["uid"])

    async def _mark_and_delete(self, options: DeleteOptions) -> None:
        if not options.dry_run:
            options = await self._mark(options)
        await delete(self._state, self._pod, options, admitted=False)

    async def _mark(self, options: DeleteOptions) -> DeleteOptions:
        """Writes the DisruptionTarget condition. No hook is called for it."""
        where = self._pod.route
        call = replace(self._pod, route=replace(where, subresource="status"))

        def with_condition(pod: Json | None) -> Json:
            assert pod is not None
            check_preconditions(where.kind, pod, options)
            _set_condition(pod, self._state.now())
            return pod

        written = await update(self._state, call, with_condition, admitted=False)
        if options.resource_version:
            return options.at_version(written.obj["metadata"]["resourceVersion"])
        return options


async def _retrying(
    state: State, attempt: Callable[[], Awaitable[T]], *, enabled: bool = True
) -> T:
    """Repeats the attempt on a conflict, twice a second for ten seconds."""
    for left in reversed(range(_ATTEMPTS if enabled else 1)):
        try:
            return await attempt()
        except Failure as failure:
            if not left or failure.code != 409:
                raise
        await asyncio.sleep(_INTERVAL * (1 + 0.1 * state.rng.random()))
    raise AssertionError("unreachable")


def _set_condition(pod: Json, now: str) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    for index, existing in enumerate(conditions):
        if existing.get("type") == "DisruptionTarget":
            if existing.get("status") == "True":
                condition["lastTransitionTime"] = existing.get("lastTransitionTime", now)
            conditions[index] = condition
            return
    conditions.append(condition)
