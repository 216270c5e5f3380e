"""How far the batches of a coordination are, and which pods are in the wrong one."""

import msgspec
import pytest

from intact.model.pod import Pod, PodCondition, PodStatus
from intact.model.rbg import BatchProgress, Coordination, Role
from intact.rollout.batch_progress import batch_progress, misplaced, pods_in_batches
from intact.rollout.coordinations import place_label
from tests.support.rbg_objects import batches, kind, role
from tests.unit.rollout.scene import pod

RULES = msgspec.convert(batches({"prefill": 2, "decode": 1}), Coordination)
LABEL = place_label(RULES)
ROLES = {name: msgspec.convert(role(name, **kind("Deployment")), Role) for name in RULES.roles}


def in_batch(name: str, index: int, batch: str, *, ready: bool = True, going: bool = False) -> Pod:
    return pod(name, index, "a", ready=ready, going=going, labels={LABEL: batch})


def found(*pods: Pod, released: int = 0) -> BatchProgress:
    by_role = {
        name: [one for one in pods if one.metadata.name.startswith(f"llm-{name}")] for name in ROLES
    }
    return batch_progress(RULES, ROLES, {"prefill": 4, "decode": 2}, by_role, released)


FIRST = (in_batch("prefill", 0, "0"), in_batch("prefill", 1, "0"), in_batch("decode", 0, "0"))


def test_the_next_batch_starts_once_all_roles_of_the_first_are_ready() -> None:
    assert found(*FIRST[:2]) == BatchProgress(total=2, started=1)
    assert found(*FIRST) == BatchProgress(total=2, started=2, ready=1)


def test_a_started_batch_stays_started() -> None:
    assert found(released=2).started == 2


def test_a_batch_is_pending_while_the_scheduler_finds_no_node() -> None:
    unschedulable = PodStatus(
        phase="Pending", conditions=[PodCondition(type="PodScheduled", status="False")]
    )
    waiting: Pod = msgspec.structs.replace(in_batch("decode", 1, "1"), status=unschedulable)
    other: Pod = msgspec.structs.replace(in_batch("decode", 2, "x"), status=unschedulable)
    assert found(*FIRST, waiting, other).pending == [1]


def test_pods_that_go_and_pods_without_a_number_are_in_no_batch() -> None:
    pods = [*FIRST, in_batch("decode", 1, "0", going=True), in_batch("decode", 2, "x")]
    assert pods_in_batches(pods, LABEL) == {0: 3}


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param("0011", [], id="as they should be"),
        pytest.param("0001", ["llm-prefill-2"], id="one too many where another is short"),
        pytest.param("00011", [], id="what the Deployment itself has too many of"),
        pytest.param("001", [], id="one is still to come"),
        pytest.param("0012", ["llm-prefill-3"], id="in a batch that is not started"),
    ],
)
def test_misplaced_pods(numbers: str, expected: list[str]) -> None:
    pods = [in_batch("prefill", at, number) for at, number in enumerate(numbers)]
    gone = misplaced(RULES, ROLES["prefill"], pods, 2)
    assert [one.metadata.name for one in gone] == expected


def test_a_pod_with_an_ordinal_is_never_misplaced() -> None:
    pods = [in_batch("prefill", at, "0") for at in range(4)]
    assert misplaced(RULES, msgspec.convert(role("prefill"), Role), pods, 2) == []
