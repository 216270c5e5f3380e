"""Whether the API server is of a version that Intact supports."""

import re

import msgspec

from intact.cli.check.installation.line import Line, fail, ok, skip
from intact.kube.client import Client
from intact.kube.errors import KubeError

OLDEST = (1, 30)
NAME = "server version"


async def server_version(client: Client) -> Line:
    try:
        told = msgspec.json.decode(await client.raw("/version"), type=dict[str, str])
    except (KubeError, msgspec.DecodeError) as error:
        return skip(NAME, f"the server does not tell its version: {error}")
    return judge(told.get("gitVersion", ""))


def judge(version: str) -> Line:
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is None:
        return skip(NAME, f"the server calls its version {version!r}")
    if (int(found[1]), int(found[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return fail(NAME, f"{version}: Intact needs Kubernetes {oldest} or later")
    return ok(NAME, version)
