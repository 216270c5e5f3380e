"""The base of all views."""

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """A partial view of a Kubernetes object.

    `gc=False`: views hold only plain data and can form no cycle, so the garbage collector need
    not walk hundreds of thousands of them.
    """
