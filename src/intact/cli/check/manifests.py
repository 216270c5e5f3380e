"""Manifests in files: each object with the file and the line that it is from.

YAML with several documents, JSON (one value after the other), and Lists of objects. What has no
kind is no object, and is passed over: directories hold other YAML, too.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import yaml

from intact.cli.files import read
from intact.cli.yaml_edits import ManifestLoader

Json = dict[str, Any]
_SUFFIXES = (".yaml", ".yml", ".json")
_PART = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
_LIST = "List"


@dataclass(frozen=True, slots=True)
class Place:
    """In a file. Lines count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Manifest:
    file: str
    value: Json
    node: yaml.Node | None = field(default=None, compare=False)
    """Of the YAML; None where the lines of its fields are not known."""
    first_line: int = 1
    above: int = 0
    """Lines of the file before the text that the node is from."""

    def place(self, path: str = "") -> Place:
        """Of a field, such as `metadata.labels[app]`, or of the nearest one above it."""
        line = self.first_line
        node = self.node
        for part in _parts(path) if node is not None else ():
            step = _step(node, part)
            if step is None:
                break
            line, node = self.above + step[0].start_mark.line + 1, step[1]
        return Place(self.file, line)


@dataclass(frozen=True, slots=True)
class NotParsed:
    place: Place
    problem: str


def files_of(sources: Sequence[str]) -> list[str]:
    """The files; of a directory, all manifests below it. Raises `click.ClickException`."""
    found: list[str] = []
    for source in sources:
        path = Path(source)
        if source != "-" and path.is_dir():
            below = sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES)
            found += [str(each) for each in below if each.is_file()]
        elif source != "-" and not path.exists():
            raise click.ClickException(f"{source}: there is no such file")
        else:
            found.append(source)
    return list(dict.fromkeys(found))


def read_manifests(sources: Sequence[str]) -> tuple[list[Manifest], list[NotParsed]]:
    """All objects, and what could not be read; the rest of a file stands all the same."""
    found: list[Manifest] = []
    problems: list[NotParsed] = []
    for file in files_of(sources):
        try:
            text = read(file)
        except click.ClickException as error:
            problems.append(NotParsed(Place(file, 1), error.message.removeprefix(f"{file}: ")))
            continue
        parse(file, text, found, problems)
    return found, problems


def parse(file: str, text: str, found: list[Manifest], problems: list[NotParsed]) -> None:
    """Adds the objects of a text, and what is wrong with it."""
    stripped = text.lstrip()
    if stripped.startswith(("{", "[")) and not stripped.startswith("{{"):
        _parse_json(file, text, found, problems)
    else:
        _parse_yaml(file, text, found, problems, above=0)


def _parse_yaml(
    file: str, text: str, found: list[Manifest], problems: list[NotParsed], *, above: int
) -> None:
    loader, line = ManifestLoader(text), 1
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None
            line = node.start_mark.line + 1
            # As JSON has it: keys are strings, and nothing contains itself.
            value = json.loads(json.dumps(loader.construct_document(node)))
            found.extend(_objects(file, value, node, line, above))
    except (yaml.YAMLError, ValueError, TypeError) as error:
        problems.append(NotParsed(Place(file, above + _line_of(error, line)), _said(error)))
    except RecursionError:
        problems.append(NotParsed(Place(file, above + line), "it is nested too deeply"))
    finally:
        loader.dispose()


def _line_of(error: Exception, line: int) -> int:
    """`line` is that of the document, for errors that do not name theirs."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return mark.line + 1 if mark is not None else line


def _said(error: Exception) -> str:
    parts = [getattr(error, "context", None), getattr(error, "problem", None)]
    return ", ".join(part for part in parts if part) or str(error)


def _parse_json(file: str, text: str, found: list[Manifest], problems: list[NotParsed]) -> None:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        at += len(text[at:]) - len(text[at:].lstrip())
        if at == len(text):
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if at == 0 or text[:at].strip() == "":
                # Flow style looks like JSON, and is YAML.
                _parse_yaml(file, text, found, problems, above=0)
            else:
                problems.append(NotParsed(Place(file, error.lineno), error.msg))
            return
        except RecursionError:
            problems.append(NotParsed(Place(file, 1), "it is nested too deeply"))
            return
        above = text[:at].count("\n")
        found.extend(_objects(file, value, _node_of(text[at:end]), above + 1, above))
        at = end


def _node_of(text: str) -> yaml.Node | None:
    try:
        node: yaml.Node | None = yaml.compose(text, ManifestLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    return node


def _objects(
    file: str, value: Any, node: yaml.Node | None, line: int, above: int
) -> Iterator[Manifest]:
    if isinstance(value, list):
        yield from _items(file, value, node, line, above)
        return
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return
    items = value.get("items")
    if value["kind"].endswith(_LIST) and isinstance(items, list):
        step = _step(node, "items")
        yield from _items(file, items, step[1] if step else None, line, above)
    else:
        start = above + node.start_mark.line + 1 if node is not None else line
        yield Manifest(file, value, node, start, above)


def _items(
    file: str, items: list[Any], node: yaml.Node | None, line: int, above: int
) -> Iterator[Manifest]:
    nodes: list[yaml.Node | None] = [None] * len(items)
    if isinstance(node, yaml.SequenceNode) and len(node.value) == len(items):
        nodes = list(node.value)
    for item, inner in zip(items, nodes, strict=True):
        yield from _objects(file, item, inner, line, above)


def _parts(path: str) -> list[str]:
    """`metadata.labels[a.b/c]` is three; a key with dots stands in brackets."""
    return [plain or bracketed for plain, bracketed in _PART.findall(path)]


def _step(node: yaml.Node | None, part: str) -> tuple[yaml.Node, yaml.Node] | None:
    """The key and the value below a node."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == part:
                return key, value
    elif isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
        return node.value[int(part)], node.value[int(part)]
    return None
