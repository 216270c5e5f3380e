"""Files with objects, as commands take them in place of a name. - is standard input."""

import sys
from pathlib import Path
from typing import Any

import click
import yaml


def is_file(source: str) -> bool:
    """Whether an argument names a file, not an object."""
    file = Path(source)
    return source == "-" or file.suffix in (".yaml", ".yml", ".json") or file.is_file()


def read(source: str) -> str:
    """The text, with the ends of its lines as they are."""
    try:
        content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{source}: {error}") from None


def objects(source: str, kind: str) -> list[dict[str, Any]]:
    """Those of one kind; the file may contain others as well."""
    try:
        documents = list(yaml.safe_load_all(read(source)))
    except yaml.YAMLError as error:
        raise click.ClickException(f"{source}: {error}") from None
    return [one for one in documents if isinstance(one, dict) and one.get("kind") == kind]
