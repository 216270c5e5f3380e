"""Whether a node has room for the resources that one of its pods wants to have in place."""

from intact.sandbox.api.objects import Json
from intact.sandbox.scheduler.accounts import Accounts
from intact.sandbox.scheduler.requests import pod_requests


def is_wanted(pod: Json) -> bool:
    """Whether a container wants other resources than it has."""
    running = {each["name"]: each for each in pod["status"].get("containerStatuses") or ()}
    for each in pod["spec"]["containers"]:
        shown = (running.get(each["name"]) or {}).get("resources")
        wanted = each.get("resources") or {}
        wanted = {name: wanted[name] for name in ("requests", "limits") if wanted.get(name)}
        if shown is not None and shown != wanted:
            return True
    return False


def lack_of_room(pod: Json, accounts: Accounts) -> tuple[str, str] | None:
    """Why the pod has to wait for its resources: a reason and a message, in the kubelet's words.
    None if it need not."""
    node = accounts.nodes.get(pod["spec"].get("nodeName", ""))
    if node is None or not is_wanted(pod):
        return None
    wanted = pod_requests({"spec": pod["spec"]})
    known = node.pods.get(pod["metadata"]["uid"])
    for name, number in wanted.items():
        capacity = node.allocatable.get(name, 0)
        own = known.requests.get(name, 0) if known is not None else 0
        used = capacity - node.free.get(name, 0) - own
        if number and used + number > capacity:
            return "Deferred", (
                f"Node didn't have enough resource: {name}, requested: {number}, used: {used}, "
                f"capacity: {capacity}"
            )
    return None
