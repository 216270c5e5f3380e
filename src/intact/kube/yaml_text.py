"""YAML that every reader of manifests takes as it was meant.

PyYAML reads YAML 1.1; kubectl and helm have readers of Go, which take more words for numbers and
booleans: `1e3`, `08`, `0o17`, `y`. PyYAML writes such texts plainly, and kubectl then refuses a
label that is not a text.
"""

import re
from typing import Any

import yaml

_NOT_A_TEXT_TO_OTHERS = re.compile(r"[yYnN]|[-+.]?[0-9][0-9a-fA-FoOxX_.:+-]*")
"""More than need it: a text in quotes is a text to all."""


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "'" if _NOT_A_TEXT_TO_OTHERS.fullmatch(text) else None
    node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
    return node


_Dumper.add_representer(str, _text)


def yaml_text(value: Any, *, width: int = 80) -> str:
    """One document, its maps in their order."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=width)
    return text
