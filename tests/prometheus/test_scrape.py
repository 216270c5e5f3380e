"""A real Prometheus scrapes a real Intact and its API server: every query of the dashboard returns
data, and every alert fires when what it is for has happened."""

import asyncio
import json
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import aiohttp
import pytest

from tests.support.cluster_with_intact import ClusterWithIntact
from tests.support.namespace_under_test import NamespaceUnderTest, eventually, open_namespace
from tests.support.objects import Json
from tests.support.pdb_groups import Groups
from tests.support.prometheus_process import OF_THE_API_SERVER, Prometheus, alerts, prometheus
from tests.support.rbg_objects import group, role, rolling, template
from tests.support.rbg_waiting import GROUPS, change, completed, group_settled, group_until

DASHBOARD = Path(__file__).parents[2] / "deploy/grafana/intact.json"
WEB = {"app": "web"}
UNREADY = "devcluster.intact.dev/unready"
LONG = 120.0


def panel_queries() -> list[str]:
    return [
        target["expr"]
        for panel in json.loads(DASHBOARD.read_text())["panels"]
        for target in panel.get("targets", [])
    ]


def filled_in(expr: str, namespace: str) -> str:
    """As Grafana sends it."""
    values = {"$namespace": namespace, "$budget": ".*", "$__rate_interval": "1m"}
    for name, value in values.items():
        expr = expr.replace(name, value)
    assert "$" not in expr
    return expr


def impatient() -> list[Json]:
    """The rules, which fire at once, and for a refusal of any age."""
    found = alerts()
    for rule in found.values():
        rule.pop("for", None)
    exhausted = found["BudgetExhausted"]
    expr = exhausted["expr"].replace("> 1800", "> 0")
    assert expr != exhausted["expr"]
    found["BudgetExhausted"] = exhausted | {"expr": expr}
    return list(found.values())


class Scene:
    def __init__(self, server: Prometheus, *namespaces: NamespaceUnderTest) -> None:
        self.server = server
        self._namespaces = [each.name for each in namespaces]

    async def has_data(self, expr: str) -> None:
        # Where nothing is told as 0, the test asks for more.
        expr = filled_in(expr, "|".join(self._namespaces)).removesuffix(" or vector(0)")
        await eventually(lambda: self.server.query(expr), bool, f"data of {expr}", LONG)

    async def fires(self, alert: str, /, **labels: str) -> None:
        def is_it(one: Json) -> bool:
            wanted = {"alertname": alert, **labels}
            return all(one["labels"].get(key) == value for key, value in wanted.items())

        fired = await eventually(
            self.server.firing, lambda all_: any(map(is_it, all_)), f"{alert} {labels}", LONG
        )
        [found] = [one for one in fired if is_it(one)]
        for text in found["annotations"].values():
            assert "<no value>" not in text
            assert "{{" not in text

    async def is_quiet(self) -> None:
        """No alert fires but for budgets of others."""
        ours = {*self._namespaces, "intact-system", None}

        def quiet(fired: list[Json]) -> bool:
            return not any(one["labels"].get("namespace") in ours for one in fired)

        await eventually(self.server.firing, quiet, "no alert to fire", LONG)


@pytest.fixture
def addresses(ns: NamespaceUnderTest, intact_cluster: ClusterWithIntact) -> list[str]:
    """Of the operators that run once there is a namespace."""
    logs = [each.log for each in intact_cluster.operators]
    return [re.findall(r"serving http on ([\d.:]+)", log)[-1] for log in logs]


@pytest.fixture
def native(
    intact_cluster: ClusterWithIntact, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> Iterator[NamespaceUnderTest]:
    """A namespace without PodUnavailableBudgets."""
    yield from open_namespace(intact_cluster.cluster, runner, request)


async def budgets_of_both_kinds(ns: NamespaceUnderTest, native: NamespaceUnderTest) -> None:
    """Each of them has let one unit go, and now holds the next."""
    await ns.pods("p-0", "p-1", "p-2", labels=WEB)
    spec = {"selector": {"matchLabels": WEB}, "maxUnavailable": 1, "protectTotalReplicas": 3}
    await ns.budget(spec, name="web", unavailable_allowed=1)
    groups = Groups(native)
    for name in ("red", "blue"):
        await groups.lws_pods(name, {f"{name}-0": "node-0", f"{name}-1": "node-1"}, size=2)
    await groups.budget(maxUnavailable=1)
    await groups.counted(allowed=1, healthy=2)
    assert (await ns.evict("p-0")).code == 201
    assert (await native.evict("red-0")).code == 201


@asynccontextmanager
async def asking(*requests: Callable[[], Awaitable[object]]) -> AsyncGenerator[None, None]:
    """Repeat requests, as a drain does, whatever is answered."""

    async def ask() -> None:
        while True:
            for request in requests:
                with suppress(aiohttp.ClientError):
                    await request()
            await asyncio.sleep(0.5)

    task = asyncio.create_task(ask())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def strangers(bind: str) -> None:
    """One that asks for another path, and one that does not speak TLS."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"https://{bind}/nothing", ssl=context, data=b"{}") as answer,
    ):
        assert answer.status == 404
    host, port = bind.split(":")
    with closing(socket.create_connection((host, int(port)))) as connection:
        connection.sendall(b"hello\n")


async def rolled_out(ns: NamespaceUnderTest) -> None:
    together = rolling("prefill", "decode", maxUnavailableRatio="50%")
    body = group("llm", role("prefill", 2), role("decode", 2), coordination=[together])
    await ns.create(GROUPS, body)
    await group_settled(ns)
    await change(ns, new_templates(template("engine:2"), template("engine:2")))
    await group_until(ns, "llm", completed, "the rollout to be completed")


def new_templates(*templates: Json) -> list[Json]:
    return [
        {"op": "replace", "path": f"/spec/roles/{at}/template", "value": value}
        for at, value in enumerate(templates)
    ]


async def stall(ns: NamespaceUnderTest) -> None:
    """A rollout whose pods never become ready, and a deadline of seconds."""
    stuck = template("engine:3") | {"metadata": {"annotations": {UNREADY: "true"}}}
    deadline = {"op": "add", "path": "/spec/progressDeadlineSeconds", "value": 5}
    await change(ns, [*new_templates(template("engine:3"), stuck), deadline])


async def test_every_query_has_data_and_every_alert_fires(
    intact_cluster: ClusterWithIntact,
    ns: NamespaceUnderTest,
    native: NamespaceUnderTest,
    addresses: list[str],
    tmp_path: Path,
) -> None:
    kubeconfig = intact_cluster.cluster.kubeconfig
    async with prometheus(tmp_path, kubeconfig, addresses, impatient()) as server:
        scene = Scene(server, ns, native)
        await eventually(lambda: server.query("up == 1"), lambda up: len(up) == 3, "three targets")
        await budgets_of_both_kinds(ns, native)
        await rolled_out(ns)
        # Seconds after a change all is quiet, although no alert waits here.
        await scene.is_quiet()

        await strangers(intact_cluster.bind)
        held = (lambda: ns.evict("p-1"), lambda: ns.delete("p-2"), lambda: native.evict("blue-0"))
        async with asking(*held):
            for expr in panel_queries():
                await scene.has_data(expr)
            await scene.fires("BudgetExhausted", kind="PodUnavailableBudget", budget="web")
            await scene.fires("BudgetExhausted", kind="PodDisruptionBudget", budget="llm")

            await ns.pods("s-0", labels={"app": "strict"})
            never = {"selector": {"matchLabels": {"app": "strict"}}, "maxUnavailable": 0}
            await ns.budget(never, name="never")
            await scene.fires("BudgetNeverAllows", namespace=ns.name, budget="never")
            missing = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "missing"}
            lost = {"targetRef": missing, "maxUnavailable": 1}
            await ns.kubectl("create", "-f", "-", stdin=pub("lost", lost))
            await scene.fires("BudgetNotWorking", namespace=ns.name, budget="lost")
            await stall(ns)
            await scene.fires("RolloutStalled", namespace=ns.name, group="llm", role="decode")

            soon = alerts()["CertificateExpiring"]["expr"].replace("4 * 3600", "25 * 3600")
            serving = [one["metric"]["certificate"] for one in await server.query(soon)]
            assert serving == ["serving", "serving"]

            for each in intact_cluster.operators:
                each.kill()
            await scene.fires("IntactDown", severity="critical")
            await scene.fires("IntactWebhookFailing", name="pods.gate.intact.dev")
            await scene.fires("IntactWebhookFailing", name="evictions.door.intact.dev")
            for name in OF_THE_API_SERVER:
                assert await server.query(f'{name}{{job="apiserver"}}')
    intact_cluster.restore()


def pub(name: str, spec: Json) -> Json:
    return {
        "apiVersion": "policy.kruise.io/v1alpha1",
        "kind": "PodUnavailableBudget",
        "metadata": {"name": name},
        "spec": spec,
    }
