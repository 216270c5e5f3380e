"""Findings about the budgets of a cluster."""

from collections.abc import Collection

from intact.budget.pub.conditions import EXEMPT
from intact.cli.check.installation.definitions import others_own_pubs
from intact.cli.check.located import Located
from intact.cli.reading import read_objects
from intact.kube.client import Client
from intact.kube.discovery import served_resources
from intact.kube.errors import KubeError, NotFound
from intact.kube.resources import Resource
from intact.model.meta import api_group
from intact.model.pub import PodUnavailableBudget
from intact.model.workload import Workload
from intact.picture.findings.check import check
from intact.picture.findings.facts import Facts, Target, TargetState
from intact.picture.picture import Picture, draw


async def check_cluster(
    client: Client, namespace: str = "", exempt: Collection[str] = EXEMPT
) -> tuple[list[Located], dict[str, str], int]:
    """The findings of one namespace, or of all; what could not be read, and why; and how many
    budgets there are. Intact never holds pods of `exempt` namespaces. Raises `KubeError` if pods
    cannot be read."""
    objects = await read_objects(client, namespace)
    picture = draw(objects)
    others = bool(objects.pubs) and objects.intact is False and await others_own_pubs(client)
    facts = Facts(
        picture,
        live=True,
        targets=await _targets(client, picture),
        exempt=exempt,
        others_own_pubs=others,
    )
    located = [Located(finding) for finding in check(facts)]
    return located, dict(objects.unreadable), len(picture.budgets)


async def _targets(client: Client, picture: Picture) -> dict[Target, TargetState]:
    """What the targets of PodUnavailableBudgets without pods are."""
    found: dict[Target, TargetState] = {}
    for one in picture.budgets:
        pub = one.budget
        if isinstance(pub, PodUnavailableBudget) and pub.spec.target_ref and not one.units:
            ref = pub.spec.target_ref
            target = Target(one.namespace, api_group(ref.api_version), ref.kind, ref.name)
            found[target] = await _look_for(client, target, ref.api_version)
    return found


async def _look_for(client: Client, target: Target, api_version: str) -> TargetState:
    try:
        served = await served_resources(client, api_version)
        for plural, one in served.items():
            if one.kind == target.kind and "/" not in plural:
                version = api_version.rpartition("/")[2]
                resource = Resource(Workload, target.group, version, plural, target.kind)
                workload = await client.get(resource, target.name, target.namespace)
                return TargetState(replicas=workload.spec.replicas)
    except NotFound:
        return TargetState("there is none of that name")
    except KubeError as error:
        return TargetState(f"it cannot be read: {error}")
    return TargetState(f"the API server serves no {target.kind} in {api_version}")
