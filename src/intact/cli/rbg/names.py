"""The name of a RoleBasedGroup on the command line: NAME, or rbg/NAME as kubectl prints it."""

from typing import Any

import click

from intact.model.labels import is_dns_label

KIND = "rolebasedgroup"
API_GROUP = "workloads.x-k8s.io"
FULL_KIND = f"{KIND}.{API_GROUP}"
_KINDS = frozenset(
    f"{kind}{of}"
    for kind in (KIND, f"{KIND}s")
    for of in ("", f".{API_GROUP}", f".v1alpha1.{API_GROUP}")
) | {"rbg"}


def group_name(text: str) -> str:
    """Raises ValueError with a message for the user."""
    kind, slash, name = text.rpartition("/")
    if slash and kind.lower() not in _KINDS:
        raise ValueError(f"{text!r} is of the kind {kind!r}; write NAME or rbg/NAME")
    if not name:
        raise ValueError(f"{text!r} is empty: it must be the name of a RoleBasedGroup")
    if not is_dns_label(name):
        raise ValueError(
            f"{name!r} is not the name of a RoleBasedGroup: lower-case letters, digits and -"
        )
    return name


class GroupName(click.ParamType[str]):
    name = "name"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        try:
            return group_name(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
