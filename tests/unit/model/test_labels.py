"""The grammar of labels."""

import pytest

from intact.model.labels import is_dns_label, is_label_key, is_label_value

KEYS = {
    "app": True,
    "a.b_c-D9": True,
    "example.com/app": True,
    "a/b": True,
    "": False,
    "/app": False,
    "example.com/": False,
    "a/b/c": False,
    "Example.com/app": False,
    "example..com/app": False,
    "-app": False,
    "app-": False,
    "app\n": False,
    "k" * 63: True,
    "k" * 64: False,
    "p" * 253 + "/app": True,
    "p" * 254 + "/app": False,
}


@pytest.mark.parametrize("key", KEYS)
def test_keys(key: str) -> None:
    assert is_label_key(key) is KEYS[key]


VALUES = {"": True, "a": True, "A.b_c-9": True, "v" * 63: True, "v" * 64: False}
VALUES |= {"a b": False, "-a": False, "a-": False, "a/b": False, "a\n": False}


@pytest.mark.parametrize("value", VALUES)
def test_values(value: str) -> None:
    assert is_label_value(value) is VALUES[value]


NAMES = {"a": True, "a-1": True, "n" * 99: True, "": False, "A": False, "a.b": False, "a-": False}


@pytest.mark.parametrize("name", NAMES)
def test_dns_labels_of_any_length(name: str) -> None:
    assert is_dns_label(name) is NAMES[name]
