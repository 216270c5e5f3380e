"""Short hashes."""

import re

from intact.sandbox.controllers.hashes import short_hash


def test_a_hash_depends_on_the_content_and_on_taken_names_only() -> None:
    value = {"b": [{"x": 1, "y": None}], "a": "text"}
    same = {"a": "text", "b": [{"y": None, "x": 1}]}
    assert short_hash(value) == short_hash(same)
    hashes = [short_hash(value), short_hash({**value, "a": "other"}), short_hash(value, 1)]
    assert len({*hashes}) == 3
    assert all(re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{1,10}", each) for each in hashes)
