"""A Prometheus on loopback that scrapes Intact and the API server, as docs/monitoring.md says."""

import base64
import json
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import yaml

from devcluster import process
from devcluster.build import ensure_binaries
from devcluster.pins import PROMETHEUS
from devcluster.ports import LOOPBACK, Ports
from tests.support.namespace_under_test import eventually
from tests.support.objects import Json

OF_THE_API_SERVER = {
    "apiserver_admission_webhook_rejection_count",
    "apiserver_admission_webhook_fail_open_count",
    "apiserver_admission_webhook_request_total",
}
"""Metrics of kube-apiserver that alerts or the dashboard use."""
RULES = Path(__file__).parents[2] / "deploy/prometheus/rules.yaml"


def promtool() -> Path:
    return ensure_binaries(toolset=PROMETHEUS) / "promtool"


def alerts() -> dict[str, Json]:
    """The rules, by their alerts."""
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


class Prometheus:
    def __init__(self, address: str, session: aiohttp.ClientSession) -> None:
        self._address = address
        self._session = session

    async def get(self, path: str, **query: str) -> Json:
        """What the HTTP API answers; an error of the query is an AssertionError."""
        url = f"http://{self._address}/api/v1/{path}"
        async with self._session.get(url, params=query) as answer:
            found: Json = await answer.json()
        assert found["status"] == "success", f"{query}: {found['error']}"
        return dict(found["data"])

    async def query(self, expr: str) -> list[Json]:
        return list((await self.get("query", query=expr))["result"])

    async def firing(self) -> list[Json]:
        """Labels and annotations of the alerts that fire."""
        return [one for one in (await self.get("alerts"))["alerts"] if one["state"] == "firing"]

    async def is_up(self) -> bool:
        try:
            async with self._session.get(f"http://{self._address}/-/ready") as answer:
                return answer.status == 200
        except aiohttp.ClientConnectionError:
            return False


def _api_server(kubeconfig: Path, home: Path) -> Json:
    """The job for the API server, with the certificates of the kubeconfig."""
    found = json.loads(kubeconfig.read_text())
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
    files = {
        "ca_file": cluster["certificate-authority-data"],
        "cert_file": user["client-certificate-data"],
        "key_file": user["client-key-data"],
    }
    for name, content in files.items():
        (home / name).write_bytes(base64.b64decode(content))
    return {
        "job_name": "apiserver",
        "scheme": "https",
        "tls_config": {name: str(home / name) for name in files},
        "static_configs": [{"targets": [cluster["server"].removeprefix("https://")]}],
    }


def _intact(addresses: Sequence[str]) -> Json:
    """With the labels that a ServiceMonitor gives to its targets: `namespace` is theirs as well."""
    labels = {"namespace": "intact-system", "service": "intact-metrics"}
    return {
        "job_name": "intact",
        "honor_labels": True,
        "static_configs": [{"targets": list(addresses), "labels": labels}],
    }


@asynccontextmanager
async def prometheus(
    home: Path, kubeconfig: Path, addresses: Sequence[str], rules: Sequence[Json]
) -> AsyncGenerator[Prometheus, None]:
    """Scrapes and evaluates every second."""
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(home / "rules.yaml")],
        "scrape_configs": [_intact(addresses), _api_server(kubeconfig, home)],
    }
    (home / "prometheus.yaml").write_text(yaml.safe_dump(config))
    groups = {"groups": [{"name": "intact", "rules": list(rules)}]}
    (home / "rules.yaml").write_text(yaml.safe_dump(groups))
    ports, log = Ports(), home / "prometheus.log"
    address = f"{LOOPBACK}:{ports.reserve()}"
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    running = process.spawn(
        [
            ensure_binaries(toolset=PROMETHEUS) / "prometheus",
            f"--config.file={home / 'prometheus.yaml'}",
            f"--storage.tsdb.path={home / 'data'}",
            f"--web.listen-address={address}",
        ],
        log,
        environment,
    )
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
            found = Prometheus(address, session)

            async def look() -> bool:
                assert running.poll() is None, process.last_lines(log)
                return await found.is_up()

            await eventually(look, bool, "Prometheus to be ready")
            yield found
    finally:
        process.end(running, grace=10)
        ports.release()
