"""Lists in every format."""

import json

from intact.cli.get.listing import Heads, Row, shown

HEADS = Heads(["NAME", "UNIT"], ["MORE"])
ROW = Row("ns", ("pod/a", "a"), ["a", "pods"], ["x"], {"name": "a"}, [{}])


def said(output: str = "", *, rows: int = 1, namespaces: bool = False) -> list[str]:
    return shown(HEADS, [ROW] * rows, output, namespaces=namespaces, single=rows == 1)


def test_a_table() -> None:
    assert said() == ["NAME  UNIT", "a     pods"]
    assert said("wide") == ["NAME  UNIT  MORE", "a     pods  x"]
    assert said(namespaces=True) == ["NAMESPACE  NAME  UNIT", "ns         a     pods"]
    assert said(rows=0) == []


def test_names() -> None:
    assert said("name", rows=2) == ["pod/a", "pod/a"]


def test_documents() -> None:
    assert json.loads(said("json")[0]) == {"name": "a"}
    assert json.loads(said("json", rows=2)[0]) == {"items": [{"name": "a"}, {"name": "a"}]}
    assert said("yaml", rows=0) == ["items: []"]
