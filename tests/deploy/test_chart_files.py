"""The parts of the chart that are made from the code are fresh."""

from pathlib import Path

import pytest

from deploy.chart_files import CHART, PAGE, files, table
from intact import __version__
from intact.operator.install.settings import leaves


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_a_file_is_what_make_chart_would_write(path: Path) -> None:
    assert path.read_text() == files()[path], "run `make chart`"


def test_no_definition_is_left_over() -> None:
    made = {path.name for path in files() if path.parent.name == "crds"}
    assert made == {path.name for path in (CHART / "files/crds").iterdir()}
    assert len(made) == 3


def test_the_versions_are_those_of_the_package() -> None:
    text = (CHART / "Chart.yaml").read_text()
    assert f"\nversion: {__version__}\n" in text
    assert f"\nappVersion: {__version__}\n" in text


@pytest.mark.parametrize("page", [CHART / "README.md", PAGE], ids=lambda page: page.name)
def test_the_tables_have_all_values(page: Path) -> None:
    assert table() in page.read_text()


def test_every_value_has_a_comment() -> None:
    lines = (CHART / "values.yaml").read_text().splitlines()
    for path, _ in leaves():
        name = path.rpartition(".")[2]
        places = [i for i, line in enumerate(lines) if line.strip().startswith(f"{name}: ")]
        assert places
        assert all(lines[i - 1].strip().startswith("#") for i in places), path
