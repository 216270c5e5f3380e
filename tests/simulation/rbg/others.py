"""What others do beside Intact: they change and delete workloads, pods and labels."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from intact.kube.errors import KubeError
from intact.kube.resources import Resource
from intact.rollout.names import GROUP as GROUP_LABEL
from intact.rollout.names import REVISION, ROLE, role_revision_label
from tests.simulation.rbg.course import GROUP, NAMESPACE, RELABEL_ROLE
from tests.simulation.rbg.kubelet import Kubelet, is_ready, is_terminating
from tests.simulation.rbg.truth import Truth
from tests.simulation.rbg.world import WORKLOADS, World
from tests.support.objects import PODS, Json
from tests.support.rbg_objects import template
from tests.support.rbg_waiting import CONFIG_MAPS, DEPLOYMENTS, SERVICES, STATEFUL_SETS

Act = Callable[[], Awaitable[None]]
_RESOURCES = {"StatefulSet": STATEFUL_SETS, "Deployment": DEPLOYMENTS}


class Others:
    def __init__(self, world: World, truth: Truth, kubelet: Kubelet) -> None:
        self._world = world
        self._truth = truth
        self._kubelet = kubelet
        self._rng: random.Random = world.rng("others")
        self._acts: list[Act] = []
        if world.course.failures:
            self._acts += [self._delete_pod, self._fail_pod, self._fail_pod]
        if world.course.meddling:
            self._acts += [
                self._relabel_workload,
                self._relabel_workload,
                self._relabel_pod,
                self._scale_workload,
                self._change_template,
                self._delete_workload,
                self._spoil_service,
                self._delete_config_map,
            ]

    async def run(self) -> None:
        """Until cancelled."""
        if not self._acts:
            return
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(self._rng.expovariate(1 / 6))
                act = self._rng.choice(self._acts)
                group.create_task(self._do(act))

    async def _do(self, act: Act) -> None:
        with suppress(KubeError):
            await act()

    def _workload(self) -> tuple[Resource[Any], Json] | None:
        found = [
            (_RESOURCES[kind], one)
            for kind, full_name in WORKLOADS.items()
            for one in self._world.api.objects(full_name, NAMESPACE)
            if not is_terminating(one)
        ]
        return self._rng.choice(found) if found else None

    def _pod(self) -> Json | None:
        found = [one for one in self._world.api.objects("pods", NAMESPACE) if is_ready(one)]
        return self._rng.choice(found) if found else None

    def _say(self, what: str) -> None:
        self._world.say(f"other: {what}")
        self._world.trace.count(f"others: {what.partition(' ')[0]}")

    async def _delete_pod(self) -> None:
        if pod := self._pod():
            self._say(f"deletes pod {pod['metadata']['name']}")
            meta = pod["metadata"]
            await self._world.user.delete(PODS, meta["name"], NAMESPACE, uid=meta["uid"])

    async def _fail_pod(self) -> None:
        if pod := self._pod():
            self._say(f"fails pod {pod['metadata']['name']}")
            self._kubelet.fail(pod["metadata"]["name"], pod["metadata"]["uid"])

    async def _relabel_workload(self) -> None:
        if (found := self._workload()) is None:
            return
        resource, one = found
        keys = ["rbg.workloads.x-k8s.io/role-name", REVISION]
        keys += [key for key in one["metadata"]["labels"] if "role-revision-hash" in key]
        if RELABEL_ROLE not in self._world.course.without:
            keys += [ROLE, ROLE, GROUP_LABEL]
        roles = [each["name"] for each in self._world.group["spec"]["roles"]]
        change = {self._rng.choice(keys): self._rng.choice((None, "x", *roles))}
        self._say(f"labels {resource.kind} {one['metadata']['name']}: {change}")
        await self._patch(resource, one, {"metadata": {"labels": change}})

    async def _relabel_pod(self) -> None:
        """Not those of the selector: a pod without them belongs to the role no more."""
        if (pod := self._pod()) is None:
            return
        role = pod["metadata"]["labels"].get(ROLE, "")
        key = self._rng.choice(
            (REVISION, role_revision_label(role), "rbg.workloads.x-k8s.io/role-name")
        )
        change = {key: self._rng.choice((None, "x"))}
        self._say(f"labels pod {pod['metadata']['name']}: {change}")
        await self._patch(PODS, pod, {"metadata": {"labels": change}})

    async def _scale_workload(self) -> None:
        if (found := self._workload()) is None:
            return
        resource, one = found
        number = self._rng.choice((0, 1, 3, 10))
        self._say(f"scales {resource.kind} {one['metadata']['name']} to {number}")
        self._truth.taint(one)
        await self._patch(resource, one, {"spec": {"replicas": number}})

    async def _change_template(self) -> None:
        if (found := self._workload()) is None:
            return
        resource, one = found
        self._say(f"changes the template of {resource.kind} {one['metadata']['name']}")
        self._truth.taint(one)
        change = template("engine:other")
        await self._patch(resource, one, {"spec": {"template": change}})

    async def _delete_workload(self) -> None:
        if (found := self._workload()) is None:
            return
        resource, one = found
        policy = self._rng.choice(("Background", "Foreground"))
        self._say(f"deletes {resource.kind} {one['metadata']['name']} ({policy})")
        self._truth.taint(one)
        await self._world.user.delete(
            resource, one["metadata"]["name"], NAMESPACE, propagation_policy=policy
        )

    async def _spoil_service(self) -> None:
        services = list(self._world.api.objects("services", NAMESPACE))
        if not services:
            return
        one = self._rng.choice(services)
        self._say(f"spoils service {one['metadata']['name']}")
        if self._rng.random() < 0.5:
            await self._world.user.delete(SERVICES, one["metadata"]["name"], NAMESPACE)
        else:
            await self._patch(SERVICES, one, {"metadata": {"labels": {ROLE: "x"}}})

    async def _delete_config_map(self) -> None:
        self._say("deletes the ConfigMap")
        await self._world.user.delete(CONFIG_MAPS, GROUP, NAMESPACE)

    async def _patch(self, resource: Resource[Any], one: Json, body: Json) -> None:
        meta = one["metadata"]
        body["metadata"] = {**body.get("metadata", {}), "uid": meta["uid"]}
        await self._world.user.patch(resource, body, meta["name"], NAMESPACE)
