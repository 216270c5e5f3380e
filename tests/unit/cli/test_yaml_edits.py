"""Changes in the text of a document: all else stays as it is written."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from intact.cli.yaml_edits import ManifestLoader, edited, written

TEXT = """\
# before
a:   1   # one
m:
  x: "yes"
  y: 2026-01-01  # not a time
  # inside
  l:
    - k: v
      w: |
        text
b: 2
"""


def read(text: str) -> Any:
    return yaml.load(text, ManifestLoader)


def test_a_line_goes_and_a_line_comes() -> None:
    before = read(TEXT)
    after = {**before, "m": {"x": "yes", "l": before["m"]["l"], "new": {"key/a": '{"n":1}'}}}
    result = edited(TEXT, before, after)
    assert result == TEXT.replace("  y: 2026-01-01  # not a time\n", "").replace(
        '  x: "yes"\n', '  x: "yes"\n  new:\n    key/a: \'{"n":1}\'\n'
    )


def test_an_entry_of_several_lines_goes_as_a_whole() -> None:
    before = read(TEXT)
    after = {key: value for key, value in before.items() if key != "m"}
    assert edited(TEXT, before, after) == "# before\na:   1   # one\nb: 2\n"


def test_an_item_of_a_list_is_changed_in_its_place() -> None:
    before = read(TEXT)
    after = read(TEXT.replace("- k: v", "- k: v\n      n: 1"))
    assert edited(TEXT, before, after) == TEXT.replace("- k: v\n", "- k: v\n      n: 1\n")


LAYOUTS = {
    "flow style": ("{a: {x: 1}}", {"a": {"x": 1, "y": 2}}),
    "no entry of one line": ("a:\n  m:\n    x: 1\n", {"a": {"m": {"x": 1}, "n": 2}}),
    "another value": ("a: 1\n", {"a": 2}),
    "the last entry of a map": ("a:\n  x: 1\nb: 2\n", {"a": {}, "b": 2}),
    "the first entry of an item": ("a:\n- x: 1\n  y: 2\n", {"a": [{"y": 2}]}),
    "a map that an alias shares": ("a: &m\n  x: 1\nb: *m\n", {"a": {"x": 1}, "b": {"y": 2}}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "after"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_layout_that_does_not_allow_it_is_written_anew(text: str, after: Any) -> None:
    assert edited(text, read(text), after) == f"\n{written(after)}"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
_MAPS = st.dictionaries(st.text(max_size=5), _VALUES, max_size=5)


@given(_MAPS, _MAPS)
def test_the_result_always_says_what_it_is_to_say(before: Any, after: Any) -> None:
    assert read(edited(written(before), before, after)) == after
