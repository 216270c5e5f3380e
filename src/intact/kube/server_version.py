"""The version of the API server, and whether Intact can work with it.

Before 1.30 a server drops the match conditions of webhooks, or keeps them only behind a feature
gate. Then it would ask Intact about every pod, and refuse every change while Intact is down.
"""

import re

import msgspec

from intact.kube.client import Client

OLDEST = (1, 30)


async def server_version(client: Client) -> str:
    """As `v1.36.3`, or as the provider calls it. Raises `KubeError` or `msgspec.DecodeError`."""
    told: dict[str, str] = msgspec.json.decode(await client.raw("/version"), type=dict[str, str])
    return told.get("gitVersion", "")


def is_known(version: str) -> bool:
    return _numbers(version) is not None


def refusal(version: str) -> str:
    """Why Intact cannot work with a server of this version; empty if it can, or it is unknown."""
    numbers = _numbers(version)
    if numbers is None or numbers >= OLDEST:
        return ""
    oldest = ".".join(map(str, OLDEST))
    return f"{version}: Intact needs Kubernetes {oldest} or later"


def _numbers(version: str) -> tuple[int, int] | None:
    found = re.match(r"v?(\d+)\.(\d+)", version)
    return None if found is None else (int(found[1]), int(found[2]))
