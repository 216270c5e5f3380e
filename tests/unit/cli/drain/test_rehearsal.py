"""The rehearsal of a drain, from the cluster itself."""

from pathlib import Path

from intact.sandbox import MemoryApi
from intact.sandbox.rehearsal.load import load
from tests.support.small_clusters import SmallCluster
from tests.unit.cli.loopback import invoked, served


async def test_it_rehearses_these_nodes_with_these_options(tmp_path: Path) -> None:
    made = SmallCluster()
    made.deployment("web", ["node-0", "node-0", "node-1"])
    made.pod("bare", "node-0")
    api = MemoryApi()
    load(made.snapshot(), api)
    async with served(api, tmp_path) as kubeconfig:
        arguments = ("drain", "node-0", "--dry-run=rehearse", "--kubeconfig", kubeconfig)
        kept = await invoked(*arguments)
        forced = await invoked(*arguments, "--force")
    assert (kept.exit_code, forced.exit_code) == (3, 0), kept.output
    assert forced.output.startswith("drain goes through")
