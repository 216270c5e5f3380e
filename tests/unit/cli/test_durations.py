"""Durations as people write them."""

import click
import pytest
from click.testing import CliRunner

from intact.cli.durations import Duration, WorkloadDuration, age, duration, seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90", 90), ("90s", 90), ("2m", 120), ("1h30m", 5400), ("1.5s", 1.5), ("1h2m3s", 3723)],
)
def test_durations(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "-5s", "5d", "m", "٣s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        seconds(text)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (7.4, "7s"), (60, "1m"), (90, "1m30s"), (3600, "1h"), (7500, "2h5m")],
)
def test_a_duration_for_people(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize("text", ["9000h", "9" * 400])
def test_what_is_too_long(text: str) -> None:
    with pytest.raises(ValueError, match="is longer than a year"):
        seconds(text)


@click.command()
@click.option("--after", type=Duration(), default="2m")
@click.option("--of", type=WorkloadDuration(), multiple=True)
def shown(after: float, of: tuple[tuple[str, float], ...]) -> None:
    click.echo(f"{after} {of}")


def test_as_options() -> None:
    result = CliRunner().invoke(shown, ["--of", "shop/web=90s", "--of", "5s"])
    assert result.output == "120.0 (('shop/web', 90.0), ('', 5.0))\n"


def test_a_bad_value_is_a_mistake_in_usage() -> None:
    assert CliRunner().invoke(shown, ["--after", "soon"]).exit_code == 2
    assert CliRunner().invoke(shown, ["--of", "web=soon"]).exit_code == 2


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (-5, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (601, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600 + 20 * 60, "3h20m"),
        (9 * 3600 + 1200, "9h"),
        (49 * 3600, "2d1h"),
        (30 * 86400, "30d"),
        (800 * 86400, "2y70d"),
        (3000 * 86400, "8y"),
    ],
)
def test_ages_are_written_as_kubectl_does(number: float, expected: str) -> None:
    assert age(number) == expected
