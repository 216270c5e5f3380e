"""Manifests in files, with the lines that they are from."""

from pathlib import Path

import click
import pytest

from intact.cli.check.manifests import Manifest, NotParsed, files_of, parse, read_manifests

TWO = """\
# A comment.
kind: Service
metadata:
  name: a
---
kind: PodDisruptionBudget
metadata:
  name: b
  labels:
    intact.dev/budget-scope: Workload
spec:
  selector:
    matchExpressions:
      - key: x
        operator: Is
"""
A_LIST = """\
kind: List
items:
  - kind: A
    metadata: {name: a}
  - kind: B
    metadata:
      name: b
"""


def parsed(text: str) -> tuple[list[Manifest], list[NotParsed]]:
    found: list[Manifest] = []
    problems: list[NotParsed] = []
    parse("f.yaml", text, found, problems)
    return found, problems


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("", 6),
        ("metadata.name", 8),
        ("metadata.labels[intact.dev/budget-scope]", 10),
        ("metadata.annotations[x]", 7),
        ("spec.selector.matchExpressions[0].operator", 15),
        ("spec.maxUnavailable", 11),
        ("apiVersion", 6),
    ],
)
def test_the_line_of_a_field_or_of_the_nearest_above(path: str, line: int) -> None:
    found, problems = parsed(TWO)
    assert problems == []
    assert str(found[1].place(path)) == f"f.yaml:{line}"


def test_the_first_line_of_each_document() -> None:
    assert [one.place().line for one in parsed(TWO)[0]] == [2, 6]


def test_the_objects_of_a_list() -> None:
    found, _ = parsed(A_LIST)
    assert [(one.value["kind"], one.place("metadata.name").line) for one in found] == [
        ("A", 4),
        ("B", 7),
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"kind": "A",\n "metadata": {\n "name": "a"}}', [3]),
        ('{"kind": "A"}\n{"kind": "B",\n"metadata": {"name": "b"}}\n', [1, 3]),
        ('[{"kind": "A"},\n {"kind": "B"}]', [1, 2]),
        ('{\n\t"kind": "A"\n}', [1]),
        ("{kind: A, metadata: {name: a}}", [1]),
    ],
)
def test_json(text: str, lines: list[int]) -> None:
    found, problems = parsed(text)
    assert problems == []
    assert [one.place("metadata.name").line for one in found] == lines


def test_what_has_no_kind_is_passed_over() -> None:
    assert parsed("a: 1\n---\n- b\n---\n---\ntext\n") == ([], [])


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("kind: A\n---\nkind: B\n  bad: {\n", 4, "mapping values are not allowed here"),
        ("kind: A\n---\nkind: {{ .Values.kind }}\n", 3, "found unhashable key"),
        ('{"kind": "A"}\n{"kind": }\n', 2, "Expecting value"),
        ("kind: A\n---\n&a\nkind: B\nspec: *a\n", 3, "Circular reference"),
        ("kind: A\n---\nkind: B\nspec: !!binary aGk=\n", 3, "not JSON serializable"),
    ],
)
def test_what_cannot_be_parsed_has_a_line_and_what_is_before_counts(
    text: str, line: int, said: str
) -> None:
    found, [problem] = parsed(text)
    assert [one.value["kind"] for one in found] == ["A"]
    assert problem.place.line == line
    assert said in problem.problem


def test_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "deep/er").mkdir(parents=True)
    for name in ("b.yaml", "a.json", "deep/er/c.yml", "deep/README.md"):
        (tmp_path / name).write_text("{}")
    named = files_of([str(tmp_path), str(tmp_path / "b.yaml"), "-"])
    assert [Path(one).name for one in named] == ["a.json", "b.yaml", "c.yml", "-"]


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(click.ClickException, match="there is no such file"):
        files_of(["nowhere.yaml"])


def test_a_file_that_is_no_text_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\xfd")
    (tmp_path / "b.yaml").write_text("kind: B")
    found, [problem] = read_manifests([str(tmp_path)])
    assert [one.value["kind"] for one in found] == ["B"]
    assert problem.place.file.endswith("a.yaml")
