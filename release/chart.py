"""The chart as a package for helm: `helm package` puts the present time into it, this does not."""

from pathlib import Path

import msgspec

from release.archives import Member, write_tar
from release.errors import ReleaseError

CHART = "deploy/chart"


def write_chart(directory: Path, tree: Path, version: str, epoch: int) -> list[Path]:
    """Nothing, if the tree has no chart."""
    chart = tree / CHART
    if not chart.exists():
        return []
    said = msgspec.yaml.decode((chart / "Chart.yaml").read_bytes())
    for field in ("version", "appVersion"):
        if said.get(field) != version:
            raise ReleaseError(
                f"{CHART}/Chart.yaml: {field} is {said.get(field)!r} and must be {version!r}"
            )
    name = said["name"]
    members = {
        f"{name}/{path.relative_to(chart)}": Member(path.read_bytes())
        for path in chart.rglob("*")
        if path.is_file()
    }
    return [write_tar(directory / f"{name}-{version}.tgz", members, epoch)]
