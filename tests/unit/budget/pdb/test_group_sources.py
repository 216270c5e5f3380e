"""From a pod to its group, its need and the number of groups."""

import pytest

from intact.budget.pdb.group_settings import GroupSettings
from intact.budget.pdb.group_sources import (
    LWS_GROUP_KEY,
    LWS_NAME,
    Definition,
    Family,
    Reference,
    Source,
    define,
    expected_of,
    reference_of,
)
from intact.model.pod import WorkloadReference
from intact.model.scheduling import ControllerReference
from tests.unit.budget.pdb.group_cases import (
    Known,
    a_leader_worker_set,
    a_pod,
    a_pod_group,
    a_workload,
)

LWS_LABELS = {LWS_GROUP_KEY: "abc", LWS_NAME: "llm"}
IN_WORKLOAD = WorkloadReference(name="llm", pod_group="worker", pod_group_replica_key="2")
BATCH_KEY = "batch.coordination.workloads.x-k8s.io/pair"
BATCH_LABELS = {BATCH_KEY: "0", "rolebasedgroup.workloads.x-k8s.io/name": "llm"}
BY_BATCH = GroupSettings(label_key=BATCH_KEY)
BY_LABEL = GroupSettings(label_key="shard", min_ready=2)


@pytest.mark.parametrize(
    ("pod", "settings", "expected"),
    [
        (a_pod("p"), GroupSettings(), None),
        (a_pod("p", "red"), GroupSettings(), Reference(Source.POD_GROUP, "red", "red")),
        (
            a_pod("p", workload=IN_WORKLOAD),
            GroupSettings(),
            Reference(Source.WORKLOAD, "llm/worker/2", "llm", "worker"),
        ),
        (
            a_pod("p", labels=LWS_LABELS, size="4"),
            GroupSettings(),
            Reference(Source.LEADER_WORKER_SET, "abc", "llm", need=4),
        ),
        (
            a_pod("p", labels=LWS_LABELS, size="four"),
            GroupSettings(),
            Reference(Source.LEADER_WORKER_SET, "abc", "llm"),
        ),
        (
            a_pod("p", "red", labels={"shard": "a"}),
            BY_LABEL,
            Reference(Source.LABEL, "a", need=2),
        ),
        (a_pod("p", "red"), BY_LABEL, None),
        (
            a_pod("p", labels={"shard": "a"}),
            GroupSettings(label_key="shard"),
            Reference(Source.LABEL, "a", need=1),
        ),
        (
            a_pod("p", labels=BATCH_LABELS | LWS_LABELS, batch_size="3"),
            BY_BATCH,
            Reference(Source.LABEL, "llm/0", need=3),
        ),
        (
            a_pod("p", labels=BATCH_LABELS, batch_size="3"),
            GroupSettings(label_key=BATCH_KEY, min_ready=2),
            Reference(Source.LABEL, "llm/0", need=2),
        ),
        (a_pod("p", labels=BATCH_LABELS), BY_BATCH, Reference(Source.LABEL, "llm/0")),
        (
            a_pod("p", "red", labels=LWS_LABELS, size="4", workload=IN_WORKLOAD),
            GroupSettings(),
            Reference(Source.POD_GROUP, "red", "red"),
        ),
        (
            a_pod("p", labels=LWS_LABELS, size="4", workload=IN_WORKLOAD),
            GroupSettings(),
            Reference(Source.WORKLOAD, "llm/worker/2", "llm", "worker"),
        ),
    ],
)
def test_the_first_reference_of_a_pod_wins(
    pod: object, settings: GroupSettings, expected: Reference | None
) -> None:
    assert reference_of(pod, settings) == expected  # type: ignore[arg-type]


POD_GROUP = Reference(Source.POD_GROUP, "red", "red")
WORKER = Reference(Source.WORKLOAD, "llm/worker/2", "llm", "worker")
LEADER = Reference(Source.LEADER_WORKER_SET, "abc", "llm")


@pytest.mark.parametrize("shape", ["v1alpha2", "v1beta1"])
def test_a_pod_group_has_its_need_and_its_template(shape: str) -> None:
    known = Known(pod_groups={"red": a_pod_group("red", 8, "llm", shape=shape)})
    family = Family(Source.POD_GROUP, "llm", "worker")
    assert define(POD_GROUP, GroupSettings(), known) == Definition(8, family, "llm")


@pytest.mark.parametrize(
    ("reference", "settings", "known", "need"),
    [
        (POD_GROUP, GroupSettings(), Known(), None),
        (POD_GROUP, GroupSettings(), Known(pod_groups={"red": a_pod_group("red", 2)}), 2),
        (POD_GROUP, GroupSettings(), Known(pod_groups={"red": a_pod_group("red", None)}), None),
        (
            POD_GROUP,
            GroupSettings(min_ready=5),
            Known(pod_groups={"red": a_pod_group("red", None)}),
            5,
        ),
        (WORKER, GroupSettings(), Known(), None),
        (WORKER, GroupSettings(), Known(workloads={"llm": a_workload("llm", 4)}), 4),
        (
            WORKER._replace(part="other"),
            GroupSettings(),
            Known(workloads={"llm": a_workload("llm", 4)}),
            None,
        ),
        (LEADER, GroupSettings(), Known(), None),
        (
            LEADER,
            GroupSettings(),
            Known(leader_worker_sets={"llm": a_leader_worker_set("llm", 2, 6)}),
            6,
        ),
        (LEADER._replace(need=3), GroupSettings(), Known(), 3),
    ],
)
def test_where_the_need_of_a_group_comes_from(
    reference: Reference, settings: GroupSettings, known: Known, need: int | None
) -> None:
    found = define(reference, settings, known)
    assert (found.need if found else None) == need


def test_how_many_groups_there_should_be() -> None:
    jobs = ControllerReference(api_group="batch", kind="Job", name="job")
    sets = ControllerReference(api_group="x", kind="Set", name="set")
    known = Known(
        pod_groups={
            **{name: a_pod_group(name, 2, "llm") for name in ("red", "blue")},
            "lone": a_pod_group("lone", 2),
        },
        workloads={"one": a_workload("one", 2, jobs), "two": a_workload("two", 2, sets)},
        leader_worker_sets={"llm": a_leader_worker_set("llm", 4, 2)},
        scales={"set": 7},
    )
    expected = {
        Family(Source.POD_GROUP, "llm", "worker"): 2,
        Family(Source.POD_GROUP, "lone"): 1,
        Family(Source.POD_GROUP, "gone"): 0,
        Family(Source.WORKLOAD, "one", "worker"): None,
        Family(Source.WORKLOAD, "two", "worker"): 7,
        Family(Source.LEADER_WORKER_SET, "llm"): 4,
        Family(Source.LEADER_WORKER_SET, "other"): None,
        Family(Source.LABEL, "llm"): 4,
        Family(Source.LABEL, ""): None,
    }
    assert {family: expected_of(family, known) for family in expected} == expected


def test_a_batch_whose_size_no_pod_states_has_no_known_need() -> None:
    reference = reference_of(a_pod("p", labels=BATCH_LABELS), BY_BATCH)
    assert reference is not None
    assert define(reference, BY_BATCH, Known()) is None
