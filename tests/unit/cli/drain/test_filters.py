"""kubectl's safety rules, case by case."""

from datetime import UTC, datetime
from typing import Any

import pytest

from intact.cli.drain import filters
from intact.cli.drain.filters import Fate, daemon_sets_of, is_skipped, sort_out, verdict
from intact.cli.drain.options import Options
from tests.unit.cli.drain.objects import DAEMON, pod

EMPTY_DIR = [{"name": "cache", "emptyDir": {}}]
MIRROR = {"kubernetes.io/config.mirror": ""}
GONE = 'daemonsets.apps "d" not found'


@pytest.mark.parametrize(
    ("made", "options", "there", "fate", "why"),
    [
        ({}, {}, True, Fate.GOES, ""),
        ({"owner": DAEMON}, {}, True, Fate.BLOCKS, filters.DAEMON_SET_BLOCKS),
        (
            {"owner": DAEMON},
            {"ignore_daemonsets": True},
            True,
            Fate.STAYS,
            filters.DAEMON_SET_STAYS,
        ),
        ({"owner": DAEMON}, {"ignore_daemonsets": True}, False, Fate.BLOCKS, GONE),
        ({"owner": DAEMON}, {"force": True}, False, Fate.GOES, GONE),
        ({"owner": DAEMON, "phase": "Failed"}, {}, True, Fate.GOES, ""),
        ({"annotations": MIRROR, "owner": None}, {}, True, Fate.STAYS, ""),
        ({"volumes": EMPTY_DIR}, {}, True, Fate.BLOCKS, filters.LOCAL_STORAGE_BLOCKS),
        (
            {"volumes": EMPTY_DIR},
            {"delete_emptydir_data": True},
            True,
            Fate.GOES,
            filters.LOCAL_STORAGE_GOES,
        ),
        ({"volumes": EMPTY_DIR, "phase": "Succeeded"}, {}, True, Fate.GOES, ""),
        ({"owner": None}, {}, True, Fate.BLOCKS, filters.UNMANAGED_BLOCKS),
        ({"owner": None}, {"force": True}, True, Fate.GOES, filters.UNMANAGED_GOES),
        ({"owner": None, "phase": "Failed"}, {}, True, Fate.GOES, ""),
        (
            {"owner": None, "volumes": EMPTY_DIR},
            {"force": True},
            True,
            Fate.BLOCKS,
            filters.LOCAL_STORAGE_BLOCKS,
        ),
    ],
)
def test_the_fate_of_a_pod(
    made: dict[str, Any], options: dict[str, Any], there: bool, fate: Fate, why: str
) -> None:
    found = verdict(pod("a", **made), Options(**options), lambda _namespace, _name: there)
    assert (found.fate, found.why) == (fate, why)


def test_all_pods_that_block_are_named_by_reason() -> None:
    pods = [pod("a", owner=None), pod("b", owner=None), pod("c", volumes=EMPTY_DIR), pod("d")]
    found = sort_out(pods, Options(), lambda _namespace, _name: True)
    assert found.error == (
        "cannot delete Pods that declare no controller (use --force to override): ns/a, ns/b\n"
        "cannot delete Pods with local storage (use --delete-emptydir-data to override): ns/c"
    )
    assert [one.metadata.name for one in found.go] == ["d"]


def test_what_goes_or_stays_with_a_warning_is_named() -> None:
    options = Options(force=True, ignore_daemonsets=True)
    found = sort_out([pod("a", owner=None), pod("b", owner=DAEMON)], options, lambda *_key: True)
    assert found.warning == (
        "deleting Pods that declare no controller: ns/a; ignoring DaemonSet-managed Pods: ns/b"
    )
    assert found.error == ""


def test_the_daemon_sets_that_pods_name() -> None:
    assert daemon_sets_of([pod("a"), pod("b", owner=DAEMON), pod("c", owner=None)]) == {("ns", "d")}


@pytest.mark.parametrize(("limit", "skipped"), [(0, False), (30, True), (90, False)])
def test_a_pod_that_terminates_for_longer_is_not_waited_for(limit: float, skipped: bool) -> None:
    now = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    going = pod("a", deletionTimestamp="2026-01-01T00:00:00Z")
    assert is_skipped(going, Options(skip_wait_for_delete_timeout=limit), now) is skipped
    assert not is_skipped(pod("a"), Options(skip_wait_for_delete_timeout=limit), now)
