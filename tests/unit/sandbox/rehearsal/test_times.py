"""How long pods take is read off those that are there, unless the user says it."""

from datetime import timedelta

import pytest

from intact.model.times import timestamp
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.rehearsal.load import load
from intact.sandbox.rehearsal.times import GONE_AFTER, READY_AFTER, Times, observed
from intact.sandbox.snapshot.document import Json
from tests.support.small_clusters import BEGUN, NOW, SmallCluster


def times(made: SmallCluster, **given: dict[str, float]) -> Times:
    api = MemoryApi()
    load(made.snapshot(), api)
    return Times(api, NOW, **given)


def new(made: SmallCluster, index: int = 0, **spec: object) -> Json:
    """A pod like one that is there, which has just been placed."""
    like = made.objects["pods"][index]
    meta = {**like["metadata"], "uid": "new"}
    return {**like, "metadata": meta, "spec": {**like["spec"], **spec}}


def web(*took: float) -> SmallCluster:
    made = SmallCluster()
    made.deployment("web", ["node-0"] * len(took))
    for pod, seconds in zip(made.objects["pods"], took, strict=True):
        pod["status"]["conditions"][1]["lastTransitionTime"] = timestamp(
            BEGUN + timedelta(seconds=seconds)
        )
    return made


def test_the_median_of_a_workload_s_pods_counts() -> None:
    made = web(10, 20, 600)
    found = times(made)
    assert found.ready_after(new(made)) == 20
    [used] = found.used()
    assert (str(used.workload), used.source, used.pods) == ("Deployment default/web", "observed", 3)


def test_the_time_in_which_a_pod_waited_for_a_node_does_not_count() -> None:
    made = web(90)
    [pod] = made.objects["pods"]
    pod["status"]["conditions"][0]["lastTransitionTime"] = timestamp(BEGUN + timedelta(seconds=60))
    assert observed(pod) == 30


def test_a_pod_that_has_restarted_tells_only_where_no_other_does() -> None:
    made = web(10, 600)
    made.objects["pods"][1]["status"]["containerStatuses"][0]["restartCount"] = 3
    assert times(made).ready_after(new(made)) == 10
    made.objects["pods"][0]["status"]["containerStatuses"][0]["restartCount"] = 1
    assert times(made).ready_after(new(made)) == 305


@pytest.mark.parametrize(
    ("given", "seconds", "source"),
    [
        ({"web": 90.0, "": 7.0}, 90, "given"),
        ({"default/web": 90.0}, 90, "given"),
        ({"": 7.0}, 7, "given"),
        ({"api": 90.0}, 10, "observed"),
    ],
)
def test_what_the_user_says_wins(given: dict[str, float], seconds: float, source: str) -> None:
    made = web(10)
    found = times(made, ready_after=given)
    assert found.ready_after(new(made)) == seconds
    assert found.used()[0].source == source


def test_where_no_pod_tells_a_default_is_assumed() -> None:
    made = SmallCluster()
    made.pod("bare", "node-0", ready=False)
    found = times(made)
    assert found.ready_after(new(made)) == READY_AFTER
    assert found.used()[0].source == "default"


def test_termination_is_bound_by_the_grace_period() -> None:
    made = web(10)
    asleep = [{"name": "main", "lifecycle": {"preStop": {"sleep": {"seconds": 15}}}}]
    assert times(made).gone_after(new(made)) == GONE_AFTER
    assert times(made).gone_after(new(made, containers=asleep)) == 15 + GONE_AFTER
    assert times(made, gone_after={"web": 20.0}).gone_after(new(made)) == 20
    assert times(made, gone_after={"": 90.0}).gone_after(new(made)) == 30
    now = new(made, terminationGracePeriodSeconds=0)
    assert times(made).gone_after(now) == 0


def test_a_pod_that_is_starting_goes_on_with_that() -> None:
    made = web(20, 20)
    [_, pod] = made.objects["pods"]
    pod["status"]["conditions"][1]["status"] = "False"
    pod["status"]["conditions"][0]["lastTransitionTime"] = timestamp(NOW - timedelta(seconds=5))
    found = times(made).of_pod(pod)
    assert (found.ready, found.is_held) == (15, False)


def test_a_pod_that_should_have_been_ready_long_ago_stays_as_it_is() -> None:
    made = web(20, 20)
    [_, pod] = made.objects["pods"]
    pod["status"]["conditions"][1]["status"] = "False"
    assert times(made).of_pod(pod).is_held
    assert not times(made).of_pod(new(made, 1)).is_held
