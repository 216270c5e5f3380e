"""Whether the API server is of a version that Intact supports."""

import msgspec

from intact.cli.check.installation.line import Line, fail, ok, skip
from intact.kube import server_version as versions
from intact.kube.client import Client
from intact.kube.errors import KubeError

NAME = "server version"


async def server_version(client: Client) -> Line:
    try:
        return judge(await versions.server_version(client))
    except (KubeError, msgspec.DecodeError) as error:
        return skip(NAME, f"the server does not tell its version: {error}")


def judge(version: str) -> Line:
    if not versions.is_known(version):
        return skip(NAME, f"the server calls its version {version!r}")
    if why := versions.refusal(version):
        return fail(NAME, why)
    return ok(NAME, version)
