"""The status of a RoleBasedGroup, from what its roles have."""

from datetime import timedelta

import msgspec
import pytest

from intact.model.rbg import (
    BatchProgress,
    RbgStatus,
    RoleBasedGroup,
    RoleProgress,
    RoleStatus,
)
from intact.rollout.status import invalid, next_status, role_status
from tests.support.rbg_objects import batches, group, role, rolling
from tests.unit.rollout.scene import NOW, Scene, pod


def stored(*coordination: dict[str, object], **status: object) -> RoleBasedGroup:
    body = group("llm", role("prefill", 4), role("decode", 2), coordination=list(coordination))
    body["metadata"] |= {"generation": 7}
    return msgspec.convert(body | {"status": status}, RoleBasedGroup)


def roles(ready: int = 4, updated: int = 4, message: str = "") -> list[RoleStatus]:
    prefill = RoleStatus(
        name="prefill",
        desired=4,
        replicas=4,
        ready_replicas=ready,
        updated_replicas=updated,
        updated_ready_replicas=min(ready, updated),
        message=message,
    )
    decode = RoleStatus(
        name="decode",
        desired=2,
        replicas=2,
        ready_replicas=2,
        updated_replicas=2,
        updated_ready_replicas=2,
    )
    return [prefill, decode]


def conditions(status: RbgStatus) -> dict[str, tuple[str, str, str]]:
    return {one.type: (one.status, one.reason, one.message) for one in status.conditions}


def test_a_role_is_counted_from_its_pods() -> None:
    scene = Scene(3, 1)
    scene.put("prefill", pod("prefill", 2, scene.new("prefill"), ready=False))
    found = role_status(scene.facts["prefill"], "waits for decode")
    assert (found.replicas, found.ready_replicas) == (3, 2)
    assert (found.updated_replicas, found.updated_ready_replicas) == (1, 0)
    assert (found.desired, found.message) == (3, "waits for decode")


def test_a_completed_revision_becomes_the_current_one() -> None:
    found = next_status(stored(currentRevision="llm-a"), roles(), {}, {}, "llm-b", [], NOW)
    assert (found.current_revision, found.update_revision) == ("llm-b", "llm-b")
    assert (found.ready, found.updated, found.coordinating) == ("6/6", "6/6", "")
    assert found.observed_generation == 7
    assert conditions(found)["Progressing"][:2] == ("False", "Completed")


@pytest.mark.parametrize(
    ("found", "problems", "reason", "message"),
    [
        (roles(), [], "AllRolesReady", "all replicas of all roles are ready"),
        (roles(ready=3), [], "RoleNotReady", "prefill: 3 of 4 ready"),
        (roles(message="waits"), [], "RoleNotReady", "prefill: 4 of 4 ready, waits"),
        (roles(), ["prefill: no", "x"], "RoleNotApplied", "prefill: no; x"),
    ],
)
def test_ready_names_what_is_missing(
    found: list[RoleStatus], problems: list[str], reason: str, message: str
) -> None:
    status = next_status(stored(), found, {}, {}, "llm-b", problems, NOW)
    assert conditions(status)["Ready"][1:] == (reason, message)


def test_roles_that_update_by_themselves_are_in_progress() -> None:
    status = next_status(stored(), roles(updated=1), {}, {}, "llm-b", [], NOW)
    assert conditions(status)["Progressing"] == (
        "True",
        "RollingUpdate",
        "prefill: 1 of 4 updated",
    )
    assert status.current_revision == ""


@pytest.mark.parametrize(
    ("partition", "updated", "ready", "expected"),
    [
        pytest.param(3, 1, 4, ("False", "Paused"), id="at its partition"),
        pytest.param("75%", 1, 4, ("False", "Paused"), id="in percent"),
        pytest.param(9, 0, 4, ("False", "Paused"), id="all are kept"),
        pytest.param(2, 1, 4, ("True", "RollingUpdate"), id="not yet there"),
        pytest.param(3, 1, 0, ("True", "RollingUpdate"), id="the updated one is not ready"),
        pytest.param(3, 4, 4, ("False", "Completed"), id="all were updated before"),
    ],
)
def test_a_role_at_its_own_partition_is_paused(
    partition: int | str, updated: int, ready: int, expected: tuple[str, str]
) -> None:
    strategy = {"rollingUpdate": {"partition": partition}}
    body = group("llm", role("prefill", 4, updateStrategy=strategy), role("decode", 2))
    before = msgspec.convert(body, RoleBasedGroup)
    status = next_status(before, roles(ready, updated), {}, {}, "llm-b", [], NOW)
    assert conditions(status)["Progressing"][:2] == expected
    assert conditions(status)["Stalled"][:2] == ("False", "NotStalled")
    if expected[1] == "Paused":
        kept = min(4, partition) if isinstance(partition, int) else 3
        message = f"prefill: partition: {kept} of 4 stay old"
        assert conditions(status)["Progressing"][2] == message
        assert status.current_revision == "", "it is not completed"


def test_a_rollout_that_has_no_step_now_keeps_its_progress() -> None:
    progress = {"prefill": {"state": "Stalled", "since": "2025-01-01T00:00:00Z"}}
    state = {"name": "pd", "type": "RollingUpdate", "progress": progress, "lastUpdateTime": "x"}
    before = stored(rolling("prefill", "decode", name="pd"), coordinationState=[state])
    status = next_status(before, roles(), {}, {}, "llm-b", [], NOW)
    assert status.coordination_state == before.status.coordination_state
    assert status.coordinating == "Stalled"


def test_the_time_of_a_coordination_moves_only_with_it() -> None:
    empty = stored(rolling("prefill", "decode", name="pd"))
    rollouts = {"pd": {"prefill": RoleProgress(state="Updating")}}
    first = next_status(empty, roles(), rollouts, {}, "llm-b", [], NOW)
    again = msgspec.structs.replace(empty, status=first)
    later = NOW + timedelta(seconds=9)
    assert next_status(again, roles(), rollouts, {}, "llm-b", [], later) == first
    moved = {"pd": {"prefill": RoleProgress(state="Paused")}}
    [state] = next_status(again, roles(), moved, {}, "llm-b", [], later).coordination_state
    assert state.last_update_time == "2026-01-01T00:00:09Z"


@pytest.mark.parametrize(
    ("progress", "state", "waiting"),
    [
        (BatchProgress(total=2, started=2, ready=2), "Completed", ""),
        (BatchProgress(total=2, started=1, ready=0), "Updating", "0 of 2 batches are ready"),
        (
            BatchProgress(total=2, started=2, ready=1, pending=[1]),
            "Waiting",
            "batch 1 does not fit into one domain",
        ),
    ],
)
def test_batches_say_what_they_wait_for(progress: BatchProgress, state: str, waiting: str) -> None:
    before = stored(batches({"prefill": 2, "decode": 1}))
    status = next_status(before, roles(), {}, {"batched": progress}, "llm-b", [], NOW)
    found = status.coordination_state[0].progress["prefill"]
    assert (found.state, found.waiting_for) == (state, waiting)
    assert (found.desired, found.allowed) == (4, progress.started * 2)
    assert status.coordinating == state


def test_an_invalid_spec_leaves_the_counts_as_they_were() -> None:
    status = invalid(stored(ready="3/6"), "spec.roles: wrong", NOW)
    assert status.ready == "3/6"
    assert conditions(status)["Ready"] == ("False", "InvalidSpec", "spec.roles: wrong")
