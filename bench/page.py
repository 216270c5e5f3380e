"""What the page of `intact dashboard` costs its reader: CPU, the wait for the first picture and for
a change, and what the browser keeps. See docs/benchmarks.md.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from bench.bars import Bar, render
from bench.child import BenchError, Child
from bench.output import conclude, progress
from bench.pods import NAMESPACES, NODES, place, readiness
from bench.pub_setup import all_of, gate_options, until_all, works
from bench.table import Row, count, megabytes, milliseconds, seconds
from bench.table import render as render_table
from bench.usage import usage
from devcluster import Cluster, DevclusterError
from devcluster.components import CONTROLLER_MANAGER, KWOK, SCHEDULER
from devcluster.operator_process import OperatorProcess
from devcluster.ports import Ports
from intact.kube.client import Client, PatchType
from intact.kube.config import from_kubeconfig
from intact.kube.http import HttpTransport
from intact.kube.resources import NODES as NODE_OBJECTS
from intact.kube.resources import PODS, PUBS
from intact.operator.install.install import install
from tests.support.browser import Visit, executable, launched

MOST_PAINT, MOST_LIVE, MOST_UPDATES, MOST_GROWTH = 2.0, 1.0, 4.0, 1.5
GROUP_KEY = "app.kubernetes.io/instance"
VIEWS, CHANGES = 10, 7


@dataclass(frozen=True, slots=True)
class Result:
    pods: int
    kubectl: float
    """CPU of `kubectl get pods -A`, which is what people look at without the page."""
    filled: float
    """CPU of the server until its stores are filled."""
    drawn: float
    """From there to the first moment drawn."""
    paint: float
    """From filled stores to the first paint in the browser."""
    view: float
    """CPU of the server for one view."""
    live: float
    """From the answer to a change of a pod until the browser shows it."""
    busy: float
    """Cores of the server while pods change as fast as the API server takes it."""
    changes: float
    """A second, meanwhile."""
    updates: float
    """A second, meanwhile: how often the browser asked."""
    heap: tuple[float, float]
    """Bytes in the browser before and after these changes."""
    memory: int
    """Of the server, at most."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, nargs="*", default=[2_000, 20_000])
    parser.add_argument("--changes", type=int, default=6_000)
    arguments = parser.parse_args()
    if executable() is None:
        print("FAIL: chromium is not installed; make chromium installs it")
        return 1
    results = []
    try:
        for pods in arguments.pods:
            with Cluster(without=[CONTROLLER_MANAGER, SCHEDULER, KWOK]) as cluster:
                results.append(asyncio.run(measure(cluster, pods, arguments.changes)))
    except (BenchError, DevclusterError) as error:
        print(f"FAIL: {error}")
        return 1
    for one in results:
        _print(one)
    bars = [bar for one in results for bar in _bars(one)]
    print(render(bars))
    return conclude(passed=all(bar.passed for bar in bars))


def _print(one: Result) -> None:
    print(f"\n{one.pods:,} pods, {one.pods // 8:,} groups, {NAMESPACES} budgets")
    row = Row("CPU: first view, kubectl get pods -A", one.filled + one.drawn, one.kubectl, seconds)
    print(render_table([row], "page", "kubectl"))
    for name, text in (
        ("CPU until the stores are filled", seconds(one.filled)),
        ("CPU of the first picture", seconds(one.drawn)),
        ("CPU of a view", milliseconds(one.view)),
        ("first paint after the stores are filled", seconds(one.paint)),
        ("a change until the browser shows it", seconds(one.live)),
        (f"cores under {one.changes:.0f} changes a second", f"{one.busy:.2f}"),
        ("updates of the browser a second", f"{one.updates:.1f}"),
        ("memory of the browser's page", " -> ".join(map(megabytes, one.heap))),
        ("memory of the server", megabytes(one.memory)),
    ):
        print(f"{name:<40}  {text}")


def _bars(one: Result) -> list[Bar]:
    size = f"{one.pods:,} pods"
    found = [
        Bar(f"{size}: first paint", one.paint, MOST_PAINT, seconds),
        Bar(f"{size}: updates a second", one.updates, MOST_UPDATES, count),
        Bar(f"{size}: growth of the page", one.heap[1] / one.heap[0], MOST_GROWTH, _plain),
    ]
    if one.pods <= 2_000:
        found.append(Bar(f"{size}: a change is seen", one.live, MOST_LIVE, seconds))
    return found


def _plain(value: float) -> str:
    return f"{value:.2f}"


async def measure(cluster: Cluster, pods: int, changes: int) -> Result:
    ports = Ports()
    try:
        async with Client(HttpTransport(from_kubeconfig([cluster.kubeconfig]))) as client:
            await asyncio.to_thread(_fill, cluster, pods)
            await install(client)
            await _protect(client)
            await all_of(range(NODES), lambda number: _node(client, number))
            options = gate_options(f"127.0.0.1:{ports.reserve()}")
            with OperatorProcess(cluster.kubeconfig, cluster.logs / "intact.log", *options):
                for number in range(NAMESPACES):
                    await until_all(client, f"team-{number}", works, within=300)
            progress("Intact has counted, and is stopped: the page is alone with the API server")
            kubectl = await asyncio.to_thread(_kubectl, cluster)
            found = await _look(cluster, client, pods, changes)
            return replace(found, kubectl=kubectl)
    finally:
        ports.release()


def _fill(cluster: Cluster, pods: int) -> None:
    progress(f"creating {pods:,} pods and {NODES} nodes")
    with Child("bench.load", "create", cluster.kubeconfig, "--pods", pods) as child:
        child.hear("created")


async def _protect(client: Client) -> None:
    """One budget in each namespace, over all its groups."""
    for number in range(NAMESPACES):
        body = {
            "apiVersion": PUBS.api_version,
            "kind": PUBS.kind,
            "metadata": {"name": "llm"},
            "spec": {
                "selector": {"matchLabels": {"app.kubernetes.io/name": "llm-decode"}},
                "maxUnavailable": "10%",
                "podGroupPolicy": {"groupLabelKey": GROUP_KEY, "minReadyReplicas": 8},
            },
        }
        await client.create(PUBS, body, f"team-{number}")


async def _node(client: Client, number: int) -> None:
    await client.create(NODE_OBJECTS, {"metadata": {"name": f"node-{number}"}})


def _kubectl(cluster: Cluster) -> float:
    command = [str(cluster.kubectl), f"--kubeconfig={cluster.kubeconfig}", "get", "pods", "-A"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _pid, _status, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return used.ru_utime + used.ru_stime


async def _look(cluster: Cluster, client: Client, pods: int, changes: int) -> Result:
    path = executable()
    assert path is not None
    async with launched(path) as browser, browser.opened("about:blank") as visit:
        with Child("bench.show_page", cluster.kubeconfig) as child:
            filled = await asyncio.to_thread(child.hear, "filled")
            serving = await asyncio.to_thread(child.hear, "serving")
            pid = serving["pid"]
            await visit.page.goto(serving["address"])
            paint = await _first_paint(visit, filled["at"])
            view = await _view(visit, pid)
            live = await _live(client, visit)
            storm = await _storm(cluster, visit, pid, pods, changes)
            return Result(
                pods=pods,
                kubectl=0.0,
                filled=filled["usage"]["cpu"],
                drawn=serving["usage"]["cpu"] - filled["usage"]["cpu"],
                paint=paint,
                view=view,
                live=live,
                memory=usage(pid).peak,
                **storm,
            )


async def _first_paint(visit: Visit, filled: float) -> float:
    """The browser tells it by the wall clock."""
    begun = time.time() - time.monotonic() + filled
    entry = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    while (painted := await visit.page.evaluate(entry)) is None:
        await asyncio.sleep(0.02)
    origin: float = await visit.page.evaluate("performance.timeOrigin")
    painted_at: float = (origin + painted) / 1000
    return painted_at - begun


async def _view(visit: Visit, pid: int) -> float:
    before = usage(pid).cpu
    get = "fetch(location.href).then(answer => answer.text()).then(text => text.length)"
    for _ in range(VIEWS):
        await visit.page.evaluate(get)
    return (usage(pid).cpu - before) / VIEWS


async def _live(client: Client, visit: Visit) -> float:
    """A group goes down and comes back: its row becomes the first, and leaves again."""
    namespace, name = place(0)
    group = name.rpartition("-")[0]
    row = visit.page.locator(f"tr.down[data-key='{namespace}/{group}']")
    took = []
    for turn in range(CHANGES + 1):
        change = {"status": readiness(turn)}
        await client.patch(
            PODS, change, name, namespace, type=PatchType.STRATEGIC, subresource="status"
        )
        begun = time.monotonic()
        await row.wait_for(state="attached" if turn % 2 == 0 else "detached")
        took.append(time.monotonic() - begun)
    return median(took)


async def _storm(
    cluster: Cluster, visit: Visit, pid: int, pods: int, changes: int
) -> dict[str, Any]:
    asked = 0

    def count_views(request: Any) -> None:
        nonlocal asked
        asked += request.url == visit.page.url

    visit.page.on("request", count_views)
    before = await _heap(visit)
    cpu, begun, asked = usage(pid).cpu, time.monotonic(), 0
    load = ("bench.load", "storm", cluster.kubeconfig, "--pods", pods, "--updates", changes)
    with Child(*load) as child:
        await asyncio.to_thread(child.hear, "stormed")
    took = time.monotonic() - begun
    used, views = usage(pid).cpu - cpu, asked
    return {
        "busy": used / took,
        "changes": changes / took,
        "updates": views / took,
        "heap": (before, await _heap(visit)),
    }


async def _heap(visit: Visit) -> float:
    """What is left after a collection, of scripts and of the document."""
    session = await visit.page.context.new_cdp_session(visit.page)
    await session.send("HeapProfiler.collectGarbage")
    found = await session.send("Runtime.getHeapUsage")
    return float(found["usedSize"] + found.get("embedderHeapUsedSize", 0))


if __name__ == "__main__":
    sys.exit(main())
