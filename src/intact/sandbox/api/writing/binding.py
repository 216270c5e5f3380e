"""The binding subresource of pods, with which a scheduler gives a pod its node."""

from intact.sandbox.api.admission import Operation
from intact.sandbox.api.failures import (
    Failure,
    bad_request,
    conflict,
    invalid,
    not_found,
    required_value,
    storage_conflict,
)
from intact.sandbox.api.namespaces import check_lifecycle
from intact.sandbox.api.objects import Json, metadata
from intact.sandbox.api.routing import Call
from intact.sandbox.api.state import State
from intact.sandbox.api.store import Stored

BINDING = ("", "v1", "Binding")


async def bind(state: State, call: Call, binding: Json) -> Json:
    options = call.options("CreateOptions")
    await state.pause()
    check_lifecycle(state, call, "CREATE", binding)
    mutated = await state.admission.mutate(
        Operation(call, "CREATE", binding, None, options, call.dry_run, BINDING)
    )
    assert mutated is not None
    if metadata(mutated).setdefault("name", call.route.name) != call.route.name:
        raise bad_request("name in URL does not match name in Binding object")
    if not (mutated.get("target") or {}).get("name"):
        raise invalid("", "Binding", call.route.name, [required_value("target.name", "")])
    await state.admission.validate(
        Operation(call, "CREATE", mutated, None, options, call.dry_run, BINDING)
    )
    await state.pause()
    _assign(state, call, mutated)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _assign(state: State, call: Call, binding: Json) -> None:
    """Reads and stores in one step: a binding never conflicts with another write."""
    where = call.route
    current = state.store.get(where.kind, where.key)
    if current is None:
        raise not_found(where.kind, where.name)
    meta = metadata(binding)
    _check(call, current, meta.get("uid") or "")
    pod = current.copy()
    pod["spec"]["nodeName"] = binding["target"]["name"]
    for name in ("annotations", "labels"):
        if meta.get(name):
            pod["metadata"][name] = {**(pod["metadata"].get(name) or {}), **meta[name]}
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    _set_scheduled(status, state.now())
    if not call.dry_run:
        state.store.replace(where.kind, current, pod)


def _check(call: Call, current: Stored, uid: str) -> None:
    kind, name, pod = call.route.kind, call.route.name, current.obj
    if uid and uid != pod["metadata"]["uid"]:
        raise storage_conflict(kind, name, current.key, "UID", uid, pod["metadata"]["uid"])
    why = ""
    if "deletionTimestamp" in pod["metadata"]:
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif pod["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    elif pod["spec"].get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise _refused(call, why)


def _refused(call: Call, why: str) -> Failure:
    found = conflict(call.route.kind, call.route.name, why)
    found.status["message"] = found.status["message"].replace("pods ", "pods/binding ", 1)
    found.status["details"]["kind"] = "pods/binding"
    return found


def _set_scheduled(status: Json, now: str) -> None:
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}
    conditions = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
    status["conditions"] = [*conditions, condition]
