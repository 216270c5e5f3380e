"""Names are replaced word by word, so that what is part of a name stays part of it."""

import re

from intact.sandbox.snapshot.words import Words


def test_a_word_is_replaced_by_the_same_word_wherever_it_stands() -> None:
    words = Words()
    assert words.replaced("web-0") == f"{words.replaced('web')}-0"
    assert words.replaced("web-0") != words.replaced("api-0")
    assert words.replaced("shop.example/web:1.2") == words.replaced("shop.example/web:1.2")


def test_numbers_and_what_is_kept_stay() -> None:
    words = Words(kept={"abcdef0123"})
    assert words.replaced("7") == "7"
    assert words.replaced("llm-abcdef0123").endswith("-abcdef0123")


def test_a_kind_still_begins_with_a_capital_letter() -> None:
    assert re.fullmatch(r"X[a-z]+", Words().replaced("TrainingJob"))


def test_no_replacement_is_a_word_of_the_original() -> None:
    words = Words()
    words.learn("xa-xb XC xab")
    made = [words.replaced(f"name{number}") for number in range(100)]
    assert len(set(made)) == 100
    assert not {"xa", "xb", "xc", "xab"} & set(made)


def test_what_goes_by_name_goes_in_the_same_order() -> None:
    words = Words()
    names = [
        f"{word}-{number}" for word in ("api", "checkout", "web", "zebra") for number in (0, 1)
    ]
    for name in reversed(names):
        words.learn(name)
    made = [words.replaced(name) for name in reversed(names)]
    assert made == sorted(made, reverse=True)
