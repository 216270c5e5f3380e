"""Which cluster, as whom: the rules of kubectl, and messages that say what to mend."""

import base64
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from intact.kube.config import Config, User, from_kubeconfig, in_cluster, load
from intact.kube.errors import ConfigError

Json = dict[str, Any]
V1 = "client.authentication.k8s.io/v1"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of the machine that the tests run on is to be seen."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    return home


def content(
    name: str = "main", *, cluster: Json | None = None, user: Json | None = None, **context: str
) -> Json:
    """A kubeconfig whose context, cluster and user have one name."""
    return {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}"} | (cluster or {})}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name} | context}],
        "current-context": name,
    }


def write(path: Path, kubeconfig: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.yaml.encode(kubeconfig))
    return path


def read(tmp_path: Path, kubeconfig: Json, context: str | None = None) -> Config:
    return from_kubeconfig([write(tmp_path / "config", kubeconfig)], context)


def user_of(tmp_path: Path, **fields: Any) -> User:
    return read(tmp_path, content(user=fields)).user


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_the_current_context_names_cluster_user_and_namespace(tmp_path: Path) -> None:
    found = read(tmp_path, content(user={"token": "t"}, namespace="ns"))
    assert found == Config(
        server="https://main",
        user=User(token="t"),
        namespace="ns",
        context="main",
        source=str(tmp_path / "config"),
    )


def test_another_context_can_be_asked_for(tmp_path: Path) -> None:
    one, two = content("one"), content("two", user={"token": "t2"})
    both = {key: one[key] + two[key] for key in ("clusters", "users", "contexts")}
    both["current-context"] = "one"
    assert read(tmp_path, both).server == "https://one"
    found = read(tmp_path, both, context="two")
    assert (found.server, found.user.token) == ("https://two", "t2")


def test_a_context_without_a_namespace_means_default(tmp_path: Path) -> None:
    assert read(tmp_path, content()).namespace == "default"


def test_a_context_may_have_no_user(tmp_path: Path) -> None:
    kubeconfig = content() | {"users": None}
    del kubeconfig["contexts"][0]["context"]["user"]
    assert read(tmp_path, kubeconfig).user == User()


def test_the_fields_of_a_cluster(tmp_path: Path) -> None:
    cluster = {
        "server": "https://host:6443/prefix/",
        "certificate-authority-data": encoded(b"authority"),
        "tls-server-name": "kubernetes",
        "insecure-skip-tls-verify": True,
        "proxy-url": "http://proxy:3128",
    }
    found = read(tmp_path, content(cluster=cluster))
    assert found.server == "https://host:6443/prefix"
    assert found.certificate_authority == b"authority"
    assert found.tls_server_name == "kubernetes"
    assert found.insecure_skip_tls_verify
    assert found.proxy_url == "http://proxy:3128"


def test_a_kubeconfig_may_be_full_of_things_we_do_not_know(tmp_path: Path) -> None:
    kubeconfig = content() | {"preferences": {}, "extensions": [{"name": "x", "extension": {}}]}
    kubeconfig["clusters"][0]["cluster"]["extensions"] = [{"name": "x"}]
    assert read(tmp_path, kubeconfig).server == "https://main"


class TestFiles:
    def test_paths_are_relative_to_their_kubeconfig(self, tmp_path: Path) -> None:
        for name in ("ca", "crt", "key"):
            (tmp_path / name).write_text(f"the {name}")
        path = write(
            tmp_path / "deep" / "config",
            content(
                cluster={"certificate-authority": "../ca"},
                user={
                    "client-certificate": "../crt",
                    "client-key": str(tmp_path / "key"),
                    "tokenFile": "token",
                },
            ),
        )
        found = from_kubeconfig([path])
        assert found.certificate_authority == b"the ca"
        assert found.user.client_certificate == b"the crt"
        assert found.user.client_key == b"the key"
        assert found.user.token_file == tmp_path / "deep" / "token"

    @pytest.mark.parametrize(
        ("command", "located"),
        [("./plugin", "{}/plugin"), ("bin/plugin", "{}/bin/plugin"), ("/p", "/p"), ("p", "p")],
    )
    def test_a_plugin_with_a_path_is_relative_to_its_kubeconfig(
        self, tmp_path: Path, command: str, located: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path / "config", content(user={"exec": {"apiVersion": V1, "command": command}}))
        monkeypatch.chdir(tmp_path)
        for path in (Path("config"), tmp_path / "config"):
            plugin = from_kubeconfig([path]).user.exec
            assert plugin is not None
            assert plugin.command == located.format(tmp_path)

    def test_inline_data_beats_a_path(self, tmp_path: Path) -> None:
        cluster = {
            "certificate-authority": "missing",
            "certificate-authority-data": encoded(b"inline"),
        }
        assert read(tmp_path, content(cluster=cluster)).certificate_authority == b"inline"

    def test_base64_may_be_broken_into_lines(self, tmp_path: Path) -> None:
        lines = base64.encodebytes(b"authority" * 20).decode()
        assert lines.count("\n") > 1
        found = read(tmp_path, content(cluster={"certificate-authority-data": lines}))
        assert found.certificate_authority == b"authority" * 20


class TestUser:
    def test_a_client_certificate_stands_beside_a_token(self, tmp_path: Path) -> None:
        fields = {
            "client-certificate-data": encoded(b"crt"),
            "client-key-data": encoded(b"key"),
            "token": "t",
        }
        assert user_of(tmp_path, **fields) == User(
            token="t", client_certificate=b"crt", client_key=b"key"
        )

    def test_impersonation(self, tmp_path: Path) -> None:
        user = user_of(tmp_path, **{"as": "jane", "as-uid": "7", "as-groups": ["a", "b"]})
        assert user == User(impersonate="jane", impersonate_uid="7", impersonate_groups=("a", "b"))

    @pytest.mark.parametrize(
        ("given", "taken"),
        [
            ({"token"}, "token"),
            ({"tokenFile"}, "token_file"),
            ({"username"}, "basic"),
            ({"exec"}, "exec"),
            ({"token", "tokenFile"}, "token_file"),
            ({"token", "username", "exec"}, "token"),
            ({"tokenFile", "username", "exec"}, "token_file"),
            ({"username", "exec"}, "basic"),
        ],
        ids=lambda value: value if isinstance(value, str) else "+".join(sorted(value)),
    )
    def test_of_several_credentials_one_is_taken(
        self, tmp_path: Path, given: set[str], taken: str
    ) -> None:
        fields: Json = {
            "token": "t",
            "tokenFile": "f",
            "username": "u",
            "exec": {"apiVersion": V1, "command": "p"},
        }
        user = user_of(tmp_path, **{name: fields[name] for name in given})
        ways = {name: getattr(user, name) for name in ("token", "token_file", "basic", "exec")}
        assert [name for name, value in ways.items() if value] == [taken]

    def test_a_password(self, tmp_path: Path) -> None:
        assert user_of(tmp_path, username="u", password="p").basic == ("u", "p")


class TestMerging:
    def test_the_first_file_to_name_a_thing_wins(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = {"users": [{"name": "main", "user": {"token": "of the first"}}]}
        second = content("main", cluster={"server": "https://second"}, user={"token": "no"})
        third = content("other", cluster={"server": "https://third"})
        files = [write(tmp_path / str(n), each) for n, each in enumerate((first, second, third))]
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
        found = load()
        assert (found.server, found.user.token) == ("https://second", "of the first")
        assert load(context="other").server == "https://third"

    def test_each_file_s_paths_are_relative_to_itself(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        users = {"users": [{"name": "main", "user": {"tokenFile": "t"}}]}
        files = [write(tmp_path / "a" / "c", users), write(tmp_path / "b" / "c", content())]
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
        assert load().user.token_file == tmp_path / "a" / "t"

    def test_files_that_do_not_exist_are_passed_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        there = write(tmp_path / "there", content())
        paths = [str(tmp_path / "missing"), "", str(there)]
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(paths))
        assert load().server == "https://main"

    def test_some_file_must_exist(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KUBECONFIG", "/missing/one:/missing/two")
        with pytest.raises(ConfigError, match=r"KUBECONFIG .*: /missing/one:/missing/two"):
            load()


class TestErrors:
    @pytest.mark.parametrize(
        ("kubeconfig", "message"),
        [
            (content() | {"current-context": ""}, "{}: no current-context"),
            (
                content() | {"current-context": "away"},
                "{}: no context 'away' (known: main)",
            ),
            (content() | {"contexts": None}, "{}: no context 'main' (known: none)"),
            (content() | {"clusters": []}, "{}: no cluster 'main' (known: none)"),
            (content() | {"users": []}, "{}: no user 'main' (known: none)"),
            (
                content(cluster={"server": "host:6443"}),
                "{}: cluster 'main': server 'host:6443' is not an http(s) URL",
            ),
            (content(cluster={"server": ""}), "{}: cluster 'main': server ''"),
            (
                content(cluster={"certificate-authority-data": "%%"}),
                "{}: cluster 'main': certificate-authority-data is not base64",
            ),
            (
                content(cluster={"certificate-authority": "/missing/ca.crt"}),
                "{}: cluster 'main': certificate-authority: [Errno 2] No such file",
            ),
            (
                content(user={"auth-provider": {"name": "gcp"}}),
                "{}: user 'main': Kubernetes no longer supports auth-provider; use an exec plugin",
            ),
            (
                content(user={"client-certificate-data": encoded(b"crt")}),
                "{}: user 'main': client-certificate and client-key must be given together",
            ),
            (
                content(user={"client-key-data": encoded(b"key")}),
                "{}: user 'main': client-certificate and client-key must be given together",
            ),
            (
                content(user={"client-key-data": "%%"}),
                "{}: user 'main': client-key-data is not base64",
            ),
            (
                content(user={"exec": {"apiVersion": "v1alpha1", "command": "p"}}),
                "{}: user 'main': exec.apiVersion 'v1alpha1' is not one of",
            ),
            (
                content(
                    user={"exec": {"apiVersion": V1, "command": "p", "interactiveMode": "Always"}}
                ),
                "{}: user 'main': exec.interactiveMode Always needs a terminal",
            ),
            (
                content(user={"exec": {"apiVersion": V1}}),
                "{} is not valid: Object missing required field `command` - at `$.users[0].user",
            ),
            (
                content(user={"token": 5}),
                "{} is not valid: Expected `str`, got `int` - at `$.users[0].user.token`",
            ),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_what_is_wrong_is_named(self, tmp_path: Path, kubeconfig: Json, message: str) -> None:
        with pytest.raises(ConfigError, match=re.escape(message.format(tmp_path / "config"))):
            read(tmp_path, kubeconfig)

    @pytest.mark.parametrize("text", [b"a: [", b"\xff\xfe\xfd", b"just words", b""])
    def test_a_file_that_is_no_kubeconfig(self, tmp_path: Path, text: bytes) -> None:
        path = tmp_path / "config"
        path.write_bytes(text)
        with pytest.raises(ConfigError, match=f"kubeconfig {path} is not valid"):
            load(str(path))

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        path = tmp_path / "missing"
        with pytest.raises(ConfigError, match=f"cannot read kubeconfig {path}: No such file"):
            load(str(path))

    def test_a_context_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"no context 'x' \(known: main\)"):
            read(tmp_path, content(), context="x")


class TestInCluster:
    @pytest.fixture
    def account(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        directory = tmp_path / "account"
        directory.mkdir()
        (directory / "token").write_text("secret\n")
        (directory / "ca.crt").write_text("authority")
        (directory / "namespace").write_text("intact-system\n")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
        return directory

    def test_the_service_account(self, account: Path) -> None:
        assert in_cluster(account) == Config(
            server="https://10.96.0.1:443",
            user=User(token_file=account / "token"),
            certificate_authority=b"authority",
            namespace="intact-system",
            source="the pod's service account",
        )

    def test_a_user_without_a_home_is_asked_for_no_kubeconfig_there(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("HOME")
        monkeypatch.setattr(os, "getuid", lambda: 2**31 - 5)
        with pytest.raises(ConfigError, match="not inside a cluster"):
            load()

    def test_a_server_with_an_ipv6_address(
        self, account: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
        assert in_cluster(account).server == "https://[fd00::1]:443"

    def test_the_namespace_may_be_missing(self, account: Path) -> None:
        (account / "namespace").unlink()
        assert in_cluster(account).namespace == "default"

    def test_the_authority_may_not_be_missing(self, account: Path) -> None:
        (account / "ca.crt").unlink()
        with pytest.raises(ConfigError, match=str(account / "ca.crt")):
            in_cluster(account)

    @pytest.mark.parametrize("name", ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"])
    def test_outside_of_a_pod(
        self, account: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv(name)
        with pytest.raises(ConfigError, match=r"no kubeconfig .* and not inside a cluster"):
            in_cluster(account)

    def test_a_service_account_without_a_token(self, account: Path) -> None:
        (account / "token").unlink()
        with pytest.raises(ConfigError, match="not inside a cluster"):
            in_cluster(account)


class TestPrecedence:
    @pytest.fixture(autouse=True)
    def everything(self, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path / "given", content("given"))
        write(tmp_path / "environment", content("environment"))
        write(home / ".kube" / "config", content("home"))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "environment"))

    def test_a_kubeconfig_that_is_given(self, tmp_path: Path) -> None:
        assert load(str(tmp_path / "given")).server == "https://given"

    def test_a_kubeconfig_that_is_given_from_home(self) -> None:
        assert load("~/.kube/config").server == "https://home"

    def test_the_environment_comes_after_the_option(self) -> None:
        assert load().server == "https://environment"

    @pytest.mark.parametrize("unset", [True, False])
    def test_the_home_directory_comes_after_the_environment(
        self, unset: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if unset:
            monkeypatch.delenv("KUBECONFIG")
        else:
            monkeypatch.setenv("KUBECONFIG", "")
        assert load().server == "https://home"

    def test_the_pod_comes_last(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("KUBECONFIG")
        (home / ".kube" / "config").unlink()
        with pytest.raises(ConfigError, match="not inside a cluster"):
            load()

    def test_a_pod_has_no_contexts(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("KUBECONFIG")
        (home / ".kube" / "config").unlink()
        with pytest.raises(ConfigError, match="context 'x' was given, but there is no kube"):
            load(context="x")
