"""Intact's reflector and store, compared with the official Python client's informer.

Both follow the same pods of one real API server at the same time, each in a process of its own:
a list of all of them, then a storm of updates. See docs/benchmarks.md.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.child import BenchError, Child
from bench.output import conclude, progress
from bench.table import Row, count, megabytes, render, seconds
from bench.usage import Usage
from devcluster.cluster import Cluster
from devcluster.components import CONTROLLER_MANAGER, KWOK, SCHEDULER

BAR = 0.15


@dataclass(frozen=True, slots=True)
class Result:
    """What one process used up to the end of each phase."""

    ready: Usage
    listed: Usage
    stormed: Usage
    events: int
    behind: float
    """Seconds between the answer to the last update and its arrival in the cache."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--updates", type=int, default=20_000)
    arguments = parser.parse_args()
    if arguments.pods < 1 or arguments.updates < 1:
        parser.error("at least one pod and one update are needed")
    try:
        # No controller, scheduler or kubelet: only the load changes the cluster.
        with Cluster(without=[CONTROLLER_MANAGER, SCHEDULER, KWOK]) as cluster:
            ours, theirs, size = run(cluster.kubeconfig, arguments.pods, arguments.updates)
    except BenchError as error:
        print(f"FAIL: {error}")
        return 1
    rows = compare(ours, theirs)
    print(f"\n{arguments.pods:,} pods of {size / 1000:.1f} kB, {arguments.updates:,} updates\n")
    print(render(rows, "Intact", "official client"))
    return conclude(passed=all(row.passed for row in rows))


def run(kubeconfig: Path, pods: int, updates: int) -> tuple[Result, Result, float]:
    """Both results, and the mean size of a pod in bytes."""
    sizes = ("--pods", pods, "--updates", updates)
    progress(f"creating {pods:,} pods")
    with Child("bench.load", "create", kubeconfig, *sizes) as load:
        load.hear("created")
    with (
        Child("bench.follow_intact", kubeconfig) as intact,
        Child("bench.follow_official", kubeconfig, pods) as official,
    ):
        progress("both clients list the pods")
        begun = [(child.hear("ready"), child.hear("listed")) for child in (intact, official)]
        progress(f"{updates:,} updates, watched by both clients")
        with Child("bench.load", "storm", kubeconfig, *sizes) as load:
            sent = load.hear("stormed")
        ended = [child.hear("stormed") for child in (intact, official)]
        progress("comparing both caches with the server")
        with Child("bench.load", "list", kubeconfig) as load:
            server = load.hear("state")
        states = [child.hear("state") for child in (intact, official)]
    _check_same(server["versions"], states[0], states[1])
    handled = [stormed["events"] for stormed in ended]
    if handled != [updates] * 2:
        # A client that lost its watch and listed again has done other work than the other.
        raise BenchError(f"the clients saw {handled} of {updates:,} updates one by one")
    ours, theirs = (
        Result(
            ready=Usage(**ready["usage"]),
            listed=Usage(**listed["usage"]),
            stormed=Usage(**stormed["usage"]),
            events=stormed["events"],
            behind=max(0.0, stormed["at"] - sent["at"]),
        )
        for (ready, listed), stormed in zip(begun, ended, strict=True)
    )
    return ours, theirs, server["bytes"] / pods


def compare(ours: Result, theirs: Result) -> list[Row]:
    return [
        Row("CPU, list", _list(ours), _list(theirs), seconds),
        Row("CPU, storm", _storm(ours), _storm(theirs), seconds),
        Row(
            "CPU, list and storm",
            _list(ours) + _storm(ours),
            _list(theirs) + _storm(theirs),
            seconds,
            BAR,
        ),
        Row("memory after the list", ours.listed.rss, theirs.listed.rss, megabytes),
        Row("memory after the storm", ours.stormed.rss, theirs.stormed.rss, megabytes, BAR),
        Row("memory, peak", ours.stormed.peak, theirs.stormed.peak, megabytes),
        Row("CPU before the list (imports)", ours.ready.cpu, theirs.ready.cpu, seconds),
        Row("memory before the list", ours.ready.rss, theirs.ready.rss, megabytes),
        Row("behind the last update", ours.behind, theirs.behind, seconds, compared=False),
        Row("updates handled", ours.events, theirs.events, count, compared=False),
    ]


def _list(result: Result) -> float:
    return result.listed.cpu - result.ready.cpu


def _storm(result: Result) -> float:
    return result.stormed.cpu - result.listed.cpu


def _check_same(server: dict[str, str], intact: dict[str, Any], official: dict[str, Any]) -> None:
    for name, state in (("Intact", intact), ("the official client", official)):
        held = state["versions"]
        wrong = [key for key in server.keys() | held.keys() if server.get(key) != held.get(key)]
        if wrong:
            raise BenchError(
                f"{name} holds {len(held):,} pods and the server has {len(server):,}; "
                f"{len(wrong):,} differ, such as {min(wrong)}"
            )
    if intact["indexed"] != [len(server)] * 2:
        raise BenchError(f"Intact's indexes hold {intact['indexed']} of {len(server):,} pods")


if __name__ == "__main__":
    sys.exit(main())
