"""Whether the API server reaches the webhooks: dry runs that only Intact answers. They change
nothing."""

from dataclasses import dataclass
from typing import Any

from intact.budget.enforcement import ENFORCEMENT
from intact.budget.pdb.scope import SCOPE_LABEL, counts_pods
from intact.cli.check.installation.found import Found
from intact.cli.check.installation.line import Line, fail, ok, skip
from intact.kube.client import Client
from intact.kube.errors import Conflict, Forbidden, Invalid, KubeError, NotFound, TooManyRequests
from intact.kube.resources import NAMESPACES, PDBS, PODS, PUBS
from intact.model.pod_state import is_terminating
from intact.operator.webhook import probe
from intact.operator.webhook.configuration import GATED_LABEL

NAME = "gate"


@dataclass(frozen=True, slots=True)
class Answer:
    """To one dry run."""

    asked: str
    problem: str = ""
    """Why it was not Intact that answered; empty if it was."""
    allowed: bool = True
    """Whether the user may ask."""


async def reached(client: Client, found: Found, namespace: str) -> tuple[Line, str]:
    """The line, and what the server said of a webhook that it could not call. A budget is asked
    about in `namespace`."""
    if not found.webhooks:
        return skip(NAME, "no webhook is registered"), ""
    answers = [await _budget(client, namespace)] if "pub" in found.controllers else []
    try:
        answers += await _gate(client) if "pub" in found.controllers else []
        answers += await _status(client) if "pdb" in found.controllers else []
    except KubeError as error:
        answers.append(Answer("the gates", str(error), allowed=not isinstance(error, Forbidden)))
    problems = [each for each in answers if each.problem and each.allowed]
    if problems:
        told = problems[0]
        return fail(NAME, f"a dry run of {told.asked}: {told.problem}"), told.problem
    good = [each.asked for each in answers if not each.problem]
    if good:
        return ok(NAME, f"Intact answers dry runs of {' and '.join(good)}"), ""
    if answers:
        return skip(NAME, answers[0].problem), ""
    return skip(NAME, "there is no budget in groups to ask about"), ""


async def _budget(client: Client, namespace: str) -> Answer:
    """A budget that only Intact refuses, by an annotation."""
    asked = "a new budget"
    body = {
        "apiVersion": PUBS.api_version,
        "kind": PUBS.kind,
        "metadata": {"name": probe.NAME, "annotations": {ENFORCEMENT: probe.NAME}},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {probe.NAME: probe.NAME}}},
    }
    last = Answer(asked, "")
    for place in dict.fromkeys((namespace, "default")):
        try:
            await client.create(PUBS, body, place, dry_run=True)
        except Invalid as error:
            return Answer(asked, "" if probe.NAME in str(error) else str(error))
        except NotFound as error:
            last = Answer(asked, str(error))
        except KubeError as error:
            return Answer(asked, str(error), allowed=not isinstance(error, Forbidden))
        else:
            return Answer(asked, "the API server does not ask Intact")
    return last


async def _gate(client: Client) -> list[Answer]:
    """An eviction of a pod that does not exist, in a namespace that is gated."""
    try:
        page = await client.list(NAMESPACES, labels=f"{GATED_LABEL}=true")
    except Forbidden:
        return []
    gated = [each for each in page.items if not is_terminating(each)]
    if not gated:
        return []
    name = gated[0].metadata.name
    asked = f"an eviction in {name}"
    try:
        await client.evict(PODS, probe.NAME, name, uid=probe.UID, dry_run=True)
    except TooManyRequests as answer:
        return [Answer(asked, "" if answer.has_cause(probe.CAUSE) else str(answer))]
    except (NotFound, Conflict):
        pass
    except KubeError as error:
        return [Answer(asked, str(error), allowed=not isinstance(error, Forbidden))]
    return [Answer(asked, "the API server does not ask the gate")]


async def _status(client: Client) -> list[Answer]:
    """A status of a PodDisruptionBudget that counts groups."""
    try:
        page = await client.list(PDBS, labels=SCOPE_LABEL)
    except Forbidden:
        return []
    in_groups = [each for each in page.items if not counts_pods(each) and not each.server_decides]
    if not in_groups:
        return []
    meta = in_groups[0].metadata
    asked = f"a status of pdb/{meta.name} in {meta.namespace}"
    empty: dict[str, Any] = {"status": {}}
    try:
        await client.patch(
            PDBS,
            empty,
            meta.name,
            meta.namespace,
            subresource="status",
            dry_run=True,
            field_manager=probe.NAME,
        )
    except TooManyRequests as answer:
        return [Answer(asked, "" if answer.has_cause(probe.CAUSE) else str(answer))]
    except KubeError as error:
        return [Answer(asked, str(error), allowed=not isinstance(error, Forbidden))]
    return [Answer(asked, "the API server does not ask the gate")]
