"""The controllers of a cluster."""

import os
import subprocess
import sys

from intact.sandbox.controllers.controller import Controller, Shared
from intact.sandbox.controllers.manager import controllers
from intact.sandbox.controllers.node_lifecycle.pod_gc import PodGarbageController
from intact.sandbox.controllers.node_lifecycle.taint_eviction import TaintEvictionController


def test_no_two_controllers_reconcile_one_kind(shared: Shared) -> None:
    """Of pods, two do: they look at the node of a pod, and only ever remove it."""
    found = [each for each in controllers(shared) if isinstance(each, Controller)]
    removing = (TaintEvictionController, PodGarbageController)
    kinds = [each.kind for each in found if not isinstance(each, removing)]
    assert len({*kinds}) == len(kinds)
    assert {"replicasets.apps", "statefulsets.apps"} <= {*kinds}


COURSE = """
import asyncio, hashlib
from intact.sandbox import run
from intact.sandbox.cluster import Sandbox
from tests.support.objects import *

async def course():
    sandbox, steps = Sandbox(), []
    def changed(kind, old, new):
        steps.append((kind.full_name, new))
    sandbox.api.follow_all(changed)
    async with sandbox.running(), sandbox.client() as client:
        for name in "abc":
            await sandbox.add_node(name)
        await client.create(DEPLOYMENTS, deployment("d", 4), "default")
        await client.create(STATEFUL_SETS, stateful_set("s", 3), "default")
        await client.create(DAEMON_SETS, daemon_set("e"), "default")
        await asyncio.sleep(5)
        image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}}}
        for resource, name in ((DEPLOYMENTS, "d"), (STATEFUL_SETS, "s"), (DAEMON_SETS, "e")):
            await client.patch(resource, image, name, "default")
        await asyncio.sleep(30)
        await client.delete(DEPLOYMENTS, "d", "default", propagation_policy="Foreground")
        await asyncio.sleep(30)
    return steps

steps = run(course(), seed=7)
print(len(steps), hashlib.sha256(repr(steps).encode()).hexdigest())
"""


def test_one_seed_gives_one_course_of_events() -> None:
    """Whatever the hashes of strings are, which differ from process to process."""
    found = [
        subprocess.run(
            [sys.executable, "-c", COURSE],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
    assert int(found[0].split()[0]) > 100
