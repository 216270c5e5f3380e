"""How many groups there should be, including those that have no pod at the moment.

| who says how many groups there are | what counts |
|---|---|
| the annotation `intact.dev/expected-replicas` | that number |
| an object: PodGroups of one template, a LeaderWorkerSet, a scale | its number, even while none has a pod |
| only pods | the groups that have pods, and the absent ones |

Groups that the budget does not select, because all pods that they have are others, are not expected;
nor are groups whose pods have all succeeded.

An absent group has lost its last pod. It stays expected for two minutes, unless the controllers of
its pods are gone or want no pods.
"""  # noqa: E501

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_sources import (
    Definitions,
    Family,
    Source,
    expected_of,
    pod_groups_of,
    reference_of,
    template_of,
)
from intact.model.group_ledger import GroupLedger
from intact.model.meta import OwnerReference
from intact.model.scheduling import GangWorkload, LeaderWorkerSet, PodGroup
from intact.model.times import parse_time, timestamp_after

ABSENT = timedelta(minutes=2)
"""How long a group without pods stays expected."""

Wants = Callable[[OwnerReference], bool]
"""Whether the controller of an absent group still wants pods."""


@dataclass(frozen=True, slots=True)
class ExpectedGroups:
    total: int
    absent: dict[str, str]
    """Groups without pods that are expected back, and since when."""
    forgotten: tuple[str, ...]
    """Vanished groups that the live counts need not remember any longer."""


def expect(
    before: GroupLedger,
    counts: GroupCounts,
    definitions: Definitions,
    now: datetime,
    wants: Wants,
) -> ExpectedGroups:
    """`before` is the ledger of the last recount."""
    families: dict[Family, int | None] = {
        family: _told(family, counts, definitions)
        for family in (*counts.families, *(family for family, _ in counts.vanished.values()))
    }
    absent, forgotten = _look_for_absent(before, counts, families, now, wants)
    forgotten += [
        group
        for group in counts.finished
        if group not in counts.groups and definitions.pod_group(group) is None
    ]
    total = len(absent)
    for family, told in families.items():
        total += counts.families.get(family, 0) if told is None else told
    if counts.settings.expected is not None:
        total = counts.settings.expected
    return ExpectedGroups(total, absent, tuple(forgotten))


def _told(family: Family, counts: GroupCounts, definitions: Definitions) -> int | None:
    """How many groups an object tells of that the budget counts; None if only pods tell."""
    if family.source is Source.POD_GROUP:
        return sum(
            group not in counts.finished
            and (group in counts.groups or not definitions.has_pods(group))
            for group in pod_groups_of(family, definitions)
        )
    told = expected_of(family, definitions)
    if told is None or family.source is Source.WORKLOAD:
        return told
    references = (
        reference_of(leader, counts.settings) for leader in definitions.leaders_of(family.name)
    )
    others = {each.group for each in references if each and each.group not in counts.groups}
    # While it is scaled in, the others may be more than it wants: they take nothing from ours.
    return max(told - len(others), min(told, counts.families.get(family, 0)))


def _look_for_absent(
    before: GroupLedger,
    counts: GroupCounts,
    families: dict[Family, int | None],
    now: datetime,
    wants: Wants,
) -> tuple[dict[str, str], list[str]]:
    """Groups that are expected back, since when; and vanished groups that are not."""
    # A new leader knows of them only from the ledger.
    known = {*before.absent, *before.unavailable, *(one.group for one in before.pods.values())}
    candidates = [*counts.vanished, *sorted(known - {""} - counts.vanished.keys())]
    remembered = set(counts.families)
    absent: dict[str, str] = {}
    forgotten: list[str] = []
    for group in candidates:
        if group in counts.groups or group in counts.finished:
            continue
        family, controllers = counts.vanished.get(group, (None, ()))
        told = families[family] if family is not None else None
        since = before.absent.get(group, timestamp_after(now))
        if now >= parse_time(since) + ABSENT:
            forgotten.append(group)
        elif family is not None and told is not None:
            # It is remembered only for its family's sake, and one group is enough for that.
            if group not in known and (not told or family in remembered):
                forgotten.append(group)
            remembered.add(family)
        elif not controllers or any(map(wants, controllers)):
            absent[group] = since
        elif group not in known:
            forgotten.append(group)
    return absent, forgotten


def depends_on(counts: GroupCounts, definition: PodGroup | GangWorkload | LeaderWorkerSet) -> bool:
    """Whether the number of groups may change with this definition."""
    name = definition.metadata.name
    vanished = {family for family, _ in counts.vanished.values()}
    if not isinstance(definition, PodGroup):
        return any(family.name == name for family in (*counts.families, *vanished))
    families = (Family(Source.POD_GROUP, name), Family(Source.POD_GROUP, *template_of(definition)))
    return any(family in counts.families or family in vanished for family in families)
