"""Damage to a JSON text that someone, or something, has written into."""

from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import strategies as st

JUNK: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([-1, 2**31, 2**63, 10**30, 0.5]),
    st.sampled_from(
        [
            "",
            "abc",
            "-1",
            "9" * 30,
            "999999999999999",
            "\u0663",
            "yesterday",
            "2026-01-01T12:00:00",
            "2026-01-01T12:00:00.123456789+05:30",
            "0001-01-01T00:00:00+23:59",
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59-23:59",
            "2400-01-01T00:00:00Z",
            "FLY",
        ]
    ),
    st.just([]),
    st.just({}),
    st.just([["deep"]]),
    st.just({"x": {"y": None}}),
)


def damaged(text: str) -> st.SearchStrategy[str]:
    """Texts in which some values are others, or which are no JSON any more."""
    return st.one_of(
        st.lists(st.tuples(st.integers(0, 10**6), JUNK), min_size=0, max_size=4).map(
            lambda steps: _change(text, steps)
        ),
        st.sampled_from(["", "{", "[]", "null", text[: len(text) // 2], text + "x"]),
        st.just(100_000).map(lambda depth: "[" * depth),
    )


def _change(text: str, steps: list[tuple[int, Any]]) -> str:
    found = msgspec.json.decode(text)
    for number, junk in steps:
        places: list[tuple[Any, Any]] = []
        _collect(found, places)
        if places:
            where, key = places[number % len(places)]
            where[key] = deepcopy(junk)
    try:
        return msgspec.json.encode(found).decode()
    except OverflowError:  # beyond what this encoder writes
        return text


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    keys: Any = ()
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        places.append((value, key))
        _collect(value[key], places)
