"""Findings about the budgets in files, without any cluster.

What files cannot tell is no error: the workload of a budget may be in others.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from intact.budget.pub.conditions import EXEMPT
from intact.cli.check.alternatives import about as about_of
from intact.cli.check.alternatives import alternatives, named
from intact.cli.check.located import Located
from intact.cli.check.manifests import Manifest, NotParsed
from intact.cli.check.would_be import WouldBe, uid_of, wanted
from intact.model.base import read_leniently
from intact.model.field_error import FieldError
from intact.model.meta import api_group
from intact.model.pdb import PdbMeta, PdbSpec, PodDisruptionBudget
from intact.model.pub import PodUnavailableBudget, salvage
from intact.model.scheduling import GangWorkload, LeaderWorkerSet, PodGroup
from intact.picture.coverage import PDB, PUB
from intact.picture.findings import rules
from intact.picture.findings.check import check, in_order
from intact.picture.findings.facts import Facts, Target, TargetState
from intact.picture.findings.finding import About, Finding, Severity, found
from intact.picture.findings.manifest_fields import unknown_fields
from intact.picture.objects import Objects, OwnerObject
from intact.picture.picture import draw

Json = dict[str, Any]
_GROUPS = {PDB: "policy", PUB: "policy.kruise.io"}
_VERSIONS = {PDB: ("policy/v1",), PUB: ("policy.kruise.io/v1alpha1", "policy.kruise.io/v1beta1")}
_DEFINITIONS: dict[str, Any] = {
    "PodGroup": PodGroup,
    "Workload": GangWorkload,
    "LeaderWorkerSet": LeaderWorkerSet,
}
_MISSING = (rules.NO_PODS, rules.NO_TARGET, rules.GROUP_UNDEFINED)
_AUTOSCALER = "HorizontalPodAutoscaler"


def check_files(
    manifests: Sequence[Manifest], problems: Sequence[NotParsed], namespace: str = ""
) -> list[Located]:
    """`namespace` is that of objects which name none."""
    located = [_not_parsed(problem) for problem in problems]
    checked = [_Files(each, namespace) for each in alternatives(manifests, namespace)]
    for one in checked:
        one.check()
    every = [set(one.located) for one in checked]
    for one in checked:
        for each in one.located:
            # What files do not have, other files may have.
            elsewhere = each.finding.severity is Severity.NOTE and each.finding.rule in _MISSING
            if each not in located and (not elsewhere or all(each in found for found in every)):
                located.append(each)
    order = {id(finding): at for at, finding in enumerate(in_order(e.finding for e in located))}
    return sorted(located, key=lambda each: order[id(each.finding)])


def _not_parsed(problem: NotParsed) -> Located:
    about = About("File", "", problem.place.file)
    action = "Correct the file; nothing of it after this line was checked."
    return Located(found(rules.NOT_PARSED, about, problem.problem, action), problem.place)


class _Files:
    """Those that may be applied together."""

    def __init__(self, manifests: Sequence[Manifest], namespace: str) -> None:
        self.located: list[Located] = []
        self._findings: list[Finding] = []
        self._places: dict[About, Manifest] = {}
        self.pdbs: dict[About, PodDisruptionBudget] = {}
        self.pubs: dict[About, PodUnavailableBudget] = {}
        self.unread: dict[About, list[FieldError]] = {}
        self.others: dict[About, Json] = {}
        for manifest in manifests:
            self._take(manifest, namespace)

    def _take(self, manifest: Manifest, namespace: str) -> None:
        value = named(manifest.value, namespace)
        about = about_of(value)
        is_budget = _is_budget(value)
        if about in self._places and is_budget:
            first = self._places[about].place()
            message = f"{first} defines the same {about.kind}; the later one counts"
            action = "Nothing, if one of them is not applied."
            self._add(rules.TWICE, about, message, action, "metadata")
        self._places[about] = manifest
        if not is_budget:
            self.others[about] = value
            return
        self._shape(about, value)
        if about.kind == PUB:
            self.pubs[about] = _pub(value)
        else:
            self.pdbs[about], self.unread[about] = _pdb(value)

    def _shape(self, about: About, value: Json) -> None:
        version = value.get("apiVersion")
        known = _VERSIONS[about.kind]
        if version not in known:
            message = (
                f"apiVersion is {version}: Intact and Kubernetes 1.30 or later have {known[0]}"
            )
            action = f"Write {known[0]}; the fields are the same."
            self._add(rules.OLD_VERSION, about, message, action, "apiVersion")
        for error in unknown_fields(value):
            action = "Correct the name of the field; kubectl refuses the object as it is."
            self._add(rules.UNKNOWN_FIELD, about, str(error), action, error.path)

    def _add(self, *given: Any) -> None:
        self._findings.append(found(*given))

    def check(self) -> None:
        would_be, scaled = WouldBe(), _scaled(self.others.values())
        for value in self.others.values():
            would_be.add(value, scaled)
        objects = Objects(
            pods=would_be.pods,
            pdbs=list(self.pdbs.values()),
            pubs=list(self.pubs.values()),
            owners=[_owner(value) for value in self.others.values()],
            pod_groups=self._definitions("PodGroup"),
            workloads=self._definitions("Workload"),
            leader_worker_sets=self._definitions("LeaderWorkerSet"),
        )
        facts = Facts(
            draw(objects),
            live=False,
            targets=self._targets(),
            exempt=EXEMPT,
            uncounted=would_be.uncounted,
            unread=self.unread,
        )
        self.located = [
            Located(one, self._places[one.about].place(one.field))
            for one in in_order([*self._findings, *check(facts)])
        ]

    def _definitions(self, kind: str) -> list[Any]:
        made = []
        for about, value in self.others.items():
            if about.kind == kind:
                try:
                    made.append(msgspec.convert(value, _DEFINITIONS[kind]))
                except msgspec.ValidationError:
                    continue
        return made

    def _targets(self) -> dict[Target, TargetState]:
        """What the files tell of the targets of PodUnavailableBudgets; nothing of those that may be
        elsewhere."""
        found: dict[Target, TargetState] = {}
        for about, pub in self.pubs.items():
            ref = pub.spec.target_ref
            if ref is None:
                continue
            target = Target(about.namespace, api_group(ref.api_version), ref.kind, ref.name)
            state = self._target(target)
            if state is not None:
                found[target] = state
        return found

    def _target(self, target: Target) -> TargetState | None:
        same = self.others.get(About(target.kind, target.namespace, target.name))
        if same is not None:
            group = api_group(str(same.get("apiVersion", "")))
            if group != target.group:
                return TargetState(f"the one in these files is of the API group {group or 'core'}")
            spec = same.get("spec")
            return TargetState(replicas=wanted(target.kind, spec if isinstance(spec, dict) else {}))
        here = [about for about in self.others if about.namespace == target.namespace]
        kinds = sorted(about.kind for about in here if about.name == target.name)
        if meant := get_close_matches(target.kind, kinds, 1):
            return TargetState(f"these files have a {meant[0]} of that name")
        names = [about.name for about in here if about.kind == target.kind]
        if meant := get_close_matches(target.name, names, 1, 0.8):
            return TargetState(f"these files have the {target.kind} {meant[0]}")
        return None


def _is_budget(value: Json) -> bool:
    group = _GROUPS.get(value["kind"])
    return group is not None and api_group(str(value.get("apiVersion", ""))) == group


def _pub(value: Json) -> PodUnavailableBudget:
    plain = {key: each for key, each in value.items() if key != "status"}
    return salvage(msgspec.json.encode(plain))


def _pdb(value: Json) -> tuple[PodDisruptionBudget, list[FieldError]]:
    meta, problems = read_leniently(PdbMeta, value["metadata"], "metadata")
    spec, more = read_leniently(PdbSpec, value.get("spec"), "spec")
    read = (problem.partition(": ") for problem in problems + more)
    errors = [FieldError(path, None, message) for path, _, message in read]
    return PodDisruptionBudget(metadata=meta, spec=spec), errors


def _owner(value: Json) -> OwnerObject:
    meta = value["metadata"]
    group = api_group(str(value.get("apiVersion", "")))
    return OwnerObject(group, value["kind"], meta["namespace"], meta["name"], uid_of(value))


def _scaled(values: Any) -> dict[tuple[str, str, str], int]:
    """The least replicas of workloads that are scaled by others, by namespace, kind and name."""
    found: dict[tuple[str, str, str], int] = {}
    for value in values:
        spec = value.get("spec")
        if value["kind"] != _AUTOSCALER or not isinstance(spec, dict):
            continue
        target, least = spec.get("scaleTargetRef"), spec.get("minReplicas", 1)
        if isinstance(target, dict) and isinstance(least, int):
            key = (value["metadata"]["namespace"], target.get("kind", ""), target.get("name", ""))
            found[key] = least
    return found
