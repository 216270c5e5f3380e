"""The files that tell kwok how pods and nodes live, as the servers of a version need them.

Since Kubernetes 1.34 a pod's status tells which generation its kubelet has observed, and kwok sees
by it that an image has changed. Before that it compares the images.
"""

from __future__ import annotations

import re
from pathlib import Path

from devcluster.pins import as_numbers

STAGES = Path(__file__).parent / "stages"
_OBSERVED = ".metadata.generation == .status.observedGeneration"
_SAME_IMAGES = "[.spec.containers[].image] == [.status.containerStatuses[]?.image]"


def stage_files(version: str, directory: Path) -> list[Path]:
    """The files; those that have to be adapted are written into `directory`."""
    found = sorted(STAGES.glob("*.yaml"))
    if as_numbers(version) >= (1, 34):
        return found
    directory.mkdir(exist_ok=True)
    written = []
    for file in found:
        (directory / file.name).write_text(_without_generations(file.read_text()))
        written.append(directory / file.name)
    return written


def _without_generations(text: str) -> str:
    text = text.replace(f"{_OBSERVED} or {_SAME_IMAGES}", _SAME_IMAGES)
    text = text.replace(_OBSERVED, _SAME_IMAGES)
    text = re.sub(r"^ *observedGeneration: .*\n", "", text, flags=re.MULTILINE)
    # A stage that had nothing else to say must not take away the status.
    return re.sub(r"^( *status:)(\n---|\Z)", r"\1 {}\2", text, flags=re.MULTILINE)
