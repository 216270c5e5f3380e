"""How many groups there should be, also of those that have no pod at the moment.

Where an object says how many there are (PodGroups, a LeaderWorkerSet), that counts, also while the
last pod of all of them is gone. Where only pods say so, a group that has vanished is expected back
for a while, unless whoever made its pods wants none any more.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from intact.budget.pdb.group_counts import GroupCounts
from intact.budget.pdb.group_sources import Definitions, Family, expected_of
from intact.model.group_ledger import GroupLedger
from intact.model.meta import OwnerReference
from intact.model.times import parse_time, timestamp_after

ABSENT = timedelta(minutes=2)
"""How long a group without pods is expected back."""

Wants = Callable[[OwnerReference], bool]
"""Whether the controller of a group that has gone still wants pods."""


def expect(
    before: GroupLedger,
    counts: GroupCounts,
    definitions: Definitions,
    now: datetime,
    wants: Wants,
) -> tuple[int, dict[str, str]]:
    """The number of groups, and those that have gone and are expected back, since when."""
    families: dict[Family, int | None] = {
        family: expected_of(family, definitions)
        for family in (*counts.families, *(family for family, _ in counts.vanished.values()))
    }
    absent = _absent(before, counts, families, now, wants)
    total = len(absent)
    for family, told in families.items():
        total += counts.families.get(family, 0) if told is None else told
    if counts.settings.expected is not None:
        total = counts.settings.expected
    return total, absent


def _absent(
    before: GroupLedger,
    counts: GroupCounts,
    families: dict[Family, int | None],
    now: datetime,
    wants: Wants,
) -> dict[str, str]:
    # A leader that has just begun knows of them from the ledger alone.
    known = {*before.absent, *before.unavailable, *(one.group for one in before.pods.values())}
    candidates = [*counts.vanished, *sorted(known - {""} - counts.vanished.keys())]
    remembered = set(counts.families)
    absent: dict[str, str] = {}
    for group in candidates:
        if group in counts.groups:
            continue
        family, controller = counts.vanished.get(group, (None, None))
        told = families[family] if family is not None else None
        since = before.absent.get(group, timestamp_after(now))
        if now >= parse_time(since) + ABSENT:
            counts.forget(group)
        elif family is not None and told is not None:
            # It only keeps its family in mind, and one is enough for that.
            if group not in known and (not told or family in remembered):
                counts.forget(group)
            remembered.add(family)
        elif controller is None or wants(controller):
            absent[group] = since
        elif group not in known:
            counts.forget(group)
    return absent
