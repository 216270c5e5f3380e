"""`intact manifests`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from intact.cli.manifests_flags import FLAGS, given_settings
from intact.kube.yaml_text import yaml_text
from intact.model.labels import is_dns_label
from intact.operator.install.manifests import manifests
from intact.operator.install.settings import BadSetting, read_settings

_LONGEST_NAMESPACE = 63


def show(namespace: str, values: str | None, parameters: Mapping[str, Any]) -> None:
    """Flags override values of the file."""
    if not is_dns_label(namespace) or len(namespace) > _LONGEST_NAMESPACE:
        raise click.UsageError(f"--namespace: {namespace!r} is not the name of a namespace")
    of_file = _read_file(values) if values else {}
    of_flags = given_settings(parameters)
    try:
        settings = read_settings(_merged(of_file, of_flags))
    except BadSetting as error:
        if flag := _flag_of(error.path, of_flags):
            raise click.UsageError(f"{flag}: {error.problem}") from error
        raise click.UsageError(f"{values}: {error}" if values else str(error)) from error
    documents = [yaml_text(each) for each in manifests(settings, namespace=namespace)]
    click.echo("---\n".join(documents), nl=False)


def _read_file(name: str) -> dict[str, Any]:
    try:
        # As helm reads it: a number that is a key, and a date, are texts.
        found = msgspec.to_builtins(msgspec.yaml.decode(Path(name).read_bytes()), str_keys=True)
    except OSError as error:
        raise click.UsageError(f"--values: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError) as error:
        raise click.UsageError(f"--values {name}: {error}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise click.UsageError(f"--values {name}: it is not a map of values")
    # A parent chart passes it on to all charts; Intact's takes nothing from it.
    return {key: value for key, value in found.items() if key != "global"}


def _merged(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(below)
    for key, value in above.items():
        known = found.get(key)
        both = isinstance(known, dict) and isinstance(value, dict) and value
        found[key] = _merged(known, value) if both else value  # type: ignore[arg-type]
    return found


def _flag_of(path: str, given: Mapping[str, Any]) -> str:
    """The flag that has set the value; empty if none has."""
    for known, flag in FLAGS.items():
        if path == known or path.startswith(f"{known}."):
            found: Any = given
            for step in known.split("."):
                found = found.get(step, {})
            return flag if found != {} else ""
    return ""
