"""Changes of a YAML document in its text, so that comments, order and style stay.

Only lines that hold one entry of a map in block style are removed or inserted. The new text is read
again: if it does not say what it is to say, the document is written anew.
"""

from collections.abc import Iterator
from typing import Any

import yaml

Json = dict[Any, Any]
Path = tuple[str | int, ...]


class ManifestLoader(yaml.SafeLoader):
    """Reads a time as the text that it is in a manifest."""


ManifestLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def written(value: Any) -> str:
    """A document, written anew."""
    text = _dumped(value, plain=True)
    # PyYAML writes some rare characters plainly that it does not read again.
    return text if _read(text) == value else _dumped(value, plain=False)


def _dumped(value: Any, *, plain: bool) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=plain, width=float("inf")
    )
    return text


def _read(text: str) -> Any:
    return yaml.load(text, ManifestLoader)  # noqa: S506 - a safe one


def edited(text: str, before: Json, after: Json) -> str:
    """The text of a document, from its marker on, with what is after instead of what was before."""
    try:
        lines = _Lines(text)
        for path, value in _differences(before, after, ()):
            lines.put(path, value)
        result = str(lines)
        if _read(result) == after:
            return result
    except (_NotInLines, yaml.YAMLError):
        pass
    return f"\n{written(after)}"


_GONE = object()


def _differences(before: Any, after: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The entries of maps that differ, each with its new value or `_GONE`."""
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differences(old, new, (*path, index))
    elif isinstance(before, dict) and isinstance(after, dict):
        for key in before:
            if key not in after:
                yield (*path, key), _GONE
            elif before[key] is not after[key]:
                yield from _differences(before[key], after[key], (*path, key))
        for key in after:
            if key not in before:
                yield (*path, key), after[key]
    elif before != after:
        raise _NotInLines


class _NotInLines(Exception):
    """The layout is not one line for each entry."""


class _Lines:
    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._root = yaml.compose(text, ManifestLoader)
        self._gone: set[int] = set()
        self._added: dict[int, str] = {}
        """What stands after a line, by its number."""

    def __str__(self) -> str:
        kept = ("" if at in self._gone else line for at, line in enumerate(self._lines))
        return "".join(line + self._added.get(at, "") for at, line in enumerate(kept))

    def put(self, path: Path, value: Any) -> None:
        parent = self._find(path[:-1])
        if value is _GONE:
            self._remove(parent, path[-1])
        else:
            self._add(parent, {path[-1]: value})

    def _find(self, path: Path) -> yaml.MappingNode:
        node = self._root
        for step in path:
            if isinstance(node, yaml.MappingNode):
                node = _entry(node, step)[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step]
        if not isinstance(node, yaml.MappingNode) or node.flow_style:
            raise _NotInLines
        return node

    def _remove(self, parent: yaml.MappingNode, name: Any) -> None:
        key, value = _entry(parent, name)
        first, last = key.start_mark.line, value.end_mark.line
        before = self._lines[first][: key.start_mark.column]
        if before.strip():
            raise _NotInLines
        if value.end_mark.column == 0:  # a map or list ends where the next thing begins
            last -= 1
        self._gone.update(range(first, last + 1))

    def _add(self, parent: yaml.MappingNode, entry: Json) -> None:
        """After the last entry that takes up one line."""
        single = [
            key.start_mark
            for key, value in parent.value
            if key.start_mark.line == value.end_mark.line and not self._is_gone(key)
        ]
        if not single:
            raise _NotInLines
        indent = " " * single[-1].column
        end = "\r\n" if self._lines[0].endswith("\r\n") else "\n"
        added = "".join(f"{indent}{line}{end}" for line in written(entry).splitlines())
        at = single[-1].line
        if not self._lines[at].endswith("\n"):
            self._lines[at] += end
        self._added[at] = self._added.get(at, "") + added

    def _is_gone(self, key: yaml.Node) -> bool:
        return key.start_mark.line in self._gone


def _entry(parent: yaml.MappingNode, name: Any) -> tuple[yaml.Node, yaml.Node]:
    """Raises `_NotInLines` if the entry is merged from elsewhere, by `<<`."""
    for key, value in parent.value:
        if key.value == name:
            return key, value
    raise _NotInLines
