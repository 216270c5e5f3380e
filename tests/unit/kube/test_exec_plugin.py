"""Credential plugins, as small scripts that are really run."""

import asyncio
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from intact.kube import exec_plugin
from intact.kube.errors import ConfigError
from intact.kube.exec_plugin import (
    ClusterInfo,
    ExecConfig,
    ExecCredential,
    parse_answer,
    run_plugin,
)

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
CLUSTER = ClusterInfo(
    server="https://host", certificate_authority_data="Q0E=", tls_server_name="kubernetes"
)


def plugin(directory: Path, script: str, **fields: Any) -> ExecConfig:
    path = directory / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return of_kubeconfig(command=str(path), **fields)


def of_kubeconfig(**fields: Any) -> ExecConfig:
    return msgspec.convert({"apiVersion": V1} | fields, ExecConfig)


def answer(api_version: str = V1, kind: str = "ExecCredential", **status: Any) -> str:
    return json.dumps({"apiVersion": api_version, "kind": kind, "status": status})


def read_all(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


def printing(text: str) -> str:
    return f"cat <<'END'\n{text}\nEND"


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_a_token(tmp_path: Path, version: str) -> None:
    script = printing(answer(version, token="t", expirationTimestamp="2026-01-01T12:00:00Z"))
    found = await run_plugin(plugin(tmp_path, script, apiVersion=version), CLUSTER)
    assert found == ExecCredential(
        token="t", expiration_timestamp=datetime(2026, 1, 1, 12, tzinfo=UTC)
    )


async def test_a_certificate(tmp_path: Path) -> None:
    script = printing(answer(clientCertificateData="CRT", clientKeyData="KEY"))
    found = await run_plugin(plugin(tmp_path, script), CLUSTER)
    assert found == ExecCredential(client_certificate_data="CRT", client_key_data="KEY")


async def test_a_failing_plugin_is_quoted(tmp_path: Path) -> None:
    failing = plugin(tmp_path, "echo 'log in first' >&2; exit 3")
    with pytest.raises(ConfigError, match=r"plugin' failed with code 3: log in first$"):
        await run_plugin(failing, CLUSTER)


async def test_a_plugin_that_is_not_installed(tmp_path: Path) -> None:
    missing = of_kubeconfig(command=str(tmp_path / "cloud-auth"), installHint="Get it from …\n")
    expected = r"cloud-auth' cannot be run: No such file or directory; Get it from …$"
    with pytest.raises(ConfigError, match=expected):
        await run_plugin(missing, CLUSTER)


async def test_a_plugin_that_may_not_be_run(tmp_path: Path) -> None:
    (tmp_path / "plugin").write_text("")
    with pytest.raises(ConfigError, match=r"plugin' cannot be run: Permission denied$"):
        await run_plugin(of_kubeconfig(command=str(tmp_path / "plugin")), CLUSTER)


async def test_a_plugin_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exec_plugin, "TIMEOUT", 0.1)
    with pytest.raises(ConfigError, match=r"plugin' did not answer within"):
        await run_plugin(plugin(tmp_path, "exec sleep 60"), CLUSTER)


async def test_a_plugin_is_ended_with_the_task_that_waits_for_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    os.mkfifo(pid_file)
    hanging = plugin(tmp_path, f"echo $$ > {pid_file}; exec sleep 60")
    running = asyncio.create_task(run_plugin(hanging, CLUSTER))
    pid = int(await asyncio.to_thread(pid_file.read_text))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


class TestAnswers:
    @pytest.mark.parametrize(
        ("out", "message"),
        [
            ("no json", "did not answer with an ExecCredential"),
            ("", "did not answer with an ExecCredential"),
            ("{}", "did not answer with an ExecCredential: .*`apiVersion`"),
            (answer(token=5), r"did not answer with an ExecCredential: .*`\$.status.token`"),
            (
                answer(token="t", expirationTimestamp="tomorrow"),
                r"did not answer with an ExecCredential: .*expirationTimestamp",
            ),
            (answer(V1BETA1, token="t"), f"answered with {V1BETA1} ExecCredential, wanted {V1} "),
            (answer(kind="Secret", token="t"), f"answered with {V1} Secret, wanted {V1} "),
            (answer(), "answered with neither a token nor a certificate"),
            (json.dumps({"apiVersion": V1, "kind": "ExecCredential"}), "answered with neither"),
            (answer(clientCertificateData="C"), "answered with a certificate or a key, but not"),
            (answer(token="t", clientKeyData="K"), "answered with a certificate or a key, but not"),
        ],
    )
    def test_what_is_wrong_is_named(self, out: str, message: str) -> None:
        with pytest.raises(ConfigError, match=f"^credential plugin 'cloud-auth' {message}"):
            parse_answer(of_kubeconfig(command="cloud-auth"), out.encode())

    async def test_what_a_plugin_prints_is_its_answer(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="did not answer with an ExecCredential"):
            await run_plugin(plugin(tmp_path, "echo garbage"), CLUSTER)


class TestEnvironment:
    """The plugin shows what it was given by writing it down."""

    async def seen(self, directory: Path, **fields: Any) -> dict[str, str]:
        script = f"""
            printf '%s' "$KUBERNETES_EXEC_INFO" > {directory}/info
            printf '%s|' "$@" > {directory}/args
            printf '%s' "$CLOUD" > {directory}/variable
            {{ cat; echo end; }} > {directory}/input
            """
        await run_plugin(plugin(directory, script + printing(answer(token="t")), **fields), CLUSTER)
        return read_all(directory)

    async def test_it_is_told_what_is_wanted(self, tmp_path: Path) -> None:
        seen = await self.seen(tmp_path)
        assert json.loads(seen["info"]) == {
            "apiVersion": V1,
            "kind": "ExecCredential",
            "spec": {"interactive": False},
        }

    async def test_it_is_told_of_the_cluster_if_it_asks(self, tmp_path: Path) -> None:
        seen = await self.seen(tmp_path, provideClusterInfo=True)
        assert json.loads(seen["info"])["spec"] == {
            "interactive": False,
            "cluster": {
                "server": "https://host",
                "certificate-authority-data": "Q0E=",
                "tls-server-name": "kubernetes",
            },
        }

    async def test_arguments(self, tmp_path: Path) -> None:
        assert (await self.seen(tmp_path, args=["a b", "$HOME"]))["args"] == "a b|$HOME|"

    async def test_variables_are_added_to_our_own(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CLOUD", "ours")
        assert (await self.seen(tmp_path))["variable"] == "ours"
        theirs = [{"name": "CLOUD", "value": "theirs"}]
        assert (await self.seen(tmp_path, env=theirs))["variable"] == "theirs"

    async def test_there_is_nobody_to_be_asked(self, tmp_path: Path) -> None:
        assert (await self.seen(tmp_path))["input"] == "end\n"
