"""The documentation names everything that users can set or see."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

from intact.budget.pdb import group_conditions, group_settings
from intact.budget.pdb.group_decision import Reason as GroupReason
from intact.budget.pdb.scope import SCOPE_LABEL
from intact.budget.pub import conditions
from intact.budget.pub.decision import Reason
from intact.cli.main import main
from intact.kube.client import Client
from intact.kube.lease import Election
from intact.model.event import ObjectReference
from intact.operator.install.rbac import OWNERS_LABEL
from intact.operator.metrics import Metrics
from intact.operator.pdb.controller import PdbController
from intact.operator.pub.controller import PubController
from intact.operator.pub.gate import NATIVE_REFUSAL
from intact.operator.rbg.controller import RbgController
from intact.operator.webhook import audit, decisions
from intact.operator.webhook.configuration import (
    UrlAddress,
    mutating_configuration,
    validating_configuration,
)
from intact.operator.webhook.denials import Denial, fields_of
from intact.operator.webhook.serving import Webhooks
from intact.picture.reasons import Reason as VerdictReason
from intact.sandbox import MemoryApi
from tests.support.examples import EXAMPLES, ROOT, covering_test, documents

CLI = (ROOT / "docs/reference/cli.md").read_text()
METRICS = (ROOT / "docs/reference/metrics.md").read_text()
REFUSALS = (ROOT / "docs/reference/refusals.md").read_text()
PDB = (ROOT / "docs/reference/pdb.md").read_text()
PUB = (ROOT / "docs/reference/pub.md").read_text()
WHY = (ROOT / "docs/why.md").read_text()
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
DEVELOPMENT = (ROOT / "docs/development.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])


def options() -> list[tuple[str, str]]:
    return list(options_of(main))


def options_of(group: click.Group, path: str = "") -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from options_of(command, f"{path}{name} ")
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield from ((path + name, option) for option in parameter.opts)


@pytest.mark.parametrize(("command", "option"), options())
def test_every_option_is_documented(command: str, option: str) -> None:
    section = CLI.partition(f"## intact {command}\n")[2].partition("\n## ")[0]
    assert f"`{option}" in section


def test_the_plan_that_is_shown_is_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [(arguments, shown)] = re.findall(
        r"^```console\n\$ intact (rbg plan [^\n]+)\n(.*?)^```$", CLI, re.MULTILINE | re.DOTALL
    )
    monkeypatch.chdir(ROOT)
    assert CliRunner().invoke(main, arguments.split()).output == shown


OURS = r"^# TYPE ((?:intact|workqueue|disruption_controller)_\w+)"


async def metric_names() -> set[str]:
    client = Client(MemoryApi())
    metrics = Metrics(Election(client, "default", "intact", "me"))
    pub = PubController(client, "me", now=lambda: datetime.now(UTC), leads=lambda: False)
    metrics.show_reflectors(lambda: pub.reflectors)
    metrics.show_pub(pub)
    metrics.show_pdb(
        PdbController(client, "me", now=lambda: datetime.now(UTC), leads=lambda: False)
    )
    metrics.show_rbg(
        RbgController(client, "me", now=lambda: datetime.now(UTC), leads=lambda: False)
    )
    bind = ("127.0.0.1", 0)
    metrics.show_webhooks(Webhooks(client, "default", {}, bind, None, pub.wait_synced))
    types = re.findall(OURS, metrics.render().decode(), re.MULTILINE)
    return {name for name in types if not name.endswith("_created")}


async def test_every_metric_is_documented_and_no_other() -> None:
    named = set(re.findall(r"^\| `(\w+_\w+)` \|", METRICS, re.MULTILINE))
    assert named == await metric_names()


@pytest.mark.parametrize("condition", sorted(conditions.OURS))
def test_every_condition_is_documented(condition: str) -> None:
    assert f"| `{condition}` |" in PUB


def test_every_reason_of_a_condition_is_documented() -> None:
    source = Path(conditions.__file__).read_text()
    reasons = set(re.findall(r'(?:reason=|Absence\()"(\w+)"', source))
    assert {"Gated", "NoPods", "AllMustStay"} <= reasons
    assert sorted(each for each in reasons if f"`{each}`" not in PUB) == []


@pytest.mark.parametrize("reason", [*Reason, *GroupReason])
def test_every_reason_of_a_decision_is_documented(reason: str) -> None:
    assert f"| `{reason}` |" in METRICS


def rows(section: str) -> set[str]:
    """The first cells of the tables in a section of the page on refusals."""
    found = REFUSALS.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([\w-]+)` \|", found, re.MULTILINE))


def test_every_field_of_a_denial_in_the_log_is_documented_and_no_other() -> None:
    reference = ObjectReference()
    denial = Denial(reference, reference, "", "", "", "")
    assert rows("Fields of log lines") == fields_of(denial, set(), 1).keys()


def test_every_audit_annotation_and_its_own_reasons_are_documented_and_no_other() -> None:
    reasons = {*audit.Reason, NATIVE_REFUSAL} - {*Reason}
    assert rows("Audit annotations") == {*audit.KEYS, *reasons}


@pytest.mark.parametrize("decision", audit.Decision)
def test_every_decision_in_the_audit_log_is_documented(decision: str) -> None:
    assert f"`{decision}`" in REFUSALS


def test_every_webhook_that_audits_is_documented() -> None:
    address = UrlAddress("localhost", 1)
    registered = [
        *validating_configuration(address, b"")["webhooks"],
        *mutating_configuration(address, b"")["webhooks"],
    ]
    names = {each["name"] for each in registered} - {"pods.place.intact.dev"}  # refuses nothing
    assert sorted(name for name in names if f"`{name}`" not in REFUSALS) == []


def test_the_bound_of_series_is_documented() -> None:
    assert f"{decisions.MOST:,} budgets" in METRICS


@pytest.mark.parametrize("reason", list(VerdictReason))
def test_every_reason_of_a_verdict_is_documented(reason: str) -> None:
    assert f"| `{reason}` |" in WHY


SETTINGS = (
    SCOPE_LABEL,
    group_settings.GROUP_LABEL_KEY,
    group_settings.MIN_READY_REPLICAS,
    group_settings.EXPECTED_REPLICAS,
    "intact.dev/enforcement",
    group_settings.REPLICAS,
    group_settings.LEDGER,
)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_of_a_native_budget_is_documented(name: str) -> None:
    assert f"| `{name}` |" in PDB.replace("| label `", "| `")


REASONS = [
    value
    for name, value in vars(group_conditions).items()
    if name.isupper() and isinstance(value, str)
]


@pytest.mark.parametrize("reason", REASONS)
def test_every_condition_of_a_native_budget_is_documented(reason: str) -> None:
    assert f"| `{reason}` |" in PDB


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text()):
        found = page.parent / target if target else page
        assert found.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(found), f"{page.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_speak_only_of_documents_that_are_here(page: Path) -> None:
    assert not re.search(r"\bthe (seed|design)('s)?\b", page.read_text(), re.IGNORECASE)


YAML = [
    (page, block)
    for page in PAGES
    for block in re.findall(r"^```yaml\n(.*?)\n```$", page.read_text(), re.MULTILINE | re.DOTALL)
]

TRIED_ELSEWHERE = {"install.md", "beside-others.md"}
"""Their YAML is not of Intact's kinds: a test below, and tests/karpenter, read it there."""


@pytest.mark.parametrize(
    ("page", "block"),
    [(page, block) for page, block in YAML if page.name not in TRIED_ELSEWHERE],
    ids=lambda each: each.name if isinstance(each, Path) else "",
)
def test_yaml_in_pages_is_of_the_examples(page: Path, block: str) -> None:
    assert block in [one for each in EXAMPLES for one in documents(each.read_text())]


def test_the_readme_shows_each_kind_of_budget() -> None:
    shown = [msgspec.yaml.decode(block) for page, block in YAML if page.name == "README.md"]
    kinds = [each["kind"] for each in shown]
    assert kinds == ["PodUnavailableBudget", "PodDisruptionBudget", "RoleBasedGroup"]


def test_the_role_for_more_kinds_is_one_that_is_aggregated() -> None:
    [block] = [block for page, block in YAML if page.name == "install.md"]
    found = msgspec.yaml.decode(block)
    assert found["kind"] == "ClusterRole"
    assert found["metadata"]["labels"] == {OWNERS_LABEL: "true"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_example_is_listed_and_applied_by_a_cluster_test(example: Path) -> None:
    assert f"| [{example.name}]({example.name}) |" in (ROOT / "examples/README.md").read_text()
    tests = (ROOT / "tests/cluster/test_examples.py").read_text()
    assert f"\nasync def {covering_test(example)}(" in tests


SOURCES = ROOT / "src/intact"


def rooms() -> dict[str, list[str]]:
    """The rooms that the page on the architecture names, with the modules that it names there."""
    section = ARCHITECTURE.partition("## The rooms\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w/]+)` \| .* \| (`.+`) \|$", section, re.MULTILINE)
    return {room: re.findall(r"`(\w+)`", modules) for room, modules in rows}


def test_every_room_is_on_the_page_of_the_architecture() -> None:
    packages = {str(found.parent.relative_to(SOURCES)) for found in SOURCES.rglob("__init__.py")}
    inner = {each for each in packages if each.count("/") > 1}
    assert set(rooms()) == packages - inner - {"."}


@pytest.mark.parametrize(("room", "modules"), rooms().items(), ids=list(rooms()))
def test_modules_on_the_page_of_the_architecture_exist(room: str, modules: list[str]) -> None:
    assert modules
    assert [name for name in modules if not (SOURCES / room / f"{name}.py").is_file()] == []


def test_places_in_the_journeys_exist() -> None:
    journeys = ARCHITECTURE.partition("## Three journeys\n")[2]
    places = re.findall(r"`((?:model|budget|rollout|kube|operator|cli)/[\w/]+)`", journeys)
    assert places
    assert [each for each in places if not (SOURCES / f"{each}.py").is_file()] == []


def test_the_pictures_of_the_page_are_those_that_its_tests_make() -> None:
    made = re.findall(r'keep\(visit, "(\w+)"', (ROOT / "tests/page/test_views.py").read_text())
    files = {path.name for path in (ROOT / "docs/images").iterdir()}
    shown = set(re.findall(r"\(images/([\w.-]+)\)", (ROOT / "docs/dashboard.md").read_text()))
    assert files == shown == {f"page-{name}.png" for name in made}


def make_targets() -> set[str]:
    lines = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return {name for line in lines for name in line.split()}


def test_every_make_target_is_documented() -> None:
    assert make_targets() == set(re.findall(r"^\| `make ([\w-]+)` \|", DEVELOPMENT, re.MULTILINE))


# The changelog also names what is gone.
PRESENT = [page for page in PAGES if page.name != "CHANGELOG.md"]


@pytest.mark.parametrize("page", PRESENT, ids=lambda page: page.name)
def test_make_targets_in_pages_exist(page: Path) -> None:
    commands = re.findall(r"(?:`|\$ )make ([a-z -]+)", page.read_text())
    assert {target for each in commands for target in each.split()} <= make_targets()


def test_every_benchmark_is_documented() -> None:
    [names] = re.findall(r"^BENCHES := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    page = (ROOT / "docs/benchmarks.md").read_text()
    assert set(names.split()) == set(re.findall(r"^\| \[`(\w+)`\]\(", page, re.MULTILINE))
