"""What it costs to create and to delete one budget among many pods and budgets.

One process, no cluster: the stores hand each event to the index, and the index updates its counts.
See docs/benchmarks.md.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import TypeVar

from bench import table
from bench.child import BenchError
from bench.table import Row, milliseconds
from intact.budget.pdb.pod_counts import PodCounts
from intact.kube.client import Client
from intact.kube.store import Store, key_of
from intact.model.meta import LabelSelector, Object, ObjectMeta, OwnerReference
from intact.model.pdb import PdbMeta, PdbSpec, PodDisruptionBudget
from intact.model.pod import Pod, PodCondition, PodMeta, PodStatus
from intact.model.pub import PodUnavailableBudget, PubSpec
from intact.model.workload import Template, TemplateMeta, Workload, WorkloadMeta, WorkloadSpec
from intact.operator.pdb.index import PdbIndex
from intact.operator.pub.index import PubIndex
from intact.operator.watch.owners import Workloads
from intact.operator.watch.shared import POD_INDEXES
from intact.sandbox import MemoryApi

PODS_EACH = 100
_NAMESPACE = "team"
_SELECTED = {"by a shared label": {"app": "set-0"}, "by its own label": {"lot": "lot-0"}}
"""All other budgets select by the key `app`, none by `lot`."""

Budget = TypeVar("Budget", bound=Object)


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of CPU time for one event."""

    create: float
    delete: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budgets", type=int, nargs=2, default=[20, 200])
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    if min(arguments.budgets) < 2 or arguments.rounds < 1:
        parser.error("at least two budgets and one round are needed")
    try:
        small, large = (measure(budgets, arguments.rounds) for budgets in arguments.budgets)
    except BenchError as error:
        print(f"FAIL: {error}")
        return 1
    print(
        f"\nCPU time to create and to delete one budget over {PODS_EACH} pods, "
        f"mean of {arguments.rounds} rounds\n"
    )
    rows = []
    for name, at_large in large.items():
        at_small = small[name]
        rows += [
            Row(f"create a {name}", at_large.create, at_small.create, milliseconds),
            Row(f"delete a {name}", at_large.delete, at_small.delete, milliseconds),
        ]
    less, more = (f"{n * PODS_EACH:,} pods / {n} budgets" for n in arguments.budgets)
    print(table.render(rows, more, less))
    return 0


def measure(budgets: int, rounds: int) -> dict[str, Cost]:
    """The cost of each kind of budget with each selector."""
    return _measure_pubs(budgets, rounds) | _measure_pdbs(budgets, rounds)


def _measure_pubs(budgets: int, rounds: int) -> dict[str, Cost]:
    pods: Store[Pod] = Store(POD_INDEXES)
    store: Store[PodUnavailableBudget] = Store()
    workloads = Workloads(Client(MemoryApi()), pods)
    index = PubIndex(pods, store, workloads)
    for number in range(budgets):
        store.put(_pub(f"set-{number}", {"app": f"set-{number}"}))
    _fill(pods, workloads, budgets)
    return {
        f"PUB {how}": _churn(pods, store, _pub("churned", labels), rounds, index.covering)
        for how, labels in _SELECTED.items()
    }


def _measure_pdbs(budgets: int, rounds: int) -> dict[str, Cost]:
    pods: Store[Pod] = Store(POD_INDEXES)
    store: Store[PodDisruptionBudget] = Store()
    workloads = Workloads(Client(MemoryApi()), pods)
    index = PdbIndex(pods, store, workloads, lambda _budget: PodCounts())
    for number in range(budgets):
        store.put(_pdb(f"set-{number}", {"app": f"set-{number}"}))
    _fill(pods, workloads, budgets)
    return {
        f"PDB {how}": _churn(pods, store, _pdb("churned", labels), rounds, index.covering)
        for how, labels in _SELECTED.items()
    }


def _churn(
    pods: Store[Pod],
    store: Store[Budget],
    budget: Budget,
    rounds: int,
    covering: Callable[[Pod], Sized],
) -> Cost:
    selected, other = (pods.get(_NAMESPACE, f"web-{number}") for number in (0, len(pods) - 1))
    assert selected is not None
    assert other is not None
    # The garbage collector need not look at all pods again in the middle of a measurement.
    gc.collect()
    gc.freeze()
    cost = {"create": 0.0, "delete": 0.0}
    for _ in range(rounds):
        cost["create"] += _cpu(lambda: store.put(budget))
        _check("creation", (len(covering(selected)), len(covering(other))), (2, 1))
        cost["delete"] += _cpu(lambda: store.remove(key_of(budget)))
        _check("deletion", (len(covering(selected)), len(covering(other))), (1, 1))
    gc.unfreeze()
    return Cost(cost["create"] / rounds, cost["delete"] / rounds)


def _cpu(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _check(event: str, found: tuple[int, int], right: tuple[int, int]) -> None:
    if found != right:
        raise BenchError(
            f"after the {event}, {found[0]} budgets cover a selected pod and {found[1]} another "
            f"one, not {right[0]} and {right[1]}"
        )


def _fill(pods: Store[Pod], workloads: Workloads, budgets: int) -> None:
    """One ReplicaSet for each budget, with its pods. `app` names the ReplicaSet of a pod; as many
    pods, spread over the ReplicaSets, have the same `lot`."""
    sets = workloads.reflectors["apps", "ReplicaSet"].store
    for number in range(budgets):
        sets.put(_replica_set(number))
    for number in range(budgets * PODS_EACH):
        pods.put(_pod(number, lot=number % budgets))


def _replica_set(number: int) -> Workload:
    name = f"set-{number}"
    template = Template(metadata=TemplateMeta(labels={"app": name}))
    return Workload(
        metadata=WorkloadMeta(name=name, namespace=_NAMESPACE, uid=name, resource_version="1"),
        spec=WorkloadSpec(replicas=PODS_EACH, template=template),
    )


def _pod(number: int, lot: int) -> Pod:
    owner = f"set-{number // PODS_EACH}"
    reference = OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name=owner, uid=owner, controller=True
    )
    metadata = PodMeta(
        name=f"web-{number}",
        namespace=_NAMESPACE,
        uid=f"pod-{number}",
        resource_version="1",
        labels={"app": owner, "lot": f"lot-{lot}"},
        owner_references=[reference],
    )
    ready = PodCondition(type="Ready", status="True")
    return Pod(metadata=metadata, status=PodStatus(phase="Running", conditions=[ready]))


def _pub(name: str, labels: dict[str, str]) -> PodUnavailableBudget:
    return PodUnavailableBudget(
        metadata=ObjectMeta(name=name, namespace=_NAMESPACE, uid=name, resource_version="1"),
        spec=PubSpec(selector=LabelSelector(match_labels=labels), max_unavailable=1),
    )


def _pdb(name: str, labels: dict[str, str]) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=PdbMeta(name=name, namespace=_NAMESPACE, uid=name, resource_version="1"),
        spec=PdbSpec(selector=LabelSelector(match_labels=labels)),
    )


if __name__ == "__main__":
    sys.exit(main())
