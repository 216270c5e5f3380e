"""JSON that nests deeply is read without its depths."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.kube.nesting import DEEPEST, KEPT, read_deep, without_depth

Leaves = st.none() | st.booleans() | st.integers() | st.text()
Values = st.recursive(
    Leaves, lambda each: st.lists(each) | st.dictionaries(st.text(), each), max_leaves=30
)


def nested(depth: int, inner: str = "1") -> bytes:
    return ('{"a":[' * (depth // 2) + inner + "]}" * (depth // 2)).encode()


def depth_of(value: Any) -> int:
    depth = 0
    while isinstance(value, dict | list):
        depth += 1
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return depth


@given(value=Values)
def test_what_is_not_deep_stays_as_it_is(value: Any) -> None:
    body = json.dumps(value, indent=1, ensure_ascii=False).encode()
    assert without_depth(body) == body


@pytest.mark.parametrize("depth", [KEPT + 2, 1000, 5000, DEEPEST])
def test_what_is_too_deep_becomes_null(depth: int) -> None:
    body = b'{"x": ' + nested(depth - 2) + b', "y": [' + nested(4) + b', "z"]}'
    found = json.loads(without_depth(body))
    assert depth_of(found["x"]) == KEPT - 1
    assert found["y"] == [{"a": [{"a": [1]}]}, "z"]


def test_signs_in_strings_are_none() -> None:
    text = '[{\\" ]}' * 300
    body = json.dumps({"a": text, text: [text]}).encode()
    assert without_depth(body) == body


def test_only_what_the_decoder_cannot_read_is_cut() -> None:
    body = nested(600)
    assert read_deep(lambda given: given, body) == body
    deep = nested(2000)
    assert depth_of(read_deep(msgspec.json.decode, deep)) == KEPT


def test_no_api_server_nests_so_deeply() -> None:
    with pytest.raises(RecursionError):
        read_deep(msgspec.json.decode, b"[" * 200_000 + b"]" * 200_000)
