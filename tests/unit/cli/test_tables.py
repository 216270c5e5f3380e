from intact.cli.tables import table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table([["A", "B"], ["long", "x"]]) == ["A     B", "long  x"]
