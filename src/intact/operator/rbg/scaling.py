"""The scaling adapters of a RoleBasedGroup: one for each role that does not switch it off, for
`kubectl scale` and autoscalers.

Adapter and role each have a number, and an annotation of the adapter keeps the last number that
they agreed on: the one that differs from it was changed since, and the other one follows. It is an
annotation because it is written together with the adapter's number. If the number were written
alone and the role edited before the rest was written, the number would look like a user's wish.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from intact.kube.client import Client, PatchType
from intact.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
)
from intact.kube.resources import RBGS, SCALING_ADAPTERS
from intact.model.amounts import parse_count
from intact.model.rbg import Role, RoleBasedGroup, ScalingAdapter, ScalingAdapterStatus
from intact.operator.rbg.objects import scaling_adapter
from intact.operator.rbg.stores import RbgStores
from intact.rollout.names import AGREED, selector_labels, workload_name
from intact.rollout.spec.validation import in_words, validate

BOUND = "Bound"
NOT_BOUND = "NotBound"


@dataclass(frozen=True, slots=True)
class Scaled:
    """The replicas that a role should have, and its adapter."""

    replicas: int
    adapter: ScalingAdapter | None
    changed: RoleBasedGroup | None = None
    """The RoleBasedGroup, if it was just written: it has to be reconciled again in this state."""
    refused: str = ""
    """Why the role cannot have the number that its adapter asks for."""
    error: ApiError | None = None
    """Why the role has no adapter."""


class RbgScaling:
    def __init__(self, client: Client, stores: RbgStores) -> None:
        self.writes = 0
        self._client = client
        self._stores = stores

    async def agree(self, group: RoleBasedGroup) -> dict[str, Scaled]:
        """By role, the replicas that it should have now, up to the first role for which the
        RoleBasedGroup itself was written."""
        adapters = {
            one.spec.scale_target_ref.role: one
            for one in self._stores.owned(self._stores.adapters, group)
            if one.metadata.name
            == workload_name(group.metadata.name, one.spec.scale_target_ref.role)
        }
        found: dict[str, Scaled] = {}
        for role in group.spec.roles:
            one = found[role.name] = await self._agree(group, role, adapters.get(role.name))
            if one.changed is not None:
                break
        return found

    async def _agree(
        self, group: RoleBasedGroup, role: Role, adapter: ScalingAdapter | None
    ) -> Scaled:
        own = role.replicas
        if adapter is None or not role.has_adapter:
            number = _number_before(group, role) if own is None else own
            if not role.has_adapter:
                return Scaled(number, None)
            try:
                return Scaled(number, await self._make(group, role, number))
            except ApiError as error:  # a quota, another webhook: the role can do without adapter
                return Scaled(number, None, error=error)
        asked = adapter.spec.replicas
        if own is None:
            return await self._agreed_on(adapter, 1 if asked is None else asked)
        if _wishes(adapter, own):
            # The store may lag: the wish may have been granted already, and the role edited since.
            adapter = await self._fresh(adapter)
            asked = adapter.spec.replicas
        if asked is None or not _wishes(adapter, own):
            return await self._agreed_on(adapter, own)
        refused = _refusal(group, role, asked)
        if not refused:
            try:
                changed = await self._scale_role(group, role, asked)
            except (BadRequest, Forbidden, Invalid) as error:  # also by another webhook
                refused = str(error)
            else:
                with suppress(Conflict):  # the next reconcile writes it
                    adapter = await self._remember(adapter, asked)
                return Scaled(asked, adapter, changed=changed)
        return Scaled(own, adapter, refused=refused)

    async def _agreed_on(self, adapter: ScalingAdapter, number: int) -> Scaled:
        try:
            return Scaled(number, await self._remember(adapter, number))
        except Conflict:
            raise
        except ApiError as error:  # another webhook: the role has its number all the same
            return Scaled(number, adapter, error=error)

    async def _make(self, group: RoleBasedGroup, role: Role, number: int) -> ScalingAdapter | None:
        body = scaling_adapter(group, role, number)
        try:
            made = await self._client.create(SCALING_ADAPTERS, body, group.metadata.namespace)
        except AlreadyExists:
            return None  # the store has not seen it yet, or it has another owner
        self.writes += 1
        return made

    async def _scale_role(self, group: RoleBasedGroup, role: Role, number: int) -> RoleBasedGroup:
        meta = group.metadata
        path = f"/spec/roles/{group.spec.roles.index(role)}/replicas"
        patch: list[dict[str, Any]] = [
            # A compare-and-swap: after an edit another role may be at this index.
            {"op": "replace", "path": "/metadata/resourceVersion", "value": meta.resource_version},
            {"op": "replace", "path": path, "value": number},
        ]
        found = await self._client.patch(
            RBGS, patch, meta.name, meta.namespace, type=PatchType.JSON
        )
        self.writes += 1
        return found

    async def _remember(self, adapter: ScalingAdapter, number: int) -> ScalingAdapter:
        """Write that role and adapter agree on this number."""
        meta = adapter.metadata
        if adapter.spec.replicas == number == _agreed(adapter):
            return adapter
        body = {
            "metadata": {
                # A compare-and-swap: a user may ask for another number at this moment.
                "resourceVersion": meta.resource_version,
                "annotations": {AGREED: str(number)},
            },
            "spec": {"replicas": number},
        }
        try:
            found = await self._client.patch(SCALING_ADAPTERS, body, meta.name, meta.namespace)
        except NotFound:
            return adapter
        self.writes += 1
        return found

    async def _fresh(self, adapter: ScalingAdapter) -> ScalingAdapter:
        meta = adapter.metadata
        try:
            return await self._client.get(SCALING_ADAPTERS, meta.name, meta.namespace)
        except NotFound:
            return adapter

    async def report(self, group: RoleBasedGroup, role: Role, scaled: Scaled, now: int) -> None:
        """Write the status of the role's adapter, if it has changed."""
        if scaled.adapter is None:
            return
        meta = group.metadata
        labels = selector_labels(meta.namespace, meta.name, role.name)
        status = ScalingAdapterStatus(
            replicas=now,
            selector=",".join(f"{key}={value}" for key, value in labels.items()),
            phase=NOT_BOUND if scaled.refused else BOUND,
            message=scaled.refused,
        )
        if status == scaled.adapter.status:
            return
        body = {"status": {"message": None, **msgspec.to_builtins(status), "replicas": now}}
        name = scaled.adapter.metadata.name
        try:
            await self._client.patch(
                SCALING_ADAPTERS, body, name, meta.namespace, subresource="status"
            )
        except NotFound:
            return
        self.writes += 1


def _number_before(group: RoleBasedGroup, role: Role) -> int:
    """Of a role that has its number only from an adapter, after a user has deleted the adapter or
    switched it off. A new role starts with 1."""
    found = group.status.role(role.name)
    return 1 if found is None else found.desired


def _agreed(adapter: ScalingAdapter) -> int | None:
    return parse_count(adapter.metadata.annotations.get(AGREED, ""))


def _wishes(adapter: ScalingAdapter, own: int) -> bool:
    """Whether a user or an autoscaler has set the adapter to another number than the role has."""
    agreed = _agreed(adapter)
    return agreed is not None and adapter.spec.replicas not in (None, agreed, own)


def _refusal(group: RoleBasedGroup, role: Role, number: int) -> str:
    """Why the RoleBasedGroup would be invalid with this number; empty if it would be valid."""
    roles = [
        msgspec.structs.replace(one, replicas=number) if one is role else one
        for one in group.spec.roles
    ]
    scaled = msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, roles=roles))
    return in_words(validate(scaled, group))
