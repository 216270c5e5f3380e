"""How to reach a cluster: from a kubeconfig, or from inside a pod.

The rules are kubectl's: `--kubeconfig`, else $KUBECONFIG (several files, merged, the first to name
a thing wins), else ~/.kube/config; and, without any of these, the pod's own service account.
"""

import base64
import binascii
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from intact.kube.errors import ConfigError
from intact.kube.exec_plugin import ExecConfig

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class User:
    """Who we are. At most one of token, token_file, basic and exec is set; a client certificate
    may stand beside any of them."""

    token: str = ""
    token_file: Path | None = None
    basic: tuple[str, str] | None = None
    exec: ExecConfig | None = None
    client_certificate: bytes = b""
    client_key: bytes = b""
    impersonate: str = ""
    impersonate_uid: str = ""
    impersonate_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """A cluster and a user of it."""

    server: str
    user: User = User()
    certificate_authority: bytes = b""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    proxy_url: str = ""
    namespace: str = "default"
    context: str = ""
    """Of the kubeconfig; empty inside a cluster."""
    source: str = ""
    """Where this came from, for messages."""


def load(kubeconfig: str | None = None, context: str | None = None) -> Config:
    """The configuration that kubectl would use here."""
    if kubeconfig:
        return from_kubeconfig([Path(kubeconfig).expanduser()], context)
    if paths := os.environ.get("KUBECONFIG"):
        found = [Path(path) for path in paths.split(os.pathsep) if path]
        existing = [path for path in found if path.exists()]
        if not existing:
            raise ConfigError(f"$KUBECONFIG names no file that exists: {paths}")
        return from_kubeconfig(existing, context)
    if default := _default_kubeconfig():
        return from_kubeconfig([default], context)
    if context:
        raise ConfigError(f"context {context!r} was given, but there is no kubeconfig")
    return in_cluster()


def _default_kubeconfig() -> Path | None:
    try:
        found = Path.home() / ".kube" / "config"
    except RuntimeError:  # the user is a number without a home, as in an image
        return None
    return found if found.exists() else None


def in_cluster(directory: Path = SERVICE_ACCOUNT) -> Config:
    """From inside a pod. The config names the token's file: the kubelet renews it in place."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    port = os.environ.get("KUBERNETES_SERVICE_PORT")
    token = directory / "token"
    if not host or not port or not token.exists():
        raise ConfigError(
            "no kubeconfig (--kubeconfig, $KUBECONFIG, ~/.kube/config) and not inside a cluster"
        )
    namespace = directory / "namespace"
    authority = directory / "ca.crt"
    if not authority.exists():
        raise ConfigError(f"the pod's service account has no {authority}")
    return Config(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        user=User(token_file=token),
        certificate_authority=authority.read_bytes(),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        source="the pod's service account",
    )


def from_kubeconfig(paths: list[Path], context: str | None = None) -> Config:
    files = [_read(path) for path in paths]
    source = os.pathsep.join(str(path) for path in paths)
    name = context or next((f.current_context for _, f in files if f.current_context), "")
    if not name:
        raise ConfigError(f"{source}: no current-context is set, and no context was given")
    _, chosen = _find("context", name, [(d, f.contexts) for d, f in files], source)
    directory, cluster = _find(
        "cluster", chosen.context.cluster, [(d, f.clusters) for d, f in files], source
    )
    user = User()
    if chosen.context.user:
        user_directory, found = _find(
            "user", chosen.context.user, [(d, f.users) for d, f in files], source
        )
        user = _user(found, user_directory, source)
    config = _cluster(cluster, directory, source)
    namespace = chosen.context.namespace or "default"
    return replace(config, user=user, namespace=namespace, context=name)


class _File(msgspec.Struct, rename="kebab"):
    contexts: list["_Context"] | None = None
    clusters: list["_Cluster"] | None = None
    users: list["_User"] | None = None
    current_context: str = ""


class _ContextFields(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _Context(msgspec.Struct):
    name: str
    context: _ContextFields


class _ClusterFields(msgspec.Struct, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class _Cluster(msgspec.Struct):
    name: str
    cluster: _ClusterFields


class _UserFields(msgspec.Struct, rename="kebab"):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    exec: ExecConfig | None = None
    auth_provider: dict[str, object] | None = None
    act_as: str = msgspec.field(default="", name="as")
    act_as_uid: str = msgspec.field(default="", name="as-uid")
    act_as_groups: list[str] = msgspec.field(default_factory=list, name="as-groups")


class _User(msgspec.Struct):
    name: str
    user: _UserFields


_Named = TypeVar("_Named", _Context, _Cluster, _User)


def _read(path: Path) -> tuple[Path, _File]:
    try:
        return path.absolute().parent, msgspec.yaml.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise ConfigError(f"cannot read kubeconfig {path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"kubeconfig {path} is not valid: {error}") from error


def _find(
    what: str, name: str, lists: list[tuple[Path, list[_Named] | None]], source: str
) -> tuple[Path, _Named]:
    for directory, entries in lists:
        for entry in entries or []:
            if entry.name == name:
                return directory, entry
    known = sorted(entry.name for _, entries in lists for entry in entries or [])
    raise ConfigError(f"{source}: no {what} {name!r} (known: {', '.join(known) or 'none'})")


def _cluster(entry: _Cluster, directory: Path, source: str) -> Config:
    fields = entry.cluster
    where = f"{source}: cluster {entry.name!r}"
    if not fields.server.startswith(("https://", "http://")):
        raise ConfigError(f"{where}: server {fields.server!r} is not an http(s) URL")
    return Config(
        server=fields.server.rstrip("/"),
        certificate_authority=_bytes(
            fields.certificate_authority_data,
            fields.certificate_authority,
            directory,
            f"{where}: certificate-authority",
        ),
        tls_server_name=fields.tls_server_name,
        insecure_skip_tls_verify=fields.insecure_skip_tls_verify,
        proxy_url=fields.proxy_url,
        source=source,
    )


def _user(entry: _User, directory: Path, source: str) -> User:
    fields = entry.user
    where = f"{source}: user {entry.name!r}"
    if fields.auth_provider is not None:
        raise ConfigError(
            f"{where}: Kubernetes no longer supports auth-provider; use an exec plugin"
        )
    certificate = _bytes(
        fields.client_certificate_data,
        fields.client_certificate,
        directory,
        f"{where}: client-certificate",
    )
    key = _bytes(fields.client_key_data, fields.client_key, directory, f"{where}: client-key")
    if bool(certificate) != bool(key):
        raise ConfigError(f"{where}: client-certificate and client-key must be given together")
    if fields.exec is not None:
        fields.exec.check(where)
    # As in kubectl: a token's file beats the token, and both beat a password, which beats a plugin.
    token_file = directory / fields.token_file if fields.token_file else None
    has_token = bool(fields.token or token_file)
    return User(
        token="" if token_file else fields.token,
        token_file=token_file,
        basic=(fields.username, fields.password) if fields.username and not has_token else None,
        exec=None if has_token or fields.username else _located(fields.exec, directory),
        client_certificate=certificate,
        client_key=key,
        impersonate=fields.act_as,
        impersonate_uid=fields.act_as_uid,
        impersonate_groups=tuple(fields.act_as_groups),
    )


def _located(plugin: ExecConfig | None, directory: Path) -> ExecConfig | None:
    """A plugin given as a relative path is relative to its kubeconfig; a bare name is on $PATH."""
    if plugin is None or "/" not in plugin.command:
        return plugin
    return msgspec.structs.replace(plugin, command=str(directory / plugin.command))


def _bytes(data: str, path: str, directory: Path, where: str) -> bytes:
    if data:
        try:
            # Lines may be broken, as Go allows it.
            return base64.b64decode("".join(data.split()), validate=True)
        except binascii.Error as error:
            raise ConfigError(f"{where}-data is not base64: {error}") from error
    if not path:
        return b""
    try:
        return (directory / path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{where}: {error}") from error
