"""Intact installed twice in one cluster: the second installation waits, says so, and changes
nothing. It works once the first is gone."""

import asyncio
import urllib.error
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from devcluster.operator_process import OperatorProcess
from devcluster.ports import Ports
from devcluster.waiting import wait_for
from intact.kube.resources import LEASES
from intact.operator.webhook.configuration import NAME, VALIDATING
from tests.support.cluster_with_intact import ClusterWithIntact, shared_cluster
from tests.support.kubeconfigs import write_kubeconfig
from tests.support.namespace_under_test import NamespaceUnderTest, eventually

WEB = {"app": "web"}


class ClusterWithTwo(ClusterWithIntact):
    """Whose operators a test ends."""


@pytest.fixture(scope="module")
def intact_cluster(request: pytest.FixtureRequest) -> ClusterWithIntact:
    return shared_cluster(request, ClusterWithTwo)


@pytest.fixture
def second(
    intact_cluster: ClusterWithIntact,
    ns: NamespaceUnderTest,
    runner: asyncio.Runner,
    tmp_path: Path,
) -> Iterator[OperatorProcess]:
    """Another installation, in the namespace of the test."""
    ports = Ports()
    config = write_kubeconfig(intact_cluster.cluster, tmp_path / "config", namespace=ns.name)
    bind = f"--webhook-bind=127.0.0.1:{ports.reserve()}"
    with OperatorProcess(config, tmp_path / "log", "--install", bind) as process:
        yield process
    ports.release()
    runner.run(ns.client.delete_collection(LEASES, ns.name))


def waits(process: OperatorProcess) -> bool:
    """Whether its /readyz says that it waits for another installation."""
    try:
        process.get("/readyz")
    except urllib.error.HTTPError as error:
        said = error.read().decode()
        return "[-] installation: Intact works in the namespace default already" in said
    except OSError:
        pass
    return False


async def test_the_second_waits_and_works_once_the_first_is_gone(
    intact_cluster: ClusterWithIntact, ns: NamespaceUnderTest, second: OperatorProcess
) -> None:
    before = await ns.client.raw(VALIDATING.path(name=NAME))
    wait_for(lambda: waits(second), "the second to say that it waits")
    assert not second.leads()
    for namespace in ("default", ns.name):
        look = partial(ns.kubectl, "get", "events", f"--namespace={namespace}")
        _code, said = await eventually(
            look, lambda answer: "AnotherInstallation" in answer[1], f"an event in {namespace}"
        )
        assert f"the installation in {ns.name} waits" in said

    # The first holds its budgets all the while, and nobody has touched its registration.
    await ns.pods("a", "b", labels=WEB)
    spec = {"selector": {"matchLabels": WEB}, "maxUnavailable": 0}
    await ns.budget(spec, total_replicas=2)
    assert (await ns.delete("a")).code == 429
    assert await ns.client.raw(VALIDATING.path(name=NAME)) == before
    assert not second.leads()

    for operator in intact_cluster.operators:
        operator.kill()
    wait_for(second.is_ready, "the second to be ready", timeout=120)
    wait_for(second.leads, "the second to lead", timeout=120)
    await eventually(
        lambda: ns.delete("a"), lambda answer: "budget requires 2" in answer.message, "a denial"
    )
