"""Dry runs that only Intact answers."""

import pytest

from intact.cli.check.installation.found import Found, look
from intact.cli.check.installation.line import State
from intact.cli.check.installation.reached import reached
from intact.kube.client import Client
from intact.kube.resources import NAMESPACES, PDBS
from intact.kube.transport import Request, Response
from intact.operator.webhook import probe
from tests.unit.cli.check.installation.cluster import answer, client_of, installed, refused
from tests.unit.operator.install.cluster import new_api

INVALID = refused(
    422, 'admission webhook "budgets.intact.dev": intact-probe is not one of', "Invalid"
)
GATE = refused(429, probe.MESSAGE, "TooManyRequests", probe.CAUSE)
DOWN = refused(
    500, 'failed calling webhook "pods.example.test": connection refused', "InternalError"
)


class Server:
    """Answers dry runs, by what they are about."""

    def __init__(
        self, budget: Response = INVALID, eviction: Response = GATE, status: Response = GATE
    ) -> None:
        self._answers = {"budgets": budget, "eviction": eviction, "status": status}

    def __call__(self, request: Request) -> Response | None:
        if request.method == "GET":
            return None
        assert request.query["dryRun"] == "All", request.path
        return next(given for name, given in self._answers.items() if request.path.endswith(name))


async def line_of(server: Server) -> tuple[State, str, str]:
    api, client = await installed()
    labels = {"intact.dev/gated": "true"}
    await client.create(NAMESPACES, {"metadata": {"name": "llm", "labels": labels}})
    labels = {"intact.dev/budget-scope": "Workload"}
    await client.create(PDBS, {"metadata": {"name": "web", "labels": labels}}, "llm")
    asked = client_of(api, server)
    line, said = await reached(asked, await look(asked), "default")
    return line.state, line.message, said


async def test_intact_answers_all() -> None:
    state, message, said = await line_of(Server())
    assert (state, said) == (State.OK, "")
    assert message == (
        "Intact answers dry runs of a new budget and an eviction in llm and a status of pdb/web "
        "in llm"
    )


@pytest.mark.parametrize(
    ("server", "about"),
    [
        (Server(budget=answer(201, {"metadata": {"name": "p"}})), "a new budget"),
        (Server(eviction=refused(404, "no such pod", "NotFound")), "an eviction in llm"),
        (Server(status=answer(200, {"metadata": {"name": "web"}})), "a status of pdb/web in llm"),
        (Server(budget=DOWN), "a new budget"),
    ],
)
async def test_a_dry_run_that_intact_does_not_answer(server: Server, about: str) -> None:
    state, message, _said = await line_of(server)
    assert state is State.FAIL
    assert message.startswith(f"a dry run of {about}: ")


async def test_a_webhook_that_cannot_be_called_is_told() -> None:
    assert 'webhook "pods.example.test"' in (await line_of(Server(eviction=DOWN)))[2]


async def test_who_may_not_ask_skips_it() -> None:
    no = refused(403, "you may not", "Forbidden")
    state, message, _said = await line_of(Server(no, no, no))
    assert (state, message) == (State.SKIP, "you may not")


async def test_without_webhooks_nothing_is_asked() -> None:
    line, _said = await reached(Client(new_api()), Found(), "default")
    assert line.state is State.SKIP
