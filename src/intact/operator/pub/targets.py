"""What a budget names with its targetRef: whether it exists, and how many pods it wants."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches

from intact.budget.pub import conditions
from intact.budget.pub.conditions import Absence
from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import KubeError
from intact.model.api_resources import ApiResource
from intact.model.meta import api_group
from intact.model.pod_state import controller_of
from intact.model.pub import PubSpec, TargetReference
from intact.operator.pub.index import PubEntry, selector_of
from intact.operator.watch.kinds import BUILT_IN, UNSCALED, GroupKind, scales_in_groups
from intact.operator.watch.owners import Workloads

_FIRST_LIST = 2.0
"""Seconds to wait for the first list of a kind that was just discovered."""


class Targets:
    def __init__(self, client: Client, workloads: Workloads) -> None:
        self._client = client
        self._workloads = workloads

    async def absence(self, entry: PubEntry) -> Absence | None:
        """Why a budget has no pods; None if it has some."""
        if entry.counts.pods:
            return None
        target = entry.budget.spec.target_ref
        if target is None:
            return conditions.no_pods("its selector")
        try:
            return await self._find(target, entry.key[0])
        except KubeError as error:
            return conditions.kind_not_readable(target, str(error))

    async def _find(self, target: TargetReference, namespace: str) -> Absence:
        kind = _kind(target)
        if kind in UNSCALED:
            return conditions.no_pods(f"the {target.kind} {target.name}")
        if await self._workloads.discover(*kind, target.api_version) is None:
            return conditions.kind_not_served(target)
        reflector = self._workloads.reflectors[kind]
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_LIST):
                await reflector.wait_tried()
        if not reflector.served:
            return conditions.kind_not_served(target)
        if self._workloads.find(kind, namespace, target.name) is not None:
            return conditions.no_pods(f"the {target.kind} {target.name}")
        if reflector.error is not None:
            return conditions.kind_not_readable(target, reflector.error)
        return conditions.workload_not_found(target)

    async def warnings(self, target: TargetReference) -> list[str]:
        """What is wrong with the kind that a new budget names, as far as the API server says."""
        kind = _kind(target)
        reflector = self._workloads.reflectors.get(kind)
        is_followed = reflector is not None and reflector.served
        if reflector and is_followed and reflector.resource.api_version == target.api_version:
            return []
        try:
            served = await served_resources(self._client, target.api_version)
        except KubeError:
            return []  # the condition will tell
        kinds = _kinds(served.values())
        if target.kind in kinds or kind in UNSCALED:
            return []
        said = f"spec.targetRef: the API server serves no {target.kind} in {target.api_version}"
        if reflector and is_followed:
            return [f"{said}; the budget covers the one of {reflector.resource.api_version}"]
        meant = get_close_matches(target.kind, kinds, 1)
        hint = f" (did you mean {meant[0]}?)" if meant else ""
        return [f"{said}{hint}; the budget holds nothing until it does"]

    async def total(self, spec: PubSpec, namespace: str) -> int | None:
        """How many units a budget will have, as the workloads say; None if they do not."""
        if spec.target_ref is not None:
            return await self._wanted(spec, spec.target_ref, namespace)
        selector = selector_of(spec)
        if selector is None or spec.pod_group_policy is not None:
            return None
        wanted = [
            1 if workload.spec.replicas is None else workload.spec.replicas
            for kind, workload in self._workloads.in_namespace(namespace)
            if kind in _BUILT_IN
            and controller_of(workload) is None
            and selector.selects(workload.spec.template.metadata.labels)
        ]
        return sum(wanted) if wanted else None

    async def _wanted(self, spec: PubSpec, target: TargetReference, namespace: str) -> int | None:
        kind = _kind(target)
        workload = self._workloads.find(kind, namespace, target.name)
        in_its_units = scales_in_groups(kind) == (spec.pod_group_policy is not None)
        if workload is None or not in_its_units or not self._workloads.has_scale(kind):
            return None
        with suppress(KubeError):
            return await self._workloads.replicas(kind, workload)
        return None


_BUILT_IN = frozenset((resource.group, resource.kind) for resource in BUILT_IN)


def _kind(target: TargetReference) -> GroupKind:
    return api_group(target.api_version), target.kind


def _kinds(served: Iterable[ApiResource]) -> list[str]:
    return sorted({each.kind for each in served if "/" not in each.name})
