"""The chart as a package for helm."""

import tarfile
from pathlib import Path

import pytest

from release.chart import write_chart
from release.errors import ReleaseError

EPOCH = 1_700_000_000


def chart(tree: Path, version: str = "1.2.3", app_version: str = "1.2.3") -> Path:
    made = tree / "deploy/chart"
    (made / "templates").mkdir(parents=True)
    text = f'apiVersion: v2\nname: intact\nversion: {version}\nappVersion: "{app_version}"\n'
    (made / "Chart.yaml").write_text(text)
    (made / "templates/all.yaml").write_text("{}\n")
    return tree


def test_a_chart_is_packed_as_helm_expects_it(tmp_path: Path) -> None:
    [found] = write_chart(tmp_path, chart(tmp_path / "tree"), "1.2.3", EPOCH)
    assert found.name == "intact-1.2.3.tgz"
    with tarfile.open(found) as archive:
        assert archive.getnames() == ["intact/Chart.yaml", "intact/templates/all.yaml"]


def test_a_tree_without_a_chart_has_no_package(tmp_path: Path) -> None:
    assert write_chart(tmp_path, tmp_path / "tree", "1.2.3", EPOCH) == []


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        (("1.2.2", "1.2.3"), "Chart.yaml: version is '1.2.2' and must be '1.2.3'"),
        (("1.2.3", "1.2.2"), "Chart.yaml: appVersion is '1.2.2' and must be '1.2.3'"),
    ],
)
def test_a_chart_of_another_version_is_refused(
    tmp_path: Path, versions: tuple[str, str], message: str
) -> None:
    with pytest.raises(ReleaseError, match=message):
        write_chart(tmp_path, chart(tmp_path / "tree", *versions), "1.2.3", EPOCH)
