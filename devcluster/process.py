"""Child processes that end with the process that started them, even if SIGKILL ends it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from devcluster.errors import DevclusterError

_PR_SET_PDEATHSIG = 1
# Loaded at import: little is safe between fork and exec.
_prctl = ctypes.CDLL(None, use_errno=True).prctl
_prctl.argtypes = [ctypes.c_int, ctypes.c_ulong]
_prctl.restype = ctypes.c_int


def spawn(
    command: Sequence[str | Path],
    log: Path,
    env: Mapping[str, str],
    keep_open: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own, its output appended to `log`."""
    if threading.current_thread() is not threading.main_thread():
        raise DevclusterError(
            "components can be started only from the main thread: the kernel kills them together "
            "with the thread that started them"
        )
    with log.open("ab") as output, warnings.catch_warnings():
        # Python and linters warn of a hook between fork and exec; this one takes no lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=keep_open,
            preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509
        )


def _die_with(parent: int) -> Callable[[], None]:
    def hook() -> None:
        failed = _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0
        # The parent may have died before prctl: then the kernel sends no signal.
        if failed or os.getppid() != parent:
            os._exit(127)

    return hook


def end(process: subprocess.Popen[bytes], grace: float) -> None:
    """SIGTERM, and SIGKILL for what has not ended after `grace` seconds."""
    process.terminate()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def alive(pid: int) -> bool:
    """Whether `pid` runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # The command in parentheses may itself contain spaces and parentheses.
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def last_lines(log: Path, count: int = 25) -> str:
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return "(no log)"
    return "\n".join(lines[-count:]) or "(its log is empty)"
