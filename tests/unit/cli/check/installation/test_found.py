"""What there is of Intact in a cluster."""

from intact.cli.check.installation.found import look
from intact.kube.client import Client
from intact.kube.transport import Request, Response
from tests.unit.cli.check.installation.cluster import (
    HOME,
    IMAGE,
    client_of,
    hold_lease,
    installed,
    refused,
)
from tests.unit.operator.install.cluster import new_api


async def test_an_empty_cluster_has_none() -> None:
    found = await look(Client(new_api()))
    assert not found.installed
    assert set(found.controllers) == {"pub", "pdb", "rbg"}


async def test_a_deployment_with_its_pods() -> None:
    _api, client = await installed(a=IMAGE, b=IMAGE)
    found = await look(client)
    assert found.installed
    assert found.namespace == HOME
    assert [one.metadata.name for one in found.pods] == ["intact-a", "intact-b"]
    assert len(found.webhooks) == 13
    assert found.exempt == {"kube-system"}


async def test_a_process_outside_is_known_by_its_lease() -> None:
    client = Client(new_api())
    await hold_lease(client, "laptop_1", "default")
    found = await look(client)
    assert found.installed
    assert (found.deployment, found.namespace) == (None, "default")


async def test_who_may_not_read_all_namespaces_reads_the_usual_one() -> None:
    def instead(request: Request) -> Response | None:
        namespaced = "/namespaces/" in request.path or "webhookconfig" in request.path
        return None if namespaced else refused(403, "no", "Forbidden")

    api, _ = await installed(a=IMAGE)
    found = await look(client_of(api, instead))
    assert found.deployment is not None
    assert found.unread == {}


async def test_what_may_not_be_read_is_told() -> None:
    api, _ = await installed()
    found = await look(client_of(api, lambda _request: refused(403, "no", "Forbidden")))
    assert set(found.unread) == {"deployments", "leases", "webhooks"}
