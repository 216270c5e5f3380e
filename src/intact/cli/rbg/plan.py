"""`intact rbg plan`: prints the rounds that a rollout would take."""

import asyncio
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from intact.cli.files import objects
from intact.cli.options import Cluster
from intact.cli.output import counted
from intact.cli.rbg.session import group_session
from intact.cli.tables import table
from intact.kube.client import Client
from intact.kube.resources import PODS, RBGS
from intact.model.field_error import FieldError
from intact.model.rbg import DEPLOYMENT, Coordination, RoleBasedGroup
from intact.operator.rbg.templates import resolved
from intact.rollout.batches import count
from intact.rollout.coordinations import (
    AFFINITY_SCHEDULING,
    ROLLING_UPDATE,
    batching,
    of_type,
    rolling_rules,
)
from intact.rollout.names import GROUP, ROLE
from intact.rollout.plan import PlannedRole, Replica
from intact.rollout.ratios import floor, most_unavailable
from intact.rollout.rehearsal import Rehearsal, all_old, rehearse
from intact.rollout.replicas import replicas
from intact.rollout.revisions import role_hashes
from intact.rollout.rolling_update import batched, rules_of
from intact.rollout.spec.validation import in_words, unworkable, validate

Json = dict[str, Any]


def plan_file(source: str, output: str) -> None:
    group = _read(source)
    roles = {role.name: role.replicas for role in group.spec.roles}
    desired = {name: 1 if number is None else number for name, number in roles.items()}
    _show(group, desired, dict.fromkeys(desired, 0), validate(group), output)


def plan_stored(name: str, cluster: Cluster, output: str) -> None:
    group, desired, started = asyncio.run(_ask(name, cluster))
    # A stored one may have been scaled since it was validated.
    _show(group, desired, started, unworkable(group), output)


def _show(
    group: RoleBasedGroup,
    desired: dict[str, int],
    started: dict[str, int],
    errors: Sequence[FieldError],
    output: str,
) -> None:
    if errors:
        raise click.ClickException(in_words(errors))
    for each in of_type(group.spec, AFFINITY_SCHEDULING):
        ratios = batching(each).ratios
        number = count({name: desired[name] for name in ratios}, ratios)
        desired |= {name: number * ratio for name, ratio in ratios.items()}
    found = {
        each.name: (each, _rehearse(group, each, desired, started))
        for each in of_type(group.spec, ROLLING_UPDATE)
    }
    if output == "json":
        click.echo(msgspec.json.encode([_as_json(*one) for one in found.values()]).decode())
        return
    if not found:
        click.echo(
            f"RoleBasedGroup {group.metadata.name} has no coordination of type {ROLLING_UPDATE}: "
            "each role updates by itself"
        )
        return
    click.echo("\n\n".join(_as_text(*one) for one in found.values()))


def _read(source: str) -> RoleBasedGroup:
    """The only RoleBasedGroup of a file, which may contain other objects as well."""
    groups = objects(source, RBGS.kind)
    if len(groups) != 1:
        raise click.ClickException(
            f"{source} has {len(groups)} objects of kind {RBGS.kind}; it must have exactly one"
        )
    try:
        return msgspec.convert(groups[0], RoleBasedGroup)
    except msgspec.ValidationError as error:
        raise click.ClickException(f"{source}: {error}") from None


async def _ask(
    name: str, cluster: Cluster
) -> tuple[RoleBasedGroup, dict[str, int], dict[str, int]]:
    """The RoleBasedGroup in the cluster; by role, its desired replicas and the updated ones."""
    async with group_session(cluster, name) as (client, where):
        group = await client.get(RBGS, name, where)
        pods = await _pods(client, group)
    desired = {role.name: role.replicas or 0 for role in group.spec.roles}
    desired |= {one.name: one.desired for one in group.status.role_statuses}
    hashes = role_hashes(resolved(group))
    updated = {
        role.name: sum(one.revision == hashes[role.name] for one in replicas(role, pods[role.name]))
        for role in group.spec.roles
    }
    if all(updated[role] >= number for role, number in desired.items()):
        updated = dict.fromkeys(updated, 0)  # no rollout is in progress: plan the next one
    return group, desired, updated


async def _pods(client: Client, group: RoleBasedGroup) -> dict[str, list[Any]]:
    meta = group.metadata
    found: dict[str, list[Any]] = {role.name: [] for role in group.spec.roles}
    for pod in (await client.list(PODS, meta.namespace, labels=f"{GROUP}={meta.name}")).items:
        found.get(pod.metadata.labels.get(ROLE, ""), []).append(pod)
    return found


def _rehearse(
    group: RoleBasedGroup,
    coordination: Coordination,
    desired: dict[str, int],
    updated: dict[str, int],
) -> Rehearsal:
    rules = rules_of(group, coordination)
    roles = []
    for role in group.spec.roles:
        if role.name not in coordination.roles:
            continue
        number = desired[role.name]
        surge = role.kind == DEPLOYMENT and most_unavailable(rules.max_unavailable, number) == 0
        roles.append(_with_updated(all_old(role.name, number, surge=surge), updated[role.name]))
    return rehearse(roles, rules, batched(group))


def _with_updated(role: PlannedRole, updated: int) -> PlannedRole:
    """With the highest replicas updated, as a rollout leaves them."""
    first = max(0, role.desired - updated)
    places = tuple(Replica(index, new=index >= first, ready=True) for index in range(role.desired))
    return PlannedRole(role.name, role.desired, places, surge=role.surge)


def _as_json(coordination: Coordination, rehearsal: Rehearsal) -> Json:
    return {
        "coordination": coordination.name,
        "rounds": [
            {"started": one.started, "updated": one.updated, "desired": one.desired}
            for one in rehearsal.rounds
        ],
        "completed": rehearsal.end.completed,
        "waitingFor": {
            name: one.waits_for for name, one in rehearsal.end.roles.items() if one.waits_for
        },
    }


def _as_text(coordination: Coordination, rehearsal: Rehearsal) -> str:
    given = rolling_rules(coordination)
    rules = {
        "maxSkew": given.max_skew,
        "maxUnavailableRatio": given.max_unavailable,
        "partition": given.partition,
    }
    said = ", ".join(f"{name} {value}" for name, value in rules.items() if value is not None)
    names = [name for name in coordination.roles if name in rehearsal.end.roles]
    rows = [["round", *names, "skew"]]
    for number, one in enumerate(rehearsal.rounds, 1):
        cells = [
            f"{one.updated[name]}/{one.desired[name]}"
            + (f" (+{one.started[name]})" if one.started[name] else "")
            for name in names
        ]
        tenths = floor(one.skew * 1000)  # one decimal, in integers
        rows.append([str(number), *cells, f"{tenths // 10}.{tenths % 10}%"])
    lines = [f"coordination {coordination.name}" + (f": {said}" if said else "")]
    if rehearsal.rounds:
        lines += table(rows)
    rounds = counted(len(rehearsal.rounds), "round")
    lines.append(f"{rounds}, if every started replica becomes ready")
    lines += [
        f"then {name} is held: {one.waits_for}"
        for name, one in rehearsal.end.roles.items()
        if one.waits_for
    ]
    return "\n".join(lines)
