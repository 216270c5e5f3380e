"""Reviews that the API server never sent, from someone who reaches the port of the gates.

They tell of pods that do not exist, of other pods under the names of real ones, and of versions
that no pod has. None of them may be recorded in a budget.
"""

import asyncio
import random
from contextlib import suppress

from intact.sandbox.api.objects import copied
from tests.simulation.operators import Service
from tests.simulation.scenario import GROUP_KEY
from tests.simulation.truth import NAMESPACE, image_id
from tests.simulation.world import World
from tests.support.objects import Json, pod

_VERSIONS = ("999999999999999", str(2**63 - 1), "9" * 40, "abc", "-1", "1.5", "", "0")


async def forge_reviews(world: World, service: Service, pause: float) -> None:
    rng = world.rng("forgeries")
    while True:
        await asyncio.sleep(rng.expovariate(1 / pause))
        if not service.alive:
            continue
        operator = rng.choice(service.alive)
        if not operator.is_ready:
            continue
        review = _review(world, rng)
        world.trace.count("forgeries")
        world.trace.note(f"{operator.name} is told of {review['operation']} {review['name']}")
        with suppress(ConnectionError):
            await operator.review(review)


def _review(world: World, rng: random.Random) -> Json:
    told = _pod(world, rng)
    operation = rng.choice(("DELETE", "DELETE", "UPDATE", "CREATE"))
    review: Json = {
        "uid": str(rng.getrandbits(64)),
        "operation": operation,
        "name": told["metadata"]["name"],
        "namespace": NAMESPACE,
        "userInfo": {"username": "system:apiserver"},
        "dryRun": False,
        "options": {},
        "object": None,
        "oldObject": told,
    }
    if operation == "UPDATE":
        review["object"] = new = copied(told)
        new["spec"]["containers"][0]["image"] = "registry.example/forged:1"
    if operation == "CREATE":
        review["subResource"] = "eviction"
        review["oldObject"] = None
        uid = rng.choice(("", told["metadata"]["uid"]))
        meta = {"name": f"{told['metadata']['name']}-forged", "namespace": NAMESPACE}
        review["name"] = meta["name"]
        review["object"] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": meta,
            "deleteOptions": {"preconditions": {"uid": uid}} if uid else {},
        }
    return review


def _pod(world: World, rng: random.Random) -> Json:
    """Never a real one as it is."""
    pods = world.pods()
    if pods and rng.random() < 0.6:
        told: Json = copied(rng.choice(pods))
        if rng.random() < 0.5:
            told["metadata"]["uid"] = f"forged-{rng.getrandbits(32)}"
        else:
            told["metadata"]["resourceVersion"] = rng.choice(_VERSIONS)
            return told
    else:
        plan = rng.choice(world.scenario.workloads)
        labels = {"app": plan.app} | ({GROUP_KEY: plan.groups[0]} if plan.groups[0] else {})
        told = pod(f"forged-{rng.randint(0, 3)}", node="node-a", labels=labels)
        told["metadata"] |= {"namespace": NAMESPACE, "uid": f"forged-{rng.getrandbits(32)}"}
        image = told["spec"]["containers"][0]["image"]
        container = {"name": "main", "image": image, "imageID": image_id(image), "ready": True}
        told["status"] = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [container],
        }
    told["metadata"]["resourceVersion"] = rng.choice((*_VERSIONS, str(world.api.revision)))
    return told
