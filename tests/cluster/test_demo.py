"""`python -m demo --kubernetes`: what it shows, and that it leaves nothing behind."""

import json
import os
import signal
import subprocess
from pathlib import Path

from tests.support.demo_process import check_drain, check_rollout, demo


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


def test_drains_and_a_rollout_show_what_they_show_in_the_sandbox(tmp_path: Path) -> None:
    with demo(tmp_path, "--kubernetes", "--json") as process:
        output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    pub, pdb, rollout = (json.loads(line) for line in output.splitlines()[-3:])
    check_drain(pub)
    check_drain(pdb)
    check_rollout(rollout["rollout"])
    assert "2 of 3 groups are available; the budget llm requires 2" in output
    assert "2 of 3 groups are available; the disruption budget llm requires 2" in output
    assert not left(tmp_path)


def test_ctrl_c_in_the_middle_of_a_drain_leaves_nothing(tmp_path: Path) -> None:
    with demo(tmp_path, "--kubernetes") as process:
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
    with demo(tmp_path, "--kubernetes", "--keep") as process:
        assert process.stdout is not None
        words: list[str] = []
        while not (words and words[0] == "export"):
            words = process.stdout.readline().split()
            assert process.poll() is None
        kubeconfig, path = (word.partition("=")[2] for word in words[1:])
        shown = subprocess.run(
            ["kubectl", "get", "pub", "-n", "llm-pub", "-o", "jsonpath={.items[*].metadata.name}"],
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
