"""Every change of a pod is counted at once, whatever the budgets' own counters say."""

from intact.sandbox.api.objects import Json, copied
from intact.sandbox.api.server import MemoryApi
from intact.sandbox.rehearsal.load import load
from intact.sandbox.rehearsal.observe import Observer
from tests.support.small_clusters import SmallCluster


class Watched:
    def __init__(self, made: SmallCluster) -> None:
        self.now = 0.0
        self.api = MemoryApi()
        load(made.snapshot(), self.api)
        self.observer = Observer(self.api, lambda: self.now, pubs=True)
        self.observer.begin()

    def change(self, pod: str, *, ready: bool | None = None, terminating: bool = False) -> None:
        made: Json = copied(self.api.peek("pods", "default", pod) or {})
        if ready is not None:
            made["status"]["conditions"][1]["status"] = str(ready)
        if terminating:
            made["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
        self.api.insert("pods", made)


def groups() -> SmallCluster:
    made = SmallCluster()
    for name in ("red", "blue"):
        made.pod_group(name, ["node-0", "node-1"])
    made.pdb("llm", {"app": "llm"}, scope="Workload", maxUnavailable=1)
    made.pdb("pods", {"app": "llm"}, total=4, maxUnavailable=1)
    made.objects["poddisruptionbudgets.policy"][1]["status"]["observedGeneration"] = 1
    return made


def test_a_group_is_down_when_a_pod_terminates_and_a_pod_is_a_pod() -> None:
    watched = Watched(groups())
    watched.now = 5
    watched.change("red-0", terminating=True)
    watched.now = 6
    watched.change("red-1", ready=False)
    watched.now = 10
    watched.observer.finish()
    in_groups, in_pods = watched.observer.budgets()
    assert (in_groups.unit, in_groups.expected, in_groups.most_down) == ("group", 2, 1)
    assert (in_groups.most_down_for, in_pods.most_down_for) == (5, 4)
    assert (in_pods.unit, in_pods.expected, in_pods.most_down) == ("pod", 4, 2)
    [red] = watched.observer.groups()
    assert (red.name, red.breaks, red.down_for, red.down) == ("red", 1, 5, True)
    assert [(at, pod["metadata"]["name"]) for at, pod in watched.observer.ended] == [(5, "red-0")]


def test_groups_count_even_where_no_budget_counts_them() -> None:
    made = groups()
    made.objects["poddisruptionbudgets.policy"].clear()
    watched = Watched(made)
    watched.change("blue-1", ready=False)
    watched.change("blue-1", ready=True)
    watched.change("blue-1", ready=False)
    watched.observer.finish()
    [blue] = watched.observer.groups()
    assert (blue.name, blue.breaks) == ("blue", 2)


def test_only_what_matters_is_a_change() -> None:
    watched = Watched(groups())
    watched.now = 7
    made = copied(watched.api.peek("pods", "default", "red-0") or {})
    made["status"]["conditions"].append({"type": "DisruptionTarget", "status": "True"})
    watched.api.insert("pods", made)
    assert watched.observer.last_change == 0
    watched.change("red-0", ready=False)
    assert watched.observer.last_change == 7


def test_the_budgets_of_a_pod() -> None:
    watched = Watched(groups())
    pod = watched.api.peek("pods", "default", "red-0")
    assert pod is not None
    names = [each.name for each in watched.observer.covering(pod)]
    assert names == ["llm", "pods"]
