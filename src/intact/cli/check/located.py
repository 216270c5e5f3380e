"""A finding with the place in a file that it is about."""

from dataclasses import dataclass

from intact.cli.check.manifests import Place
from intact.picture.findings.finding import Finding


@dataclass(frozen=True, slots=True)
class Located:
    finding: Finding
    place: Place | None = None
    """None for an object of a cluster."""
