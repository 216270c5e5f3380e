"""What commands read of a cluster: what pods and budgets name, and no more."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from intact.cli.reading import complete, read_objects
from intact.kube import config
from intact.kube.client import Client
from intact.kube.http import HttpTransport
from intact.kube.resources import LEASES
from intact.model.pub import TargetReference
from intact.model.times import micro_timestamp
from tests.support.objects import DEPLOYMENTS, NODES, REPLICA_SETS, deployment, replica_set
from tests.support.pictures import pdb, pod, pub
from tests.unit.cli.inhabited import Inhabited, inhabited


async def test_pods_and_budgets_of_a_namespace_are_read(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("a"), pdbs=[pdb()]) as cluster:
        await cluster.namespace("other")
        found = await read_objects(cluster.client, "llm")
        elsewhere = await read_objects(cluster.client, "other")
        everywhere = await read_objects(cluster.client)
    assert [one.metadata.name for one in found.pods] == ["a"]
    assert [one.metadata.name for one in found.pdbs] == ["llm-pods"]
    assert (found.pubs, found.nodes, found.rbgs) == ([], [], [])
    assert found.intact is False
    assert found.unreadable == {}
    assert elsewhere.pods == []
    assert len(everywhere.pods) == 1


async def test_nodes_are_read_if_they_are_asked_for(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as cluster:
        await cluster.client.create(NODES, {"metadata": {"name": "n"}})
        found = await read_objects(cluster.client, "llm", nodes=True)
    assert [one.metadata.name for one in found.nodes] == ["n"]


async def test_what_is_forbidden_is_named(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("a")) as cluster:
        cluster.forbidden |= {"poddisruptionbudgets", "validatingwebhookconfigurations"}
        async with Client(HttpTransport(config.load(cluster.kubeconfig))) as client:
            found = await read_objects(client, "llm")
    assert found.intact is None
    assert set(found.unreadable.values()) == {"forbidden"}
    assert "poddisruptionbudgets.policy" in found.unreadable


async def targeted(cluster: Inhabited) -> None:
    """A pod two levels below the workload that a budget names."""
    made = await cluster.client.create(DEPLOYMENTS, deployment("api"), "llm")
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api", "controller": True}
    body = replica_set("api-1")
    body["metadata"]["ownerReferences"] = [{**owner, "uid": made["metadata"]["uid"]}]
    body["metadata"]["uid"] = "uid-api-1"
    await cluster.client.create(REPLICA_SETS, body, "llm")


async def test_owners_are_read_if_a_budget_names_them(tmp_path: Path) -> None:
    target = TargetReference(api_version="apps/v1", kind="Deployment", name="api")
    budget = pub(need=None)
    spec = msgspec.structs.replace(budget.spec, target_ref=target, selector=None)
    named = msgspec.structs.replace(budget, spec=spec)
    member = pod("p", owner=("ReplicaSet", "api-1"))
    async with inhabited(tmp_path, member, pubs=[named], intact=True) as cluster:
        await targeted(cluster)
        found = await read_objects(cluster.client, "llm")
    assert sorted(one.kind for one in found.owners) == ["Deployment", "ReplicaSet"]


async def test_owners_are_not_read_otherwise(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pod("p", owner=("ReplicaSet", "api-1"))) as cluster:
        await targeted(cluster)
        assert (await read_objects(cluster.client, "llm")).owners == []


@pytest.mark.parametrize(
    ("holder", "age", "leading"),
    [
        ("me", timedelta(), True),
        ("me", timedelta(hours=1), False),
        ("me", None, False),
        ("", timedelta(), False),
        (None, None, False),
    ],
    ids=["renewed", "left", "without a time", "given back", "no Lease"],
)
async def test_an_intact_leads_while_it_renews_its_lease(
    tmp_path: Path, holder: str | None, age: timedelta | None, leading: bool
) -> None:
    async with inhabited(tmp_path, pubs=[pub()], intact=True) as cluster:
        await cluster.namespace("intact-system")
        if holder is not None:
            renewed = micro_timestamp(datetime.now(UTC) - age) if age is not None else None
            spec = {"holderIdentity": holder, "renewTime": renewed}
            body = {"metadata": {"name": "intact"}, "spec": spec}
            await cluster.client.create(LEASES, body, "intact-system")
        found = await read_objects(cluster.client, "llm")
    assert found.leading is leading


async def test_without_a_budget_of_intact_nobody_asks_who_leads(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pdbs=[pdb()], intact=True) as cluster:
        assert (await read_objects(cluster.client, "llm")).leading is None


async def test_what_pods_name_is_read_again(tmp_path: Path) -> None:
    async with inhabited(tmp_path, pubs=[pub()], intact=True) as cluster:
        found = await read_objects(cluster.client, "llm")
        again = await complete(cluster.client, "llm", found)
    assert again == found
