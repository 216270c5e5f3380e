"""The replicas of the Deployment, and their versions."""

from typing import Any

import msgspec
import pytest

from intact.cli.check.installation.found import Found
from intact.cli.check.installation.line import State
from intact.cli.check.installation.replicas import replicas, versions
from intact.kube.errors import error_of_response
from intact.model.pod import Pod

META = {"namespace": "intact-system", "name": "intact"}


def deployment(wanted: int, ready: int) -> Any:
    template = {"spec": {"containers": [{"image": "intact:2"}]}}
    return {
        "metadata": META,
        "spec": {"replicas": wanted, "template": template},
        "status": {"readyReplicas": ready},
    }


def running(name: str, image: str) -> Pod:
    body = {
        "metadata": {"name": name, "namespace": "intact-system"},
        "spec": {"containers": [{"name": "intact", "image": image}]},
    }
    return msgspec.convert(body, Pod)


@pytest.mark.parametrize(
    ("wanted", "ready", "state"),
    [(2, 2, State.OK), (2, 1, State.WARN), (2, 0, State.FAIL), (1, 1, State.WARN)],
)
def test_replicas(wanted: int, ready: int, state: State) -> None:
    assert replicas(Found(deployment(wanted, ready))).state is state


def test_pods_that_are_not_ready_are_named() -> None:
    line = replicas(Found(deployment(2, 1), (running("intact-a", "intact:2"),)))
    assert line.message.endswith("1 of 2 ready (Deployment intact-system/intact): not intact-a")


def test_without_a_deployment_there_is_nothing_to_say() -> None:
    assert replicas(Found()).state is State.SKIP
    assert versions(Found()).state is State.SKIP


def test_a_deployment_that_may_not_be_read_is_skipped() -> None:
    line = replicas(Found(unread={"deployments": error_of_response(403, b"{}")}))
    assert line.state is State.SKIP


@pytest.mark.parametrize(
    ("images", "state"),
    [
        (["intact:2", "intact:2"], State.OK),
        (["intact:1", "intact:2"], State.WARN),
        (["intact:1"], State.WARN),
        ([], State.SKIP),
    ],
)
def test_versions_are_alike(images: list[str], state: State) -> None:
    pods = tuple(running(f"intact-{at}", image) for at, image in enumerate(images))
    assert versions(Found(deployment(2, 2), pods)).state is state
