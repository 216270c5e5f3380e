"""All questions about the installation, in the order in which they are answered."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from intact.cli.check.installation.certificate import certificate
from intact.cli.check.installation.definitions import custom_resources
from intact.cli.check.installation.found import look
from intact.cli.check.installation.leader import leader
from intact.cli.check.installation.line import Line, State, skip
from intact.cli.check.installation.other_webhooks import other_webhooks
from intact.cli.check.installation.reached import reached
from intact.cli.check.installation.registered import registered
from intact.cli.check.installation.replicas import replicas, versions
from intact.cli.check.installation.rights import rights
from intact.cli.check.installation.server import server_version
from intact.kube.client import Client
from intact.kube.errors import Forbidden


@dataclass(frozen=True, slots=True)
class Survey:
    lines: tuple[Line, ...]
    installed: bool
    exempt: Collection[str] = ()
    """Namespaces whose pods Intact never holds."""

    @property
    def healthy(self) -> bool:
        return self.installed and all(line.state is not State.FAIL for line in self.lines)


async def survey(client: Client, namespace: str) -> Survey:
    """A budget is asked about in `namespace`, as a dry run. Raises `KubeError` if the server does
    not answer."""
    server, found = await asyncio.gather(server_version(client), look(client))
    for error in found.unread.values():
        if not isinstance(error, Forbidden):
            raise error
    if not found.installed:
        unseen = f" ({', '.join(found.unread)} may not be read)" if found.unread else ""
        told = f"it is not installed{unseen}: only plain PodDisruptionBudgets are held"
        return Survey((server, skip("Intact", told)), installed=False)
    leads, crds, (gate, said), trusted, may = await asyncio.gather(
        leader(client, found),
        custom_resources(client, found),
        reached(client, found, namespace),
        certificate(client, found, datetime.now(UTC)),
        rights(client, found),
    )
    lines = (
        server,
        *crds,
        replicas(found),
        leads,
        versions(found),
        *registered(found),
        gate,
        trusted,
        may,
        *await other_webhooks(client, said),
    )
    return Survey(lines, installed=True, exempt=found.exempt)
