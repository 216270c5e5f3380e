"""Credential plugins: `client.authentication.k8s.io` v1 and v1beta1."""

import asyncio
import os
from datetime import datetime

import msgspec

from intact.kube.errors import ConfigError

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
TIMEOUT = 60.0


class _Variable(msgspec.Struct):
    name: str
    value: str


class ExecConfig(msgspec.Struct, rename="camel", frozen=True):
    """The `exec` part of a kubeconfig's user."""

    command: str
    api_version: str = ""
    args: list[str] | None = None
    env: list[_Variable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"

    def check(self, where: str) -> None:
        if self.api_version not in API_VERSIONS:
            raise ConfigError(
                f"{where}: exec.apiVersion {self.api_version!r} is not one of "
                f"{', '.join(API_VERSIONS)}"
            )
        if self.interactive_mode == "Always":
            raise ConfigError(
                f"{where}: exec.interactiveMode Always needs a terminal, and Intact has none"
            )


class ExecCredential(msgspec.Struct, rename="camel", frozen=True):
    """What a plugin answered."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Answer(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: ExecCredential | None = None


class ClusterInfo(msgspec.Struct, rename="kebab", omit_defaults=True):
    """The cluster as described to a plugin that asks for it (`provideClusterInfo`)."""

    server: str
    certificate_authority_data: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    proxy_url: str = ""


async def run_plugin(plugin: ExecConfig, cluster: ClusterInfo) -> ExecCredential:
    """Ask the plugin for credentials. Raises `ConfigError`."""
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *(plugin.args or []),
            env=_environment(plugin, cluster),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        hint = f"; {plugin.install_hint.strip()}" if plugin.install_hint else ""
        raise ConfigError(
            f"credential plugin {plugin.command!r} cannot be run: {error.strerror}{hint}"
        ) from error
    try:
        async with asyncio.timeout(TIMEOUT):
            out, err = await process.communicate()
    except TimeoutError:
        raise ConfigError(
            f"credential plugin {plugin.command!r} did not answer within {TIMEOUT:.0f} s"
        ) from None
    finally:
        if process.returncode is None:  # also when we are cancelled
            process.kill()
            await process.wait()
    if process.returncode:
        detail = err.decode("utf-8", "replace").strip()[-500:]
        raise ConfigError(
            f"credential plugin {plugin.command!r} failed with code {process.returncode}: {detail}"
        )
    return parse_answer(plugin, out)


def parse_answer(plugin: ExecConfig, out: bytes) -> ExecCredential:
    where = f"credential plugin {plugin.command!r}"
    try:
        answer = msgspec.json.decode(out, type=_Answer)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{where} did not answer with an ExecCredential: {error}") from error
    if answer.kind != "ExecCredential" or answer.api_version != plugin.api_version:
        raise ConfigError(
            f"{where} answered with {answer.api_version} {answer.kind}, "
            f"wanted {plugin.api_version} ExecCredential"
        )
    found = answer.status
    if found is None or not (found.token or found.client_certificate_data):
        raise ConfigError(f"{where} answered with neither a token nor a certificate")
    if bool(found.client_certificate_data) != bool(found.client_key_data):
        raise ConfigError(f"{where} answered with a certificate or a key, but not both")
    return found


def _environment(plugin: ExecConfig, cluster: ClusterInfo) -> dict[str, str]:
    spec: dict[str, object] = {"interactive": False}
    if plugin.provide_cluster_info:
        spec["cluster"] = cluster
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    extra = {variable.name: variable.value for variable in plugin.env or []}
    return {**os.environ, **extra, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
