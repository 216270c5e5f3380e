"""`intact translate`: manifests with the fields of KEP-5682, as a stock API server takes them, and
back.

What is not translated is printed as it was read, byte for byte. Of a document that is translated,
only the lines with what changes are touched, where its layout allows that; else it is written anew,
and loses its comments.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click
import yaml

from intact.budget.pdb.translation import Json, NotTranslated, notes, to_kep, to_stock
from intact.cli.files import read
from intact.cli.yaml_edits import ManifestLoader, edited, written

_MARKER = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_DIRECTIONS = {"stock": to_stock, "kep": to_kep}


@dataclass(frozen=True, slots=True)
class _Document:
    before: Any
    after: Any
    text: str
    """As it is in a YAML file; empty if it is from JSON."""


def translate(files: Sequence[str], to: str, output: str | None) -> None:
    texts = [_translated(file, to, output) for file in files]
    click.echo(_joined(texts, "json" if output == "json" else "yaml"), nl=False)


def _joined(texts: Sequence[str], output: str) -> str:
    ended = [text if text.endswith("\n") else f"{text}\n" for text in texts if text]
    if output == "json":
        return "".join(ended)
    result = ""
    for text in ended:
        starts_one = _MARKER.match(text.lstrip("\n")) is not None
        result += text if not result or starts_one else f"---\n{text}"
    return result


def _translated(file: str, to: str, output: str | None) -> str:
    text = read(file)
    is_json = True
    try:
        try:
            documents = list(_from_json(text))
        except ValueError:
            is_json = False
            documents = list(_from_yaml(text))
        number, results = 0, []
        for document in documents:
            number += document.before is not None
            results.append(_one(file, number, document, to))
    except (yaml.YAMLError, ValueError) as error:
        raise click.ClickException(f"{file}: {error}") from None
    except RecursionError:
        raise click.ClickException(f"{file}: it is nested too deeply, or contains itself") from None
    if output == "json" or (output is None and is_json):
        found = [each.after for each in results if each.after is not None]
        return "".join(f"{json.dumps(each, indent=2)}\n" for each in found)
    if is_json:
        return "---\n".join(written(each.after) for each in results)
    joined = "---".join(_text(each) for each in results)
    return joined if text.startswith("\n") else joined.removeprefix("\n")


def _from_json(text: str) -> Iterator[_Document]:
    """One value after the other. Raises ValueError if it is not JSON."""
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        yield _Document(value, value, "")


def _from_yaml(text: str) -> Iterator[_Document]:
    """Each with all that is between two markers."""
    for part in _MARKER.split(text):
        directives = part.lstrip().startswith("%")
        value = None if directives else yaml.load(part, ManifestLoader)  # noqa: S506 - a safe one
        yield _Document(value, value, part)


def _one(file: str, number: int, document: _Document, to: str) -> _Document:
    before = document.before
    if not isinstance(before, dict):
        return document
    where = f"{file}: document {number}"
    try:
        after: Json = _DIRECTIONS[to](before)
    except NotTranslated as problem:
        raise click.ClickException(f"{where}: {problem.error}") from None
    for note in notes(before, to):
        click.echo(f"{where}: {note}", err=True)
    return _Document(before, after, document.text)


def _text(document: _Document) -> str:
    if document.after == document.before:
        return document.text
    return edited(document.text, document.before, document.after)
