"""Prints the rules as an object for the Prometheus operator."""

import sys
from pathlib import Path

RULES = Path(__file__).with_name("rules.yaml")
HEAD = """\
# Made from rules.yaml by `make monitoring`.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: intact
  labels:
    app.kubernetes.io/name: intact
spec:
"""


def rule_object() -> str:
    _comment, _, groups = RULES.read_text().partition("\ngroups:\n")
    lines = ["groups:", *groups.splitlines()]
    return HEAD + "".join(f"  {line}".rstrip() + "\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(rule_object())
