"""A seeded course of events for disruption controllers, the same on every cluster. The script plays
the workload controllers and the kubelet itself: only the disruption controllers can differ."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from intact.kube.client import Client
from intact.kube.errors import ApiError
from intact.kube.resources import PODS as POD_VIEWS
from intact.kube.resources import Resource, untyped
from tests.support.objects import (
    CRDS,
    NAMESPACES,
    PDBS,
    PODS,
    SERVICE_ACCOUNTS,
    Json,
    definition,
    pod,
)

NS = "script"
NODE = "nowhere"
APPS = ("a", "b", "c")
GROUP = "script.intact.dev"
DEPLOYMENT = untyped("apps", "v1", "deployments", "Deployment")
REPLICA_SET = untyped("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SET = untyped("apps", "v1", "statefulsets", "StatefulSet")
REPLICATION_CONTROLLER = untyped("", "v1", "replicationcontrollers", "ReplicationController")
FLEET = untyped(GROUP, "v1", "fleets", "Fleet")
"""A custom kind with the scale subresource."""
RECIPE = untyped(GROUP, "v1", "recipes", "Recipe")
"""A custom kind without it."""
Anything = Resource[dict[str, Any]]
SELECTORS: list[Json] = [
    {"matchLabels": {"app": "a"}},
    {"matchLabels": {"app": "b"}},
    {"matchLabels": {"app": "c"}},
    {"matchExpressions": [{"key": "app", "operator": "In", "values": ["b", "c"]}]},
    {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},
    {},
]
AMOUNTS: list[Json] = [
    {"minAvailable": 0},
    {"minAvailable": 2},
    {"minAvailable": "34%"},
    {"minAvailable": "100%"},
    {"maxUnavailable": 0},
    {"maxUnavailable": 1},
    {"maxUnavailable": "30%"},
    {"maxUnavailable": "50%"},
]


class Side:
    """One cluster on which the script is played."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.uids: dict[str, str] = {}
        """Of workloads, by name."""

    async def prepare(self) -> None:
        for resource, scaled in ((FLEET, True), (RECIPE, False)):
            await self.client.create(CRDS, definition(resource, scale=scaled))
        await self.client.create(NAMESPACES, {"metadata": {"name": NS}})

    async def has_account(self) -> bool:
        """Whether the default ServiceAccount is there: without it the server admits no pod."""
        found = await self.client.list(SERVICE_ACCOUNTS, NS)
        return any(one["metadata"]["name"] == "default" for one in found.items)

    async def serves_kinds(self) -> bool:
        try:
            for resource in (FLEET, RECIPE):
                await self.client.list(resource, NS)
        except ApiError:
            return False
        return True


Play = Callable[[Side], Awaitable[object]]


@dataclass(slots=True)
class Step:
    """What the script does, and why the stock controller may not notice it."""

    text: str
    play: Play
    unnoticed: str = ""
    cleared: str = ""
    """The name of a pod that was evicted and came back at once, if any."""


@dataclass(slots=True)
class _Pod:
    app: str | None
    owner: str = ""
    ready: bool = True
    terminating: bool = False


@dataclass(slots=True)
class _Workload:
    resource: Anything
    replicas: int
    above: str = ""


class Script:
    def __init__(self, seed: int) -> None:
        self.pods: dict[str, _Pod] = {}
        self.workloads: dict[str, _Workload] = {}
        self.budgets: dict[str, Json] = {}
        self._rng = random.Random(seed)
        self._number = 0

    def _name(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}-{self._number}"

    def opening(self) -> list[Step]:
        """A workload of each kind, and three budgets."""
        kinds = (STATEFUL_SET, REPLICA_SET, REPLICATION_CONTROLLER, FLEET, RECIPE, DEPLOYMENT)
        steps = [self._add_workload(resource) for resource in kinds]
        steps.append(self._add_workload(REPLICA_SET, list(self.workloads)[-1]))
        steps += [self._add_budget(number) for number in range(3)]
        return [step for step in steps if step is not None]

    def step(self) -> Step:
        choices: list[tuple[int, Callable[[], Step | None]]] = [
            (18, self._add_pod),
            (14, self._flip),
            (8, self._relabel),
            (14, self._evict),
            (5, self._evict_and_return),
            (6, self._delete_pod),
            (9, self._finish),
            (9, self._scale),
            (2, self._drop_workload),
            (3, lambda: self._add_workload(None)),
            (4, lambda: self._add_budget(None)),
            (7, self._edit_budget),
            (2, self._drop_budget),
        ]
        while True:
            [chosen] = self._rng.choices(
                [make for _, make in choices], [weight for weight, _ in choices]
            )
            step = chosen()
            if step is not None:
                return step

    def _some(self, names: list[str]) -> str | None:
        return self._rng.choice(names) if names else None

    def _covering(self, app: str | None) -> int:
        return sum(_selects(spec["selector"], app) for spec in self.budgets.values())

    def _add_pod(self) -> Step | None:
        if len(self.pods) > 40:
            return None
        above = {one.above for one in self.workloads.values()}
        owners = [name for name in self.workloads if name not in above]
        owner = self._rng.choice(["", *owners, *owners])
        app = self._rng.choice([*APPS, *APPS, None])
        return self._create(self._name("p"), app, owner)

    def _create(self, name: str, app: str | None, owner: str) -> Step:
        self.pods[name] = _Pod(app, owner)
        unnoticed = "several budgets" if self._covering(app) > 1 else ""
        return Step(
            f"create pod {name} of {app}, owned by {owner or 'no workload'}",
            lambda side: _create_pod(side, name, app, owner, self.workloads),
            unnoticed,
        )

    def _flip(self) -> Step | None:
        name = self._some([name for name, one in self.pods.items() if not one.terminating])
        if name is None:
            return None
        one = self.pods[name]
        one.ready = ready = not one.ready
        unnoticed = "several budgets" if self._covering(one.app) > 1 else ""
        return Step(
            f"set {name} ready: {ready}", lambda side: _set_ready(side, name, ready), unnoticed
        )

    def _relabel(self) -> Step | None:
        name = self._some(list(self.pods))
        if name is None:
            return None
        one = self.pods[name]
        one.app = app = self._rng.choice([*APPS, None])
        body = {"metadata": {"labels": {"app": app}}}
        return Step(
            f"label {name} as {app}",
            lambda side: side.client.patch(PODS, body, name, NS),
            "a change of labels",
        )

    def _evict(self) -> Step | None:
        name = self._some(list(self.pods))
        if name is None:
            return None
        return Step(f"evict {name}", lambda side: _evict(side, name), "several budgets")

    def _evict_and_return(self) -> Step | None:
        """Evict a pod of a StatefulSet, which is back before a controller has seen it go."""
        owned = [
            name
            for name, one in self.pods.items()
            if one.owner
            and self.workloads.get(one.owner, _Workload(PODS, 0)).resource is STATEFUL_SET
            and not one.terminating
        ]
        name = self._some(owned)
        if name is None:
            return None
        one = self.pods[name]
        one.ready = True

        async def play(side: Side) -> object:
            answer = await _evict(side, name)
            if answer in (200, 201):
                await side.client.delete(PODS, name, NS, grace_period_seconds=0)
                await _create_pod(side, name, one.app, one.owner, self.workloads)
            else:
                await _set_ready(side, name, True)
            return answer

        return Step(f"evict {name}, which comes back", play, "a re-created name", cleared=name)

    def _delete_pod(self) -> Step | None:
        name = self._some([name for name, one in self.pods.items() if not one.terminating])
        if name is None:
            return None
        self.pods[name].terminating = True
        unnoticed = "several budgets" if self._covering(self.pods[name].app) > 1 else ""
        return Step(f"delete {name}", lambda side: side.client.delete(PODS, name, NS), unnoticed)

    def _finish(self) -> Step | None:
        """The kubelet removes a pod, whether its deletion was asked for or not."""
        name = self._some(list(self.pods))
        if name is None:
            return None
        unnoticed = "several budgets" if self._covering(self.pods[name].app) > 1 else ""
        del self.pods[name]
        return Step(
            f"end {name}",
            lambda side: side.client.delete(PODS, name, NS, grace_period_seconds=0),
            unnoticed,
        )

    def _scale(self) -> Step | None:
        scaled = [name for name, one in self.workloads.items() if one.resource is not RECIPE]
        name = self._some(scaled)
        if name is None:
            return None
        one = self.workloads[name]
        one.replicas = replicas = self._rng.randrange(9)
        return Step(
            f"scale {name} to {replicas}",
            lambda side: side.client.patch(
                one.resource, {"spec": {"replicas": replicas}}, name, NS
            ),
            "a change of scale",
        )

    def _add_workload(self, resource: Anything | None, above: str = "") -> Step | None:
        if resource is None:
            if len(self.workloads) > 12:
                return None
            resource = self._rng.choice([STATEFUL_SET, REPLICA_SET, REPLICATION_CONTROLLER, FLEET])
        name = self._name(resource.kind.lower())
        replicas = self._rng.randrange(1, 7)
        self.workloads[name] = _Workload(resource, replicas, above)
        workloads = self.workloads
        return Step(
            f"create {name} with {replicas}",
            lambda side: _create_workload(side, resource, name, replicas, above, workloads),
        )

    def _drop_workload(self) -> Step | None:
        name = self._some([name for name, one in self.workloads.items() if not one.above])
        if name is None or len(self.workloads) < 6:
            return None
        resource = self.workloads.pop(name).resource
        return Step(
            f"delete {name}, and leave its pods",
            lambda side: side.client.delete(resource, name, NS, propagation_policy="Background"),
            "the end of a controller",
        )

    def _add_budget(self, number: int | None) -> Step | None:
        if number is None and len(self.budgets) > 6:
            return None
        name = self._name("budget")
        selector = SELECTORS[number] if number is not None else self._rng.choice(SELECTORS)
        spec = self.budgets[name] = {"selector": selector, **self._rng.choice(AMOUNTS)}
        body = {"apiVersion": PDBS.api_version, "kind": PDBS.kind, "metadata": {"name": name}}
        return Step(
            f"create {name}: {spec}",
            lambda side: side.client.create(PDBS, body | {"spec": spec}, NS),
        )

    def _edit_budget(self) -> Step | None:
        name = self._some(list(self.budgets))
        if name is None:
            return None
        if self._rng.random() < 0.6:
            change: Json = {"minAvailable": None, "maxUnavailable": None}
            change |= self._rng.choice(AMOUNTS)
        else:
            selector = self._rng.choice(SELECTORS)
            change = {"selector": {"matchLabels": None, "matchExpressions": None} | selector}
        spec = {key: value for key, value in (self.budgets[name] | change).items() if value}
        if "selector" in change:
            spec["selector"] = {key: value for key, value in change["selector"].items() if value}
        spec.setdefault("selector", {})
        for key in ("minAvailable", "maxUnavailable"):
            if change.get(key) == 0:
                spec[key] = 0
        self.budgets[name] = spec
        return Step(
            f"edit {name}: {change}",
            lambda side: side.client.patch(PDBS, {"spec": change}, name, NS),
        )

    def _drop_budget(self) -> Step | None:
        name = self._some(list(self.budgets))
        if name is None or len(self.budgets) < 3:
            return None
        del self.budgets[name]
        return Step(f"delete {name}", lambda side: side.client.delete(PDBS, name, NS))


def _selects(selector: Json, app: str | None) -> bool:
    labels = selector.get("matchLabels") or {}
    if labels.get("app", app) != app:
        return False
    for one in selector.get("matchExpressions") or ():
        if one["operator"] == "DoesNotExist" and app is not None:
            return False
        if one["operator"] == "In" and app not in one["values"]:
            return False
    return True


async def _create_pod(
    side: Side, name: str, app: str | None, owner: str, workloads: dict[str, _Workload]
) -> None:
    more: Json = {"labels": {"app": app} if app else {}}
    if owner:
        resource = workloads[owner].resource
        more["ownerReferences"] = [_reference(side, resource, owner)]
    await side.client.create(PODS, pod(name, node=NODE, **more), NS)
    await _set_ready(side, name, True)


async def _set_ready(side: Side, name: str, ready: bool) -> None:
    condition = {"type": "Ready", "status": str(ready)}
    status = {"phase": "Running", "conditions": [condition]}
    await side.client.patch(PODS, {"status": status}, name, NS, subresource="status")


async def _evict(side: Side, name: str) -> int:
    """The status code, which must be the same on every cluster."""
    try:
        await side.client.evict(POD_VIEWS, name, NS, grace_period_seconds=60)
    except ApiError as error:
        return error.code
    return 201


def _reference(side: Side, resource: Anything, name: str) -> Json:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": name,
        "uid": side.uids[name],
        "controller": True,
    }


async def _create_workload(
    side: Side,
    resource: Anything,
    name: str,
    replicas: int,
    above: str,
    workloads: dict[str, _Workload],
) -> None:
    labels = {"script": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [_CONTAINER]}}
    spec: Json = {"replicas": replicas}
    if resource.group != GROUP:
        core = resource is REPLICATION_CONTROLLER
        spec |= {"selector": labels if core else {"matchLabels": labels}, "template": template}
    metadata: Json = {"name": name}
    if above:
        metadata["ownerReferences"] = [_reference(side, workloads[above].resource, above)]
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    made = await side.client.create(resource, body | {"spec": spec}, NS)
    side.uids[name] = made["metadata"]["uid"]


_CONTAINER = {"name": "main", "image": "registry.example/main:1"}
