"""`python -m demo`: what it shows, and that it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from demo.view import BudgetView, NodeView, Picture, PodView, render
from demo.watch import GroupsDown, PodState, state_of
from intact.model.pod import Pod, PodCondition, PodMeta, PodSpec, PodStatus

ROOT = Path(__file__).parents[2]
REFUSAL = (
    'error when evicting pods/"a-0" -n "llm" (will retry after 5s): admission webhook '
    '"evictions.gate.intact.dev" denied the request: Group a cannot go now.'
)


@contextmanager
def demo(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The demo as a process, with all its files under `directory`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "demo", *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(directory), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def left(directory: Path) -> list[str]:
    """Files and processes that are left. Every process of the demo has the directory on its
    command line or in its environment."""
    found = [str(each) for each in directory.iterdir()]
    for each in Path("/proc").glob("[0-9]*"):
        try:
            command = (each / "cmdline").read_bytes()
            environment = (each / "environ").read_bytes()
        except OSError:  # the process has ended, or belongs to another user
            continue
        if str(directory).encode() in command + environment:
            found.append(command.decode())
    return found


def test_a_drain_takes_one_group_at_a_time_with_intact_and_several_without(tmp_path: Path) -> None:
    with demo(tmp_path, "drain", "--json") as process:
        output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    summary = json.loads(output.splitlines()[-1])
    assert summary["groups"] == 4
    assert summary["with_intact"]["worst"] == 1
    assert summary["with_intact"]["refused"] > 0
    assert summary["without_intact"]["worst"] >= 2
    assert summary["without_intact"]["refused"] == 0
    assert "3 of 4 groups are available; the budget llm requires 3" in output
    assert not left(tmp_path)


def test_a_drain_under_a_native_budget_takes_one_group_at_a_time_with_intact_only(
    tmp_path: Path,
) -> None:
    with demo(tmp_path, "pdb", "--json") as process:
        output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    summary = json.loads(output.splitlines()[-1])
    assert summary["scenario"] == "pdb"
    assert summary["with_intact"]["worst"] == 1
    assert summary["with_intact"]["refused"] > 0
    # A PodDisruptionBudget that counts pods allows as many as one shard has, of several shards.
    assert summary["without_intact"]["worst"] >= 2
    assert "3 of 4 groups are available; the disruption budget llm requires 3" in output
    assert not left(tmp_path)


def test_ctrl_c_in_the_middle_of_a_drain_leaves_nothing(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        assert process.stdout is not None
        seen = []
        for line in process.stdout:
            seen.append(line)
            if "will retry after" in line:
                break
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)  # an impatient user
        rest, _ = process.communicate(timeout=120)
    assert process.returncode == 130, "".join(seen) + rest
    assert "Traceback" not in rest
    assert not left(tmp_path)


def test_keep_holds_the_cluster_until_ctrl_c(tmp_path: Path) -> None:
    with demo(tmp_path, "--keep") as process:
        assert process.stdout is not None
        words: list[str] = []
        while not (words and words[0] == "export"):
            words = process.stdout.readline().split()
            assert process.poll() is None
        kubeconfig, path = (word.partition("=")[2] for word in words[1:])
        shown = subprocess.run(
            ["kubectl", "get", "pub", "-n", "llm", "-o", "jsonpath={.items[*].metadata.name}"],
            env={**os.environ, "KUBECONFIG": kubeconfig, "PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        assert shown.stdout == "llm"
        running = " ".join(left(tmp_path))
        assert all(each in running for each in ("etcd", "kube-apiserver", "--webhook-bind"))
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=120)
    assert process.returncode == 0, rest
    assert not left(tmp_path)


def pod(name: str, *, ready: bool = True, node: str = "node-0", going: bool = False) -> Pod:
    status = PodStatus(conditions=[PodCondition(type="Ready", status="True" if ready else "False")])
    metadata = PodMeta(
        name=name,
        namespace="llm",
        uid=name,
        labels={"shard": name[0]},
        deletion_timestamp="2026-01-01T00:00:00Z" if going else None,
    )
    return Pod(metadata=metadata, spec=PodSpec(node_name=node), status=status)


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (pod("a-0"), PodState.READY),
        (pod("a-0", ready=False), PodState.NOT_READY),
        (pod("a-0", going=True), PodState.TERMINATING),
        (pod("a-0", ready=False, node=""), PodState.PENDING),
    ],
)
def test_a_pod_is_ready_not_ready_terminating_or_pending(seen: Pod, state: PodState) -> None:
    assert state_of(seen) is state


def test_the_worst_moment_is_kept_after_it_has_passed() -> None:
    down = GroupsDown(["a", "b"], "shard", need=1)
    a, b = pod("a-0"), pod("b-0")
    down.observe(None, a)
    down.observe(None, b)
    down.begin()
    assert (down.now, down.worst) == ([], 0)
    down.observe(a, pod("a-0", going=True))
    down.observe(b, None)
    down.observe(None, pod("b-0"))
    assert (down.now, down.worst, down.events) == (["a"], 2, 3)


def test_the_picture_shows_groups_by_node_the_budget_and_the_last_refusal() -> None:
    picture = Picture(
        title="kubectl drain node-0",
        seconds=3.25,
        groups=("a", "b"),
        down=("b",),
        worst=1,
        nodes=(NodeView("node-0", cordoned=True), NodeView("node-1", cordoned=False)),
        pods=(
            PodView("a-0", "a", "node-1", PodState.READY),
            PodView("b-0", "b", "node-0", PodState.TERMINATING),
            PodView("b-1", "b", "", PodState.PENDING),
        ),
        budget=BudgetView(allowed=0, current=1, desired=1, total=2),
        output=(REFUSAL,),
    )
    console = Console(width=76, color_system=None)
    with console.capture() as capture:
        console.print(render(picture))
    rows = [" ".join(row.strip("│ ").split()) for row in capture.get().splitlines()]
    assert rows[1:-1] == [
        "node-0 cordoned node-1 unplaced",
        "a ● up",
        "b ○ · DOWN",
        "",
        "budget: allowed 0, current 1, desired 1, total 2",
        "groups down: 1, at worst 1",
        "",
        "a-0 refused (429), retry in 5s",
        "",
        "last refusal: Group a cannot go now.",
    ]
