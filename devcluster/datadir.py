"""The data directory: one cluster at a time; files of others are never touched."""

from __future__ import annotations

import shutil
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.locks import FileLock

LOCK = "devcluster.lock"
STATE = "state.json"
# What an earlier cluster left, except for the lock and the log of its keeper.
OURS = ("etcd", "pki", "logs", "stages", "kubeconfig", STATE, ".kube", ".kwok")


class DataDirectory:
    """The components hold the lock too: it is free once the last of them has ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path / LOCK)

    @property
    def lock_fd(self) -> int:
        return self._lock.fd

    def claim(self) -> None:
        """Lock the directory and remove what an earlier cluster left."""
        mark(self.path)
        if not self._lock.acquire(wait=False):
            raise DevclusterError(f"a cluster is running in {self.path}")
        for name in OURS:
            path = self.path / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def release(self) -> None:
        self._lock.release()


def mark(path: Path) -> None:
    """Mark the directory as a devcluster's; refuse one that holds other files."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (path / LOCK).exists() and any(path.iterdir()):
        raise DevclusterError(
            f"{path} holds files that are not a devcluster's; use another data directory"
        )
    (path / LOCK).touch(mode=0o600)


def in_use(path: Path) -> bool:
    """Whether a cluster, or a part of one, runs in the directory."""
    if not (path / LOCK).exists():
        return False
    lock = FileLock(path / LOCK)
    if lock.acquire(wait=False):
        lock.release()
        return False
    return True
