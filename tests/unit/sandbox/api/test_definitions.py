"""A kind is served while its CustomResourceDefinition is there."""

import pytest

from intact.kube.client import Client
from intact.kube.errors import NotFound
from intact.kube.resources import untyped
from intact.operator.install.crds import definitions
from intact.operator.install.install import install
from intact.sandbox import MemoryApi
from intact.sandbox.api.definitions import kind_of
from tests.support.objects import CRDS, WIDGETS, Json, definition, widget


@pytest.fixture
def client(api: MemoryApi) -> Client:
    return Client(api)


async def test_intact_installs_its_own(client: Client) -> None:
    await install(client)
    await install(client)
    for each in definitions():
        names, group = each["spec"]["names"], each["spec"]["group"]
        for version in each["spec"]["versions"]:
            resource = untyped(group, version["name"], names["plural"], names["kind"])
            assert (await client.list(resource)).items == []


async def test_its_objects_go_with_it(client: Client) -> None:
    await client.create(CRDS, definition(WIDGETS))
    await client.create(WIDGETS, widget("a"), "default")
    await client.delete(CRDS, WIDGETS.full_name)
    with pytest.raises(NotFound):
        await client.list(WIDGETS)
    await client.create(CRDS, definition(WIDGETS))
    assert (await client.list(WIDGETS)).items == []


async def test_its_status_says_that_it_is_served(client: Client) -> None:
    made = await client.create(CRDS, definition(WIDGETS))
    held = {each["type"]: each["status"] for each in made["status"]["conditions"]}
    assert held == {"NamesAccepted": "True", "Established": "True"}
    assert made["status"]["storedVersions"] == ["v1"]
    assert made["status"]["acceptedNames"]["listKind"] == "WidgetList"


async def test_a_scale_is_where_the_definition_says(client: Client) -> None:
    await client.create(CRDS, definition(WIDGETS, scale=True))
    body = widget("a")
    body["spec"]["replicas"] = 3
    await client.create(WIDGETS, body, "default")
    scale = await client.raw("/apis/contract.intact.dev/v1/namespaces/default/widgets/a/scale")
    assert b'"replicas":3' in scale


def test_versions_that_are_served_or_stored() -> None:
    body: Json = definition(WIDGETS)
    first = body["spec"]["versions"][0]
    body["spec"]["versions"] = [
        first | {"name": "v1alpha1", "storage": False},
        first,
        first | {"name": "v0", "storage": False, "served": False},
    ]
    kind = kind_of(body)
    assert kind.version == "v1"
    assert kind.versions == ("v1", "v1alpha1")
