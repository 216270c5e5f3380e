"""Metadata of objects and of lists."""

import msgspec
import pytest

from intact.model.meta import Condition, ListMeta, api_group


@pytest.mark.parametrize(
    ("api_version", "group"),
    [("v1", ""), ("apps/v1", "apps"), ("a.example.com/v1beta1", "a.example.com")],
)
def test_the_group_of_an_api_version(api_version: str, group: str) -> None:
    assert api_group(api_version) == group


def test_the_continue_token_of_a_list() -> None:
    meta = msgspec.json.decode(b'{"resourceVersion": "5", "continue": "next"}', type=ListMeta)
    assert (meta.resource_version, meta.continue_) == ("5", "next")


def test_a_condition_with_a_zero_time_has_none() -> None:
    body = b'{"type": "T", "status": "True", "lastTransitionTime": null}'
    assert msgspec.json.decode(body, type=Condition).last_transition_time == ""
