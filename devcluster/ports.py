"""Free loopback ports, reserved until a component listens on them."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from devcluster import pins
from devcluster.errors import DevclusterError
from devcluster.locks import FileLock

LOOPBACK = "127.0.0.1"


class Ports:
    """Reserved ports, until `release`. No other devcluster gets the same ones meanwhile."""

    def __init__(self) -> None:
        self._locks: list[FileLock] = []

    def reserve(self) -> int:
        low, high = _range()
        for port in random.sample(range(low, high), k=min(500, high - low)):
            lock = FileLock(pins.cache_directory() / "ports" / str(port))
            if not lock.acquire(wait=False):
                continue
            if _bindable(port):
                self._locks.append(lock)
                return port
            lock.release()
        raise DevclusterError(f"no free port on {LOOPBACK} between {low} and {high}")

    def release(self) -> None:
        while self._locks:
            self._locks.pop().release()


def _range() -> tuple[int, int]:
    # Below the ephemeral range: from there a client's outgoing connection could take the port of a
    # component that is down, and a client that retries on loopback can even connect to itself.
    ephemeral = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    high = int(ephemeral[0])
    return (10240, high) if high > 12288 else (1024, 65535)


def _bindable(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
