"""Runs a command in an unpacked image as a container runtime does under Intact's manifests.

Read-only root and mounts, no capabilities, no new privileges, and the user of the manifests. As a
module it gives the command line; as a script, which `unshare` starts in namespaces of its own, it
confines itself and becomes the command. Runtimes such as crun refuse to start without cgroups of
their own.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38


def contained(
    root: Path, user: int, *command: str, mounts: Mapping[str, Path] | None = None
) -> list[str]:
    """The command line that runs a command in `root`; for root. `mounts` are directories of the
    machine by their place in `root`, where a directory stands already."""
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    places = json.dumps({place: str(source) for place, source in (mounts or {}).items()})
    return [*unshare, sys.executable, __file__, str(root), str(user), places, *command]


def confine(root: Path, user: int, mounts: Mapping[str, str]) -> None:
    bound: list[tuple[str | Path, ...]] = [
        ("--bind", root, root),
        ("-o", "remount,bind,ro", root),
        ("-t", "proc", "proc", root / "proc"),
    ]
    for place, source in mounts.items():
        bound += [("--bind", source, root / place), ("-o", "remount,bind,ro", root / place)]
    for arguments in bound:
        subprocess.run(["mount", *arguments], check=True)
    os.chroot(root)
    os.chdir("/")
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    for capability in range(last + 1):
        assert prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    assert prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    # A change of the user has cleared it.
    assert prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0


def main(arguments: Sequence[str]) -> None:
    root, user, mounts, *command = arguments
    confine(Path(root), int(user), json.loads(mounts))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
