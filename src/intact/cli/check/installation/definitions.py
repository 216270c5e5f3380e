"""Whether the CRDs are there, Intact's own, and as this release has them."""

from typing import Any

from intact.cli.check.installation.found import Found
from intact.cli.check.installation.line import Line, fail, not_asked, ok, skip, warn
from intact.kube.client import Client
from intact.kube.errors import KubeError, NotFound
from intact.model.listing import listed
from intact.operator.install.crds import definitions
from intact.operator.install.foreign import CONTROLLER_OF, is_ours, refusal
from intact.operator.install.install import CRDS

Json = dict[str, Any]
NAME = "definitions"
PUB_DEFINITION = "podunavailablebudgets.policy.kruise.io"


async def custom_resources(client: Client, found: Found) -> list[Line]:
    """One line if all is well, else one for each definition that is not."""
    wanted = [
        each
        for each in definitions()
        if CONTROLLER_OF[each["metadata"]["name"]] in found.controllers
    ]
    if not wanted:
        return [skip(NAME, "the controllers that run have none")]
    lines: list[Line] = []
    told: list[str] = []
    for definition in wanted:
        name = definition["metadata"]["name"]
        try:
            there = await client.get(CRDS, name)
        except NotFound:
            lines.append(fail(NAME, f"the CRD {name} does not exist: `intact manifests` has it"))
        except KubeError as error:
            return [not_asked(NAME, error)]
        else:
            line = judge(there, definition)
            if line is not None:
                lines.append(line)
            told.append(f"{definition['spec']['names']['plural']} {_versions(definition)}")
    return lines or [ok(NAME, listed(told))]


def judge(there: Json, definition: Json) -> Line | None:
    """None if it is as it should be."""
    name = there["metadata"]["name"]
    if why := refusal(there, definition):
        return fail(NAME, why)
    conditions = (there.get("status") or {}).get("conditions") or []
    if not any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
        return fail(NAME, f"the CRD {name} is not established: kubectl describe crd {name}")
    if missing := sorted(_served(definition) - _served(there)):
        return fail(NAME, f"the CRD {name} does not serve {listed(missing)}, which Intact has")
    if not is_within(definition["spec"], there["spec"]):
        return warn(
            NAME,
            f"the CRD {name} is of another release: apply that of `intact manifests`, or run "
            "`intact run --install`",
        )
    return None


async def others_own_pubs(client: Client) -> bool:
    """Whether another product has installed the kind PodUnavailableBudget."""
    try:
        return not is_ours(await client.get(CRDS, PUB_DEFINITION))
    except KubeError:
        return False


def is_within(wanted: Any, there: Any) -> bool:
    """Whether an object has all that is wanted; a server adds defaults."""
    if isinstance(wanted, dict):
        return isinstance(there, dict) and all(
            key in there and is_within(value, there[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(there, list)
            and len(wanted) == len(there)
            and all(is_within(one, other) for one, other in zip(wanted, there, strict=True))
        )
    return bool(wanted == there)


def _served(definition: Json) -> set[str]:
    return {one["name"] for one in definition["spec"]["versions"] if one.get("served")}


def _versions(definition: Json) -> str:
    return ", ".join(one["name"] for one in definition["spec"]["versions"])
