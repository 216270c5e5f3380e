"""In-place changes: which of them can make a pod unavailable, and when they are over."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from intact.budget.pub.in_place import (
    ends_sooner,
    has_begun,
    is_newly_marked,
    is_over,
    mark_containers,
    restarted_containers,
    restarting_resizes,
    same_image,
)
from intact.model.pod import (
    Container,
    ContainerStatus,
    Pod,
    PodCondition,
    PodMeta,
    PodSpec,
    PodStatus,
    ResizablePod,
)
from intact.model.pub import ContainerMark, LedgerRecord

SHA1, SHA2 = "sha256:" + "1" * 64, "sha256:" + "2" * 64


@dataclass
class Runs:
    """A container: what the spec asks for, and what the status shows."""

    asked: str = "web:1"
    shown: str = "docker.io/library/web:1"
    id: str = "containerd://a"
    image_id: str = SHA1
    ready: bool = True


@dataclass
class Scene:
    main: Runs = field(default_factory=Runs)
    init: Runs | None = None
    pod_ready: bool = True
    labels: dict[str, str] = field(default_factory=dict)
    deadline: int | None = None
    conditions: list[str] = field(default_factory=list)

    def pod(self) -> Pod:
        def status(name: str, runs: Runs) -> ContainerStatus:
            return ContainerStatus(
                name=name,
                image=runs.shown,
                image_id=runs.image_id,
                container_id=runs.id,
                ready=runs.ready,
            )

        ready = PodCondition(type="Ready", status="True" if self.pod_ready else "False")
        more = [PodCondition(type=name, status="True") for name in self.conditions]
        init = [self.init] if self.init is not None else []
        return Pod(
            metadata=PodMeta(name="p", namespace="ns", labels=self.labels),
            spec=PodSpec(
                containers=[Container(name="main", image=self.main.asked)],
                init_containers=[Container(name="init", image=one.asked) for one in init],
                active_deadline_seconds=self.deadline,
            ),
            status=PodStatus(
                phase="Running",
                conditions=[ready, *more],
                container_statuses=[status("main", self.main)],
                init_container_statuses=[status("init", one) for one in init],
            ),
        )


def record(containers: dict[str, ContainerMark]) -> LedgerRecord:
    return LedgerRecord(
        name="p",
        operation="UPDATE",
        at="2026-01-01T00:00:00Z",
        resource_version="1",
        containers=containers,
    )


def update(before: Runs, asked: str) -> LedgerRecord:
    """As it is recorded when an update of the main container's image is admitted."""
    old = Scene(main=before).pod()
    new = Scene(main=Runs(asked=asked)).pod()
    return record(restarted_containers(old, new))


class TestWhatRestarts:
    def test_a_container_with_another_image_as_it_runs_now(self) -> None:
        old, new = Scene(), Scene(main=Runs(asked="web:2"))
        assert restarted_containers(old.pod(), new.pod()) == {
            "main": ContainerMark(
                container_id="containerd://a",
                image_id=SHA1,
                image="docker.io/library/web:1",
                wanted="web:2",
            )
        }

    def test_an_init_container_with_another_image(self) -> None:
        old, new = Scene(init=Runs("i:1")), Scene(init=Runs("i:2"))
        assert restarted_containers(old.pod(), new.pod()).keys() == {"init"}

    def test_a_container_with_another_digest_is_restarted(self) -> None:
        old, new = Scene(main=Runs(f"web@{SHA1}")), Scene(main=Runs(f"web@{SHA2}"))
        assert restarted_containers(old.pod(), new.pod())["main"].wanted == f"web@{SHA2}"

    def test_other_changes_restart_no_container(self) -> None:
        old, new = Scene(), Scene(labels={"app": "x"}, deadline=5)
        assert restarted_containers(old.pod(), new.pod()) == {}

    def test_a_container_that_does_not_run_yet_has_an_empty_mark(self) -> None:
        pod = msgspec.structs.replace(Scene().pod(), status=PodStatus(phase="Pending"))
        assert mark_containers(pod, {"main": "web:2"}) == {"main": ContainerMark(wanted="web:2")}


LABELS: dict[str, tuple[dict[str, str], dict[str, str], bool]] = {
    "set": ({}, {"unavailable-pod.kruise.io/drain": "x"}, True),
    "one more": (
        {"unavailable-pod.kruise.io/a": ""},
        {"unavailable-pod.kruise.io/a": "", "unavailable-pod.kruise.io/b": ""},
        True,
    ),
    "another value": (
        {"unavailable-pod.kruise.io/a": "1"},
        {"unavailable-pod.kruise.io/a": "2"},
        False,
    ),
    "removed": ({"unavailable-pod.kruise.io/a": "1"}, {}, False),
    "another label": ({}, {"app": "x"}, False),
}


@pytest.mark.parametrize(("old", "new", "expected"), LABELS.values(), ids=LABELS)
def test_only_a_new_unavailable_label_takes_a_pod_out_of_service(
    old: dict[str, str], new: dict[str, str], expected: bool
) -> None:
    assert is_newly_marked(Scene(labels=old).pod(), Scene(labels=new).pod()) == expected


DEADLINES = {
    "set": (None, 5, True),
    "sooner": (10, 5, True),
    "the same": (5, 5, False),
    "none": (None, None, False),
}


@pytest.mark.parametrize(("old", "new", "expected"), DEADLINES.values(), ids=DEADLINES)
def test_only_an_earlier_deadline_ends_a_pod_sooner(
    old: int | None, new: int | None, expected: bool
) -> None:
    assert ends_sooner(Scene(deadline=old).pod(), Scene(deadline=new).pod()) == expected


# What the status shows, and whether the update from web:1 to web:2 is then over.
OVER: dict[str, tuple[Runs, bool]] = {
    "nothing has happened yet": (Runs("web:2"), False),
    "the old one runs on while it drains, and is ready": (Runs("web:2", ready=True), False),
    "the new one runs and is ready": (
        Runs("web:2", "docker.io/library/web:2", "containerd://b", SHA2),
        True,
    ),
    "the new one runs and is not ready": (
        Runs("web:2", "docker.io/library/web:2", "containerd://b", SHA2, ready=False),
        False,
    ),
    "the old image crashed and was started again": (
        Runs("web:2", "docker.io/library/web:1", "containerd://b", SHA1),
        False,
    ),
    "the name as it was asked for": (Runs("web:2", "web:2", "containerd://b", SHA2), True),
    "the same image under another tag": (
        Runs("web:2", "docker.io/library/web:2", "containerd://b", SHA1),
        True,
    ),
    "a bare digest": (Runs("web:2", SHA2, "containerd://b", SHA2), True),
    "an older tag of the new image": (
        Runs("web:2", "docker.io/library/web:stable", "containerd://b", SHA2),
        True,
    ),
    "no status of the container": (Runs("web:2", "", "", "", ready=False), False),
}


@pytest.mark.parametrize(("shown", "over"), OVER.values(), ids=OVER)
def test_an_update_is_over_once_the_new_image_runs_and_is_ready(shown: Runs, over: bool) -> None:
    change = update(Runs(), "web:2")
    pod = Scene(main=shown).pod()
    assert has_begun(change, pod)
    assert is_over(change, pod) == over
    assert not is_over(change, Scene(main=shown, pod_ready=False).pod())


DIGESTS: dict[str, tuple[Runs, Runs, bool]] = {
    "shown by repository and digest": (
        Runs(f"r.io/web@{SHA1}", f"r.io/web@{SHA1}", "containerd://a", f"r.io/web@{SHA1}"),
        Runs(f"r.io/web@{SHA2}", f"r.io/web@{SHA2}", "containerd://b", f"r.io/web@{SHA2}"),
        True,
    ),
    "shown by the bare digest of the image's configuration": (
        Runs(f"r.io/web@{SHA1}", "sha256:c1", "containerd://a", "sha256:c1"),
        Runs(f"r.io/web@{SHA2}", "sha256:c2", "containerd://b", "sha256:c2"),
        True,
    ),
    "the old one, started again": (
        Runs(f"r.io/web@{SHA1}", "sha256:c1", "containerd://a", "sha256:c1"),
        Runs(f"r.io/web@{SHA2}", "sha256:c1", "containerd://b", "sha256:c1"),
        False,
    ),
    "from a tag to the digest of the very same image": (
        Runs("r.io/web:1", "r.io/web:1", "containerd://a", "sha256:c1"),
        Runs(f"r.io/web@{SHA1}", f"r.io/web@{SHA1}", "containerd://b", "sha256:c1"),
        True,
    ),
}


@pytest.mark.parametrize(("before", "shown", "over"), DIGESTS.values(), ids=DIGESTS)
def test_an_update_of_images_shown_by_digest_is_over_with_another_digest(
    before: Runs, shown: Runs, over: bool
) -> None:
    assert is_over(update(before, shown.asked), Scene(main=shown).pod()) == over


def test_all_containers_must_have_come_to_their_end() -> None:
    old = Scene(init=Runs("side:1", "side:1", "containerd://s", SHA1))
    new = Scene(main=Runs("web:2"), init=Runs("side:2"))
    change = record(restarted_containers(old.pod(), new.pod()))
    main = Runs("web:2", "web:2", "containerd://b", SHA2)
    still = Runs("side:2", "side:1", "containerd://s", SHA1)
    assert not is_over(change, Scene(main=main, init=still).pod())
    done = Runs("side:2", "side:2", "containerd://t", SHA2)
    assert is_over(change, Scene(main=main, init=done).pod())


def test_a_change_that_did_not_take_place_has_not_begun() -> None:
    assert not has_begun(update(Runs(), "web:2"), Scene().pod())


def test_a_change_of_the_label_is_over_once_the_pod_has_it() -> None:
    assert not is_over(record({}), Scene().pod())
    assert is_over(record({}), Scene(labels={"unavailable-pod.kruise.io/x": ""}).pod())


class TestLate:
    """What has had its time is not waited for where nothing more is to be seen."""

    def test_the_old_container_that_drains_is_still_waited_for(self) -> None:
        assert not is_over(update(Runs(), "web:2"), Scene(main=Runs("web:2")).pod(), late=True)

    def test_a_restart_whose_status_shows_the_old_names(self) -> None:
        """Two tags of one image: the runtime may show either."""
        restarted = Scene(main=Runs("web:2", id="containerd://b")).pod()
        assert not is_over(update(Runs(), "web:2"), restarted)
        assert is_over(update(Runs(), "web:2"), restarted, late=True)

    def test_a_change_that_was_changed_back_before_the_kubelet_saw_it(self) -> None:
        back = update(Runs(asked="web:2"), "web:1")
        assert not is_over(back, Scene().pod())
        assert is_over(back, Scene().pod(), late=True)

    def test_an_init_container_that_is_done_is_not_started_again(self) -> None:
        old, new = Scene(init=Runs("i:1", "i:1", "containerd://i")), Scene(init=Runs("i:2"))
        change = record(restarted_containers(old.pod(), new.pod()))
        now = Scene(init=Runs("i:2", "i:1", "containerd://i")).pod()
        assert not is_over(change, now)
        assert is_over(change, now, late=True)


def resizable(policy: str, cpu: str, memory: str = "1Gi", **more: Any) -> ResizablePod:
    container = {
        "name": "main",
        "resources": {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}},
        "resizePolicy": [
            {"resourceName": "cpu", "restartPolicy": policy},
            {"resourceName": "memory", "restartPolicy": "NotRequired"},
        ],
    }
    return msgspec.convert({"spec": {more.get("where", "containers"): [container]}}, ResizablePod)


def of_pod(policy: str, cpu: str, *, own: str = "") -> ResizablePod:
    """A pod with a limit for all its containers together."""
    container = {
        "name": "main",
        "resources": {"limits": {"cpu": own}} if own else {},
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": policy}],
    }
    resources = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
    spec = {"containers": [container], "resources": resources}
    return msgspec.convert({"spec": spec}, ResizablePod)


RESIZES: dict[str, tuple[ResizablePod, ResizablePod, set[str]]] = {
    "a restart is asked for": (
        resizable("RestartContainer", "1"),
        resizable("RestartContainer", "2"),
        {"main"},
    ),
    "none is asked for": (resizable("NotRequired", "1"), resizable("NotRequired", "2"), set()),
    "a restart is asked for, of another resource": (
        resizable("RestartContainer", "1", "1Gi"),
        resizable("RestartContainer", "1", "2Gi"),
        set(),
    ),
    "nothing has changed": (
        resizable("RestartContainer", "1"),
        resizable("RestartContainer", "1"),
        set(),
    ),
    "of the pod, and the container has no limit of its own": (
        of_pod("RestartContainer", "1"),
        of_pod("RestartContainer", "2"),
        {"main"},
    ),
    "of the pod, and the limit of the container is none": (
        of_pod("RestartContainer", "1", own="0"),
        of_pod("RestartContainer", "2", own="0"),
        {"main"},
    ),
    "of the pod, and the container has a limit": (
        of_pod("RestartContainer", "2", own="1"),
        of_pod("RestartContainer", "3", own="1"),
        set(),
    ),
    "of the pod, without a restart": (
        of_pod("NotRequired", "1"),
        of_pod("NotRequired", "2"),
        set(),
    ),
    "of an init container": (
        resizable("RestartContainer", "1", where="initContainers"),
        resizable("RestartContainer", "2", where="initContainers"),
        {"main"},
    ),
}


@pytest.mark.parametrize(("old", "new", "restarted"), RESIZES.values(), ids=RESIZES)
def test_a_resize_restarts_where_its_policy_says_so(
    old: ResizablePod, new: ResizablePod, restarted: set[str]
) -> None:
    assert restarting_resizes(old, new).keys() == restarted


class TestResize:
    """Of a resize the store shows the restart, and while it lasts a condition."""

    change = record(mark_containers(Scene().pod(), {"main": ""}))

    def test_a_resize_is_over_with_the_restart(self) -> None:
        assert not is_over(self.change, Scene().pod())
        assert is_over(self.change, Scene(main=Runs(id="containerd://b")).pod())
        unready = Scene(main=Runs(id="containerd://b", ready=False)).pod()
        assert not is_over(self.change, unready)

    def test_a_resize_has_begun_if_the_kubelet_says_so(self) -> None:
        assert not has_begun(self.change, Scene().pod())
        assert has_begun(self.change, Scene(conditions=["PodResizeInProgress"]).pod())
        older = msgspec.convert({"phase": "Running", "resize": "InProgress"}, PodStatus)
        assert has_begun(self.change, msgspec.structs.replace(Scene().pod(), status=older))
        assert not is_over(self.change, Scene().pod(), late=True)


SAME = {
    "short and full": ("web", "docker.io/library/web:latest", True),
    "with a user": ("me/web:1", "docker.io/me/web:1", True),
    "a registry with a port": ("localhost:5000/web", "localhost:5000/web:latest", True),
    "a registry": ("r.io/web:1", "r.io/web:1", True),
    "another registry": ("r.io/web:1", "web:1", False),
    "another tag": ("web:1", "web:2", False),
    "a digest": (f"web@{SHA1}", f"docker.io/library/web@{SHA1}", True),
    "a tag and a digest": ("web:1", f"web@{SHA1}", False),
}


@pytest.mark.parametrize(("one", "two", "expected"), SAME.values(), ids=SAME)
def test_names_with_and_without_defaults_are_of_one_image(
    one: str, two: str, expected: bool
) -> None:
    assert same_image(one, two) == expected
    assert same_image(two, one) == expected
