"""All pods of a RoleBasedGroup in one domain, and no others of its kind there."""

from typing import Any

import msgspec
import pytest

from intact.model.rbg import RoleBasedGroup
from intact.rollout.spec.exclusive import (
    EXCLUSIVE,
    NOT_EXCLUSIVE,
    exclusive_errors,
    exclusive_topology,
    with_exclusive_topology,
)
from tests.support.rbg_objects import Json, batches, group, role, template

HOST, RACK = "kubernetes.io/hostname", "example.com/rack"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def made(key: str | None = HOST, **spec: Any) -> RoleBasedGroup:
    body = group("llm", role("prefill", 4), role("decode", 2), **spec)
    body["metadata"] |= {"namespace": "ns", "annotations": {} if key is None else {EXCLUSIVE: key}}
    return msgspec.convert(body, RoleBasedGroup)


def annotated(**annotations: str) -> Json:
    return template() | {"metadata": {"annotations": annotations}}


@pytest.mark.parametrize(
    ("key", "given", "expected"),
    [
        pytest.param(HOST, template(), HOST, id="of the group"),
        pytest.param(None, annotated(**{EXCLUSIVE: RACK}), RACK, id="of the role"),
        pytest.param(HOST, annotated(**{EXCLUSIVE: RACK}), RACK, id="of the role, first"),
        pytest.param(HOST, annotated(**{NOT_EXCLUSIVE: "true"}), "", id="not for this role"),
        pytest.param(None, template(), "", id="of none"),
        pytest.param("not a key", template(), "", id="a key that is none"),
        pytest.param(None, {"metadata": "x"}, "", id="a template that is none"),
    ],
)
def test_where_the_node_label_comes_from(key: str | None, given: Json, expected: str) -> None:
    assert exclusive_topology(made(key), given) == expected


def test_the_terms_join_those_of_the_template_once() -> None:
    own = {"labelSelector": {"matchLabels": {"app": "cache"}}, "topologyKey": RACK}
    given = template(affinity={"podAffinity": {REQUIRED: [own]}, "nodeAffinity": {"a": "b"}})
    found = with_exclusive_topology(made(), given)
    affinity = found["spec"]["affinity"]
    mine, together = affinity["podAffinity"][REQUIRED]
    [apart] = affinity["podAntiAffinity"][REQUIRED]
    assert (mine, affinity["nodeAffinity"]) == (own, {"a": "b"})
    assert together["topologyKey"] == apart["topologyKey"] == HOST
    assert apart["namespaceSelector"] == {}, "groups of all namespaces stay away"
    assert with_exclusive_topology(made(), found) == found
    assert given["spec"]["affinity"]["podAffinity"][REQUIRED] == [own], "it is the user's"


def test_a_template_without_the_annotation_stays_the_same_object() -> None:
    given = template()
    assert with_exclusive_topology(made(None), given) is given


def test_a_wrong_key_and_batches_in_the_same_domains_are_refused() -> None:
    assert list(exclusive_errors(made())) == []
    assert list(exclusive_errors(made(None))) == []
    [error] = exclusive_errors(made("not a key"))
    assert error.path == f"metadata.annotations[{EXCLUSIVE}]"
    batched = batches({"prefill": 2, "decode": 1})
    [error] = exclusive_errors(made(coordination=[batched]))
    assert "the coordination batched spreads its batches" in error.message
    assert list(exclusive_errors(made(RACK, coordination=[batched]))) == []
