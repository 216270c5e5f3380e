"""The locked requirements: `requirements/run.txt` as data."""

import re
from dataclasses import dataclass, replace

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from release.errors import ReleaseError

_PINNED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>.+))?$")
_HASH = re.compile(r"^--hash=sha256:([0-9a-f]{64})$")
_VIA = re.compile(r"^#(?: via)?\s*(?:(?P<name>[\w.-]+)(?: \(pyproject\.toml\))?)?$")


@dataclass(frozen=True)
class Requirement:
    name: str
    version: str
    marker: Marker | None = None
    hashes: tuple[str, ...] = ()
    """SHA-256 of every file that may be installed."""
    via: tuple[str, ...] = ()
    """The packages that need it."""

    @property
    def purl(self) -> str:
        return purl(self.name, self.version)

    def holds_for(self, environment: dict[str, str]) -> bool:
        return self.marker is None or self.marker.evaluate(environment)


def purl(name: str, version: str) -> str:
    return f"pkg:pypi/{canonicalize_name(name)}@{version}"


def parse(text: str) -> list[Requirement]:
    """What uv writes: a pin, its hashes, and comments that say which packages need it."""
    found: list[Requirement] = []
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.strip().removesuffix("\\").rstrip()
        if pin := _PINNED.match(line):
            marker = Marker(pin["marker"]) if pin["marker"] else None
            found.append(Requirement(pin["name"], pin["version"], marker))
        elif found and (one := _HASH.match(line)):
            found[-1] = replace(found[-1], hashes=(*found[-1].hashes, one[1]))
        elif found and (comment := _VIA.match(line)):
            if comment["name"]:
                found[-1] = replace(found[-1], via=(*found[-1].via, comment["name"]))
        elif line:
            raise ReleaseError(f"requirements/run.txt, line {number} is not a pin: {whole!r}")
    if without := [each.name for each in found if not each.hashes]:
        raise ReleaseError(f"requirements/run.txt has no hash for {', '.join(without)}")
    return found
