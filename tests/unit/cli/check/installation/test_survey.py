"""All questions, in their order."""

import re

import pytest

from intact.cli.check.installation.line import Line, State
from intact.cli.check.installation.survey import Survey, survey
from intact.kube.client import Client
from intact.kube.errors import ServerError
from tests.support.examples import ROOT
from tests.unit.cli.check.installation.cluster import client_of, installed, refused
from tests.unit.operator.install.cluster import new_api

SECTION = (ROOT / "docs/reference/cli.md").read_text().partition("\n## intact check\n")[2]
TABLE = SECTION.partition("| line | asks |")[2].partition("\n\n")[0]
DOCUMENTED = re.findall(r"^\| `([a-z ]+)` \|", TABLE, re.MULTILINE)
"""The lines, in the order of the page."""


async def test_without_intact_there_is_one_line_about_it() -> None:
    found = await survey(Client(new_api()), "default")
    assert [(line.state, line.name) for line in found.lines] == [
        (State.OK, "server version"),
        (State.SKIP, "Intact"),
    ]
    assert (found.installed, found.healthy) == (False, False)


async def test_the_order_of_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    async def leads(*_: object) -> Line:
        return Line(State.OK, "leader", "")

    monkeypatch.setattr("intact.cli.check.installation.survey.leader", leads)
    _api, client = await installed()
    found = await survey(client, "default")
    assert list(dict.fromkeys(line.name for line in found.lines)) == DOCUMENTED


async def test_a_server_that_does_not_answer_is_an_error() -> None:
    client = client_of(new_api(), lambda _request: refused(501, "not now"))
    with pytest.raises(ServerError):
        await survey(client, "default")


@pytest.mark.parametrize(
    ("states", "healthy"),
    [([State.OK, State.WARN, State.SKIP], True), ([State.OK, State.FAIL], False)],
)
def test_what_is_healthy(states: list[State], healthy: bool) -> None:
    lines = tuple(Line(state, "one", "") for state in states)
    assert Survey(lines, installed=True).healthy is healthy
    assert not Survey(lines, installed=False).healthy
