"""`python -m deploy.chart_files`: writes the parts of the chart that are made from the code.

The templates are written by hand. A test compares what the chart renders with `intact manifests`.
"""

import json
import textwrap
from pathlib import Path
from typing import Any

import msgspec

from intact import __version__
from intact.operator.install import crds
from intact.operator.install.foreign import CONTROLLER_OF
from intact.operator.install.rbac import PARTS, UNINSTALL_RULES, own_rules, uninstall_own_rules
from intact.operator.install.settings import defaults, empty, leaves, schema
from intact.operator.install.user_roles import user_roles
from intact.operator.names import LABELS

Json = dict[str, Any]

CHART = Path(__file__).parent / "chart"
PAGE = Path(__file__).parents[1] / "docs/reference/chart.md"
_MADE = "made by `make chart`; do not edit"
_WIDTH = 98


def files() -> dict[Path, str]:
    """Every file that is made, with its text."""
    found = {
        CHART / "values.yaml": values_file(),
        CHART / "values.schema.json": json.dumps(_schema(), indent=2) + "\n",
        CHART / "files/rules.yaml": _rules(),
        CHART / "Chart.yaml": _versioned((CHART / "Chart.yaml").read_text()),
        CHART / "README.md": with_table((CHART / "README.md").read_text()),
        PAGE: with_table(PAGE.read_text()),
    }
    for file in Path(str(crds.__file__)).parent.glob("*.yaml"):
        found[CHART / "files/crds" / file.name] = f"# {_MADE}\n{file.read_text()}"
    return found


def _schema() -> Json:
    found: Json = _by_patterns(_complete(schema()))
    # A parent chart passes it on to all charts; this one takes nothing from it.
    found["properties"]["global"] = {"type": "object"}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **found}


def _complete(node: Json) -> Json:
    """helm takes a value that is null away, with its default. The templates need those that cannot
    be empty."""
    if "properties" not in node:
        return node
    parts = {name: _complete(each) for name, each in node["properties"].items()}
    needed = [name for name, each in node["properties"].items() if empty(each) is None]
    return {**node, "properties": parts} | ({"required": needed} if needed else {})


def _by_patterns(node: Any) -> Any:
    """helm names the wrong place for a key that does not fit `propertyNames`."""
    if not isinstance(node, dict):
        return node
    found = {key: _by_patterns(value) for key, value in node.items()}
    if names := found.pop("propertyNames", None):
        patterns = {names["pattern"]: found.pop("additionalProperties")}
        if refused := names.get("not"):
            patterns[refused["pattern"]] = False
        found |= {"patternProperties": patterns, "additionalProperties": False}
    return found


def values_file() -> str:
    lines = [f"# {_MADE}"]
    _add_values(schema(), defaults(), "", lines)
    return "\n".join(lines) + "\n"


def _add_values(node: Json, values: Json, indent: str, lines: list[str]) -> None:
    for name, each in node["properties"].items():
        if not indent:
            lines.append("")
        if "properties" in each:
            lines.append(f"{indent}{name}:")
            _add_values(each, values[name], f"{indent}  ", lines)
            continue
        comment = f"{indent}# "
        text = each["description"]
        lines += textwrap.wrap(
            text, _WIDTH, initial_indent=comment, subsequent_indent=comment, break_on_hyphens=False
        )
        lines.append(f"{indent}{name}: {json.dumps(values[name])}")


def table() -> str:
    """The values of the chart, in Markdown."""
    rows = ["| value | default | meaning |", "|---|---|---|"]
    for path, node in leaves():
        default = json.dumps(_at(defaults(), path))
        description = node["description"].replace("|", "\\|")
        rows.append(f"| `{path}` | `{default}` | {description} |")
    return "\n".join(rows)


def with_table(page: str) -> str:
    """The page, with the table in the place of the one that it has."""
    before, _, rest = page.partition("| value | default | meaning |\n")
    after = rest.partition("\n\n")[2]
    return f"{before}{table()}\n\n{after}"


def _at(values: Any, path: str) -> Any:
    for step in path.split("."):
        values = values[step]
    return values


def _versioned(text: str) -> str:
    lines = [
        f"{line.partition(':')[0]}: {__version__}"
        if line.startswith(("version:", "appVersion:"))
        else line
        for line in text.splitlines()
    ]
    return "\n".join(lines) + "\n"


def _rules() -> str:
    """Rights are data: the templates choose among them by the controllers."""
    found = {
        "controllerOf": CONTROLLER_OF,
        "ofControllers": [
            {"controllers": sorted(controllers), "rules": rules} for controllers, rules in PARTS
        ],
        "own": own_rules(),
        "users": [
            {
                "name": role["metadata"]["name"],
                "labels": {
                    key: value
                    for key, value in role["metadata"]["labels"].items()
                    if key not in LABELS
                },
                "rules": role["rules"],
            }
            for role in user_roles()
        ],
        "uninstall": UNINSTALL_RULES,
        "uninstallOwn": uninstall_own_rules(),
    }
    return f"# {_MADE}\n{msgspec.yaml.encode(found).decode()}"


def main() -> None:
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
