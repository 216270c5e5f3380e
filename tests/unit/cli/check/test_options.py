"""The options of `intact check`."""

import pytest
from click.testing import CliRunner

from intact.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-A", "-n", "apps"), "give -n or -A, not both"),
        (("-f", "x.yaml", "-A"), "-A and --wait are for a cluster"),
        (("-f", "x.yaml", "--wait", "1m"), "-A and --wait are for a cluster"),
        (("--wait", "soon"), "is not a duration"),
        (("-o", "yaml"), "is not one of 'json', 'sarif'"),
    ],
)
def test_usage_errors(arguments: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(main, ["check", *arguments])
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize("form", [("-o=json",), ("-o", "json"), ("--output=json",), ("-ojson",)])
def test_the_format_as_kubectl_takes_it(form: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["check", "-f", "-", *form], input="")
    assert result.exit_code == 0
    assert result.output.startswith("{")
