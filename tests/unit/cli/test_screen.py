"""Pictures that are drawn again, at any size of the terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intact.cli.screen import Screen, cells, folded, printable, terminal_size
from tests.support.terminal import Terminal

LONG = "├─ prefill  ████░░░░░░░░░░░░░░░░  8/40 updated, 36 ready  Updating  (StatefulSet, 87989596)"
REASON = "│    waits for: decode: " + "a budget refuses the eviction of its pod, " * 4


def drawn(capsys: pytest.CaptureFixture[str], terminal: Terminal, *pictures: list[str]) -> Terminal:
    """All but the last are to be replaced."""
    screen = Screen(in_place=True, size=lambda: (terminal.columns, terminal.rows))
    for picture in pictures[:-1]:
        screen.show(picture)
    screen.end(pictures[-1])
    terminal.write(capsys.readouterr().out.replace("\n", "\r\n"))
    return terminal


@pytest.mark.parametrize("columns", [3, 8, 20, 40, 69, 70, 71, 80, 90, 91, 92, 93, 200])
def test_nothing_of_a_picture_remains(capsys: pytest.CaptureFixture[str], columns: int) -> None:
    last = ["head", LONG, "tail"]
    found = drawn(capsys, Terminal(columns, 999), ["first", LONG, REASON, LONG], [REASON], last)
    once = drawn(capsys, Terminal(columns, 999), last)
    assert found.lines == once.lines
    assert not found.scrolled


@given(st.lists(st.lists(st.text("ab │├─", max_size=90), max_size=6), min_size=1, max_size=4))
def test_any_pictures_leave_the_last_one(pictures: list[list[str]]) -> None:
    for columns in (9, 30, 70):
        written: list[str] = []
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(
                "intact.cli.screen.click.echo",
                lambda text, nl=True, **_: written.append(text + ("\n" if nl else "")),  # noqa: B023
            )
            screen = Screen(in_place=True, size=lambda wide=columns: (wide, 100))  # type: ignore[misc]
            for picture in pictures:
                screen.show(picture)
        terminal = Terminal(columns, 100)
        terminal.write("".join(written).replace("\n", "\r\n"))
        rows = [row for line in pictures[-1] for row in folded(line, columns - 1)]
        while rows and not rows[-1].strip():
            rows.pop()
        assert [row.rstrip() for row in rows] == terminal.lines


def test_a_picture_higher_than_the_terminal_is_cut_until_it_is_the_last(
    capsys: pytest.CaptureFixture[str],
) -> None:
    high = [f"line {number}" for number in range(10)]
    screen = Screen(in_place=True, size=lambda: (80, 5))
    terminal = Terminal(80, 5)
    for picture in (high, [*high, "more"]):
        screen.show(picture)
        terminal.write(capsys.readouterr().out.replace("\n", "\r\n"))
        assert terminal.lines[:3] == ["line 0", "line 1", "line 2"]
    assert terminal.lines[3] == "… 8 more rows"
    assert not terminal.scrolled
    screen.end(high)
    terminal.write(capsys.readouterr().out.replace("\n", "\r\n"))
    assert terminal.scrolled + terminal.lines == high


def test_after_a_change_of_the_size_the_screen_is_drawn_anew(
    capsys: pytest.CaptureFixture[str],
) -> None:
    size = [(100, 20)]
    screen = Screen(in_place=True, size=lambda: size[-1])
    screen.show([LONG])
    capsys.readouterr()
    size.append((40, 20))
    screen.show([LONG])
    terminal = Terminal(40, 20)
    terminal.write("what the terminal made of it\r\n" * 5)
    terminal.write(capsys.readouterr().out.replace("\n", "\r\n"))
    assert terminal.lines == folded(LONG, 39)


def test_elsewhere_pictures_follow_each_other_whole(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(in_place=False, size=lambda: (10, 3))
    for picture in ([LONG], [LONG], [LONG, "b"]):
        screen.show(picture)
    screen.end([LONG, "b"])
    assert capsys.readouterr().out == f"{LONG}\n\n{LONG}\nb\n"


def test_a_picture_that_stays_is_not_written_again(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(in_place=True, size=lambda: (80, 24))
    for _ in range(3):
        screen.show(["a"])
    assert capsys.readouterr().out == "a\n"


def test_lines_are_folded_between_words_and_continue_their_branch() -> None:
    assert folded("├─ decode  waits for a budget", 20) == ["├─ decode  waits for", "│    a budget"]
    assert folded("└─ decode  waits for a budget", 20) == ["└─ decode  waits for", "     a budget"]
    assert folded("short", 20) == ["short"]
    assert folded("", 20) == [""]
    assert folded("x" * 25, 10) == ["x" * 10, "  " + "x" * 8, "  " + "x" * 7]


@given(st.text(max_size=300), st.integers(-1, 120))
def test_no_row_is_wider_than_asked_for(line: str, width: int) -> None:
    rows = folded(printable(line), width)
    assert all(cells(row) <= max(2, width) for row in rows)
    kept = "".join("".join(rows).split())
    assert kept == "".join(printable(line).split())


def test_wide_characters_take_two_columns() -> None:
    assert cells("日本a") == 5
    assert cells("e\u0301") == 1
    assert folded("日" * 6, 10) == ["日" * 5, "  日"]


def test_a_message_cannot_direct_the_terminal() -> None:
    assert printable("a\x1b[2Jb\nc\td") == "a [2Jb c d"


def test_without_a_terminal_a_size_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal_size() == (80, 24)
    monkeypatch.setattr("intact.cli.screen.sys.stdout.fileno", lambda: 1, raising=False)
    monkeypatch.setattr("intact.cli.screen.os.get_terminal_size", lambda _fd: (0, 0))
    assert terminal_size() == (80, 24)
    monkeypatch.setattr("intact.cli.screen.os.get_terminal_size", lambda _fd: (70, 30))
    assert terminal_size() == (70, 30)
