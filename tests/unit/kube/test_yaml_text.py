"""YAML for readers that are not PyYAML. tests/cluster/install/test_manifests.py asks kubectl."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from intact.kube.yaml_text import yaml_text

AMBIGUOUS = ("1e3", "12e45", "1.5E3", ".5e3", "08", "0o17", "2026-1-2", "y", "N", "12:30", "+1")
"""Texts that a reader of Go takes for a number, a boolean or a time."""


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_what_another_reader_takes_for_no_text_is_in_quotes(text: str) -> None:
    assert yaml_text({"a": text}) == f"a: '{text}'\n"
    assert yaml_text({text: 1}) == f"'{text}': 1\n"


def test_other_texts_and_numbers_are_plain() -> None:
    found = yaml_text({"image": "intact:1", "memory": "1Gi", "n": 1, "float": 1.5, "yes": "y1"})
    assert found == "image: intact:1\nmemory: 1Gi\n'n': 1\nfloat: 1.5\n'yes': y1\n"


def test_what_is_there_twice_is_written_twice() -> None:
    one = {"a": 1}
    assert yaml_text([one, one]) == "- a: 1\n- a: 1\n"


_TEXTS = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), max_size=8)


@given(st.dictionaries(_TEXTS, _TEXTS | st.integers() | st.booleans()))
def test_it_is_read_as_it_was_written(value: dict[str, object]) -> None:
    assert yaml.safe_load(yaml_text(value)) == value
