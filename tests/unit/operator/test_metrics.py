"""The registry of one process: values are read from the parts at each scrape.

That every metric is documented is tested in tests/unit/test_docs.py.
"""

import asyncio
import platform
import re
from datetime import UTC, datetime

import msgspec
import pytest

from intact import __version__
from intact.budget.enforcement import Enforcement
from intact.budget.pdb.group_decision import Reason as GroupReason
from intact.budget.pdb.group_decision import Verdict
from intact.budget.pub.counts import Counts
from intact.budget.pub.decision import Decision, Reason
from intact.budget.pub.ledger import Operation
from intact.kube.client import Client
from intact.kube.lease import Election
from intact.kube.reflector import Reflector
from intact.kube.resources import PODS as POD_VIEWS
from intact.kube.store import Store
from intact.model.admission import AdmissionResponse
from intact.model.meta import ObjectMeta
from intact.model.pdb import PdbMeta, PodDisruptionBudget
from intact.model.pod import Pod, PodMeta
from intact.model.pub import PodUnavailableBudget
from intact.operator.metrics import Metrics
from intact.operator.pdb.controller import PdbController
from intact.operator.pub.controller import PubController
from intact.operator.pub.gate import Asked
from intact.operator.pub.index import PubEntry
from intact.operator.rbg.controller import RbgController
from intact.sandbox import MemoryApi
from tests.support.objects import PODS, pod
from tests.unit.kube.simulated import simulated
from tests.unit.operator.pub.scene import BUDGETS, NS, running


@pytest.fixture
def client() -> Client:
    return Client(MemoryApi())


@pytest.fixture
def metrics(client: Client) -> Metrics:
    return Metrics(Election(client, "default", "intact", "me"))


def value(metrics: Metrics, series: str) -> float | None:
    found = re.search(rf"^{re.escape(series)} (\S+)$", metrics.render().decode(), re.MULTILINE)
    return float(found[1]) if found else None


async def test_the_version_is_shown(metrics: Metrics) -> None:
    versions = f'python_version="{platform.python_version()}",version="{__version__}"'
    assert f"intact_build_info{{{versions}}} 1.0" in metrics.render().decode()


async def test_the_leader_says_so(client: Client) -> None:
    election = Election(client, "default", "intact", "me")
    metrics = Metrics(election)
    assert value(metrics, "intact_leader") == 0
    leading = asyncio.Event()

    async def lead() -> None:
        leading.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(election.run(lead))
    await leading.wait()
    assert value(metrics, "intact_leader") == 1
    assert value(metrics, "intact_leader_transitions_total") == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert value(metrics, "intact_leader") == 0


async def test_a_store_is_shown_as_it_is(client: Client, metrics: Metrics) -> None:
    await client.create(PODS, pod("p"), "default")
    reflector = Reflector(client, POD_VIEWS, Store())
    metrics.show_reflectors(lambda: [reflector])
    assert value(metrics, 'intact_store_synced{resource="pods"}') == 0
    running = asyncio.create_task(reflector.run())
    await reflector.wait_synced()
    assert value(metrics, 'intact_store_synced{resource="pods"}') == 1
    assert value(metrics, 'intact_store_objects{resource="pods"}') == 1
    assert value(metrics, 'intact_reflector_lists_total{resource="pods"}') == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_each_controller_shows_its_own(client: Client, metrics: Metrics) -> None:
    def now() -> datetime:
        return datetime.now(UTC)

    pub = PubController(client, "me", now=now, leads=lambda: False)
    pdb = PdbController(client, "me", now=now, leads=lambda: False)
    rbg = RbgController(client, "me", now=now, leads=lambda: False)
    assert "intact_budgets" not in metrics.render().decode()
    metrics.show_pub(pub)
    metrics.show_pdb(pdb)
    metrics.show_rbg(rbg)
    pub.recounts.add(("ns", "b"))
    assert value(metrics, 'intact_queue_depth{queue="pub"}') == 1
    assert value(metrics, 'intact_queue_depth{queue="rbg"}') == 0
    assert value(metrics, 'intact_budgets{mode="pods"}') == 0
    assert value(metrics, "intact_rbg_writes_total") == 0
    pdb.recounts.add(("ns", "b"))
    assert value(metrics, 'workqueue_depth{name="disruption"}') == 1
    for queue in (pub.recounts, pdb.recounts):
        for _ in range(9):
            queue.retry(("ns", "b"))
        assert value(metrics, f'intact_queue_failing{{queue="{queue.name}"}}') == 0
        queue.retry(("ns", "b"))
        assert value(metrics, f'intact_queue_failing{{queue="{queue.name}"}}') == 1
        queue.forget(("ns", "b"))
        assert value(metrics, f'intact_queue_failing{{queue="{queue.name}"}}') == 0


async def test_the_time_of_a_review_is_measured(metrics: Metrics) -> None:
    async def review(_: msgspec.Raw) -> AdmissionResponse:
        return AdmissionResponse(allowed=True)

    answer = await metrics.timed(review)(msgspec.Raw(b"{}"))
    assert answer.allowed
    assert value(metrics, "intact_gate_decision_seconds_count") == 1


ANSWERS = {
    Enforcement.ENFORCE: "denied",
    Enforcement.WARN: "warned",
    Enforcement.AUDIT: "audited",
}


PUB = PodUnavailableBudget(metadata=ObjectMeta(name="b", namespace="ns"))
PDB = PodDisruptionBudget(metadata=PdbMeta(name="b", namespace="ns"))


def series(kind: str, operation: str, answer: str, reason: str) -> str:
    labels = f'answer="{answer}",budget="b",kind="{kind}",namespace="ns",operation="{operation}"'
    return f'intact_gate_decisions_total{{{labels},reason="{reason}"}}'


@pytest.mark.parametrize("mode", Enforcement)
async def test_a_denial_counts_as_what_becomes_of_it(metrics: Metrics, mode: Enforcement) -> None:
    asked = Asked(
        Operation.DELETE, Pod(metadata=PodMeta(name="p", namespace="ns")), dry_run=False, user="me"
    )
    entry = PubEntry(PUB, Counts(None))
    metrics.observe_pub(asked, entry, Decision(False, Reason.EXHAUSTED), mode)
    metrics.observe_pub(asked, entry, Decision(True, Reason.BUDGET), mode)
    for answer, reason in ((ANSWERS[mode], Reason.EXHAUSTED), ("allowed", Reason.BUDGET)):
        assert value(metrics, series("PodUnavailableBudget", "DELETE", answer, reason)) == 1


@pytest.mark.parametrize("mode", Enforcement)
@pytest.mark.parametrize("allowed", [True, False])
async def test_a_verdict_about_a_group_counts_as_an_eviction(
    metrics: Metrics, allowed: bool, mode: Enforcement
) -> None:
    reason = next(iter(GroupReason))
    metrics.observe_pdb(PDB, Verdict(allowed, reason), mode)
    answer = "allowed" if allowed else ANSWERS[mode]
    assert value(metrics, series("PodDisruptionBudget", "EVICT", answer, reason)) == 1


@simulated
async def test_the_decisions_of_a_budget_are_shown_while_it_exists() -> None:
    async with running() as scene:
        metrics = Metrics(Election(scene.client, "default", "intact", "me"))
        metrics.show_pub(scene.controller)
        scene.controller.gate._observe = metrics.observe_pub
        await scene.pods("p-0", "p-1", labels={"app": "a"})
        await scene.budget(maxUnavailable=0)
        await scene.settle()
        assert await scene.delete("p-0") == 429
        assert b'budget="b",kind="PodUnavailableBudget",namespace="ns"' in metrics.render()
        await scene.client.delete(BUDGETS, "b", NS)
        await scene.settle()
        assert b'budget="b"' not in metrics.render()
