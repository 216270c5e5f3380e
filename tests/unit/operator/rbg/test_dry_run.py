"""What the API server says of a role's workload, and what the RoleBasedGroup's user hears of it."""

import asyncio
from contextlib import AbstractAsyncContextManager

import msgspec
import pytest

from intact.kube.client import Client
from intact.kube.errors import Unreachable
from intact.kube.transport import Request, Response, Stream
from intact.model.rbg import RoleBasedGroup
from intact.model.status import Status, StatusCause, StatusDetails
from intact.operator.rbg.dry_run import WITHIN, DryRun, Findings
from tests.support.rbg_objects import Json, group, kind, role, template
from tests.unit.kube.simulated import now, simulated


def read(body: Json) -> RoleBasedGroup:
    return msgspec.convert(body, RoleBasedGroup)


def refused(code: int, message: str, *causes: tuple[str, str], reason: str = "") -> Status:
    details = StatusDetails(causes=[StatusCause(field=at, message=text) for at, text in causes])
    return Status(
        kind="Status",
        status="Failure",
        code=code,
        reason=reason,
        message=message,
        details=details,
    )


class Server:
    """Takes everything, but answers to StatefulSets as a test says."""

    def __init__(self, answer: Status | None = None, delay: float = 0.0) -> None:
        self.asked: list[Json] = []
        self._answer = answer
        self._delay = delay

    async def send(self, request: Request) -> Response:
        assert (request.method, request.query["dryRun"]) == ("PATCH", "All")
        if "/statefulsets/" not in request.path:
            return Response(200, request.body)
        self.asked.append(msgspec.json.decode(request.body))
        await asyncio.sleep(self._delay)
        if self._answer is None:
            return Response(200, request.body)
        return Response(self._answer.code, msgspec.json.encode(self._answer))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError(request.path)

    async def close(self) -> None:
        """Nothing to close."""

    async def ask(self, body: Json, old: Json | None = None) -> Findings:
        before = None if old is None else read(old)
        return await DryRun(Client(self)).ask("ns", read(body), before)


@simulated
async def test_a_role_is_asked_about_as_it_will_be_and_nothing_is_stored() -> None:
    server = Server()
    found = await server.ask(group("llm", role("prefill", 3), role("router", **kind("Deployment"))))
    assert found == Findings()
    [asked] = server.asked
    assert asked["spec"]["replicas"] == 3
    assert asked["metadata"]["name"].startswith("llm-prefill-")
    assert asked["metadata"]["namespace"] == "ns"
    assert "ownerReferences" not in asked["metadata"]


@pytest.mark.parametrize(
    ("new", "count"),
    [
        pytest.param(role("prefill", 5), 0, id="scaled"),
        pytest.param(role("prefill", dependencies=["decode"]), 0, id="another order"),
        pytest.param(role("prefill", image="engine:2"), 1, id="another template"),
        pytest.param(role("prefill", labels={"tier": "gold"}), 1, id="another label"),
    ],
)
@simulated
async def test_only_what_has_changed_is_asked_about(new: Json, count: int) -> None:
    server, decode = Server(), role("decode")
    await server.ask(group("llm", new, decode), group("llm", decode, role("prefill")))
    assert len(server.asked) == count


SCHEMA = (
    "failed to create typed patch object (ns/x; apps/v1, Kind=StatefulSet): errors:\n"
    '  .spec.template.spec.containers[name="engine"].ports: expected list, got &{x}\n'
    "  .spec.template.spec.contaners: field not declared in schema"
)
QUANTITY = (
    "failed to convert new object (ns/x; apps/v1, Kind=StatefulSet) to proper version: "
    "unable to convert unstructured object: quantities must match"
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(
            refused(422, "is invalid", ("spec.template.spec.restartPolicy", "Unsupported value")),
            [("spec.roles[0].template.spec.restartPolicy", "Unsupported value")],
            id="a field of the template",
        ),
        pytest.param(
            refused(422, "is invalid", ("spec.template.spec.containers[0].env[7].name", "bad")),
            [("spec.roles[0].template.spec.containers[0].env[1].name", "bad")],
            id="a variable, by the user's number",
        ),
        pytest.param(
            refused(422, "is invalid", ("metadata.labels", "bad"), ("spec.serviceName", "worse")),
            [
                ("spec.roles[0]", "StatefulSet spec.serviceName: worse"),
                ("spec.roles[0].labels", "bad"),
            ],
            id="fields outside of the template",
        ),
        pytest.param(
            refused(500, SCHEMA),
            [
                ("spec.roles[0].template.spec.contaners", "field not declared in schema"),
                ('spec.roles[0].template.spec.containers[name="engine"].ports', "expected list"),
            ],
            id="other fields and types than a pod has",
        ),
        pytest.param(
            refused(500, QUANTITY),
            [("spec.roles[0].template", "quantities must match")],
            id="a value that cannot be read",
        ),
        pytest.param(
            refused(422, "no such names here"),
            [("spec.roles[0].template", "no such names here")],
            id="no field",
        ),
    ],
)
@simulated
async def test_a_refusal_is_told_at_the_field_of_the_role(
    answer: Status, expected: list[tuple[str, str]]
) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    given = template() | {"spec": {"containers": [{"name": "engine", "env": env}]}}
    found = await Server(answer).ask(group("llm", role("prefill") | {"template": given}))
    assert found.warnings == []
    errors = {each.path: each.message for each in found.errors}
    assert errors.keys() == dict(expected).keys()
    for path, message in expected:
        assert message in errors[path]


@simulated
async def test_a_template_by_reference_and_a_patched_one_are_named_as_such() -> None:
    answer = refused(422, "is invalid", ("spec.template.spec.restartPolicy", "Unsupported value"))
    by_reference = {"name": "a", "templateRef": {"name": "base"}}
    sets = {"patchWorkerTemplate": {"spec": {"restartPolicy": "Never"}}}
    patched = role("b", leaderWorkerSet=sets, **kind("LeaderWorkerSet"))
    templates = [{"name": "base", "template": template()}]
    found = await Server(answer).ask(group("llm", by_reference, patched, roleTemplates=templates))
    at = "template.spec.restartPolicy"
    assert [str(each) for each in found.errors] == [
        f"spec.roles[0].templateRef: its {at}: Unsupported value",
        f"spec.roles[1].{at}: Unsupported value (of leaders)",
        f"spec.roles[1].{at}: Unsupported value (of workers)",
    ]


@pytest.mark.parametrize(
    "answer",
    [
        refused(403, 'statefulsets.apps is forbidden: User "intact" cannot patch', reason="x"),
        refused(404, "404 page not found"),
        refused(400, "admission webhook does not support dry run", reason="BadRequest"),
        refused(500, 'failed calling webhook "a.b.c"', reason="InternalError"),
        refused(503, "the server is currently unable to handle the request"),
    ],
    ids=lambda answer: str(answer.code),
)
@simulated
async def test_an_answer_about_anything_else_is_a_warning(answer: Status) -> None:
    found = await Server(answer).ask(group("llm", role("prefill")))
    assert found.errors == []
    [warning] = found.warnings
    assert warning.startswith("spec.roles[0]: the API server could not say whether it takes the ")
    assert answer.message in warning


@simulated
async def test_no_answer_in_time_is_a_warning_for_each_role() -> None:
    roles = [role(f"role-{number}") for number in range(9)]
    began = now()
    found = await Server(delay=60).ask(group("llm", *roles))
    assert now() - began == pytest.approx(WITHIN)
    assert found.errors == []
    assert len(found.warnings) == len(roles)
    assert "no answer within 4 s" in found.warnings[0]


@simulated
async def test_a_server_out_of_reach_is_a_warning() -> None:
    class Away(Server):
        async def send(self, request: Request) -> Response:
            raise Unreachable(f"lost the connection to {request.path}")

    found = await Away().ask(group("llm", role("prefill")))
    assert (found.errors, len(found.warnings)) == ([], 1)
