"""What the card of a model of others says of its license, whatever is in it."""

import tracemalloc

import pytest

from translate.models.origin import front_matter, license_of


def card(*lines: str) -> str:
    return "\n".join(["---", *lines, "---", "# Theirs", ""])


@pytest.mark.parametrize(
    ("lines", "license"),
    [
        (["license: cc-by-4.0"], "cc-by-4.0"),
        (["license: [apache-2.0, mit]"], "apache-2.0, mit"),
        (["license: other", "license_name: ours"], "ours"),
        (["license: 'two", "", "  lines'"], "two lines"),
        (["license: {a: b}"], ""),
        (["license: [mit, [gpl], {a: b}, 3, null]"], "mit"),
        (["license: 3"], ""),
        (["license:"], ""),
        (["license: mit", "date: 2024-02-31"], ""),  # no YAML, as there is no such day
        (["license: mit", f"size: {'9' * 5000}"], ""),
        (["license: mit", f"deep: {'[' * 1000}{']' * 1000}"], ""),
    ],
)
def test_a_license_is_text_or_a_list_of_texts(lines: list[str], license: str) -> None:
    assert license_of(card(*lines)) == license
    assert front_matter(card(*lines))[1] == "# Theirs\n"


@pytest.mark.parametrize("shape", ["nested", "repeated", "long", "many"])
def test_a_license_is_short_whatever_its_aliases_stand_for(shape: str) -> None:
    tens = [
        f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]"
        for before, after in zip("abcdefg", "bcdefgh", strict=True)
    ]
    text = {
        "nested": card("a: &a [mit, mit]", *tens, "license: *h"),
        "repeated": card(f"a: &a '{'x ' * 5000}'", f"license: [{', '.join(['*a'] * 3000)}]"),
        "long": card(f"license: {'x' * 10_000}"),
        "many": card(f"license: [{', '.join(['mit'] * 3000)}]"),
    }[shape]
    tracemalloc.start()
    license = license_of(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(license) <= 100
    assert license.endswith("...") == (shape != "nested")
    assert peak < 2e7
