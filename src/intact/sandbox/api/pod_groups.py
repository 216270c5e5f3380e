"""Workloads and PodGroups, as Kubernetes 1.36 serves them (scheduling.k8s.io/v1alpha2) where its
feature gate GenericWorkload is on."""

from functools import partial

from intact.sandbox.api.failures import FieldError, forbidden, invalid_value, required_value
from intact.sandbox.api.kinds import Find, Kind
from intact.sandbox.api.objects import Json, metadata

PROTECTION = "scheduling.k8s.io/podgroup-protection"
"""The finalizer that keeps a PodGroup while pods name it."""
_POLICIES = ("basic", "gang")


def _default_group(group: Json) -> None:
    group.setdefault("spec", {}).setdefault("disruptionMode", "Pod")
    meta = metadata(group)
    if "deletionTimestamp" not in meta and "uid" not in meta:
        meta["finalizers"] = [*dict.fromkeys([*(meta.get("finalizers") or ()), PROTECTION])]


def policy_errors(policy: Json, field: str) -> list[FieldError]:
    given = [name for name in _POLICIES if policy.get(name) is not None]
    one_of = "`basic`, `gang`"
    if not given:
        return [invalid_value(field, '""', f"must specify one of: {one_of}")]
    if len(given) > 1:
        shown = f'"{{{", ".join(given)}}}"'
        return [invalid_value(field, shown, f"must specify exactly one of: {one_of}")]
    if given == ["gang"] and not policy["gang"].get("minCount"):
        return [required_value(f"{field}.gang.minCount", "")]
    return []


def _group_errors(group: Json) -> list[FieldError]:
    return policy_errors(group["spec"].get("schedulingPolicy") or {}, "spec.schedulingPolicy")


def _workload_errors(workload: Json) -> list[FieldError]:
    field = "spec.podGroupTemplates"
    templates = (workload.get("spec") or {}).get("podGroupTemplates") or ()
    if not templates:
        return [required_value(field, "")]
    return [
        error
        for index, template in enumerate(templates)
        for error in policy_errors(
            template.get("schedulingPolicy") or {}, f"{field}[{index}].schedulingPolicy"
        )
    ]


def _check_template(find: Find, group: Json) -> None:
    """A PodGroup names a template that is there, or none."""
    meta = group["metadata"]
    reference = (group["spec"].get("podGroupTemplateRef") or {}).get("workload")
    if not reference:
        return
    name, template = reference["workloadName"], reference["podGroupTemplateName"]
    workload = find(WORKLOADS.full_name, meta["namespace"], name)
    why = ""
    if workload is None:
        why = f'Workload "{name}" not found'
    elif all(each["name"] != template for each in workload["spec"].get("podGroupTemplates", ())):
        why = f'PodGroupTemplate "{template}" not found in Workload "{name}"'
    if why:
        group_name = meta.get("name", "")
        raise forbidden(
            POD_GROUPS.group, POD_GROUPS.plural, group_name, f"PodGroup rejected: {why}"
        )


_kind = partial(
    Kind,
    "scheduling.k8s.io",
    "v1alpha2",
    custom=False,
    generation=False,
    strategic=True,
    status_writes_metadata=True,
)
WORKLOADS = _kind("workloads", "Workload", errors=_workload_errors)
POD_GROUPS = _kind(
    "podgroups",
    "PodGroup",
    status=True,
    default=_default_group,
    errors=_group_errors,
    admit_new=_check_template,
)
