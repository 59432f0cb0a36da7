"""The pages that `explain`, `compare` and `data` write, in headless Chromium."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
import torch

from tests.translate.browser import THEMES, chromium, faint_in_a_theme, scrolls_sideways, sync_api, unnamed
from translate.commands.main import main
from translate.corpus.grammar import generate
from translate.pictures.attention import AttentionPicture, View

expect = sync_api.expect

SENTENCE = "Kannst du mir helfen, diesen Satz zu übersetzen?"
WIDTHS = (390, 1400)
HELP, HELFEN, DU = (f"“\u2068{word}\u2069”" for word in ("help", "helfen", "du"))
# Each page with the number of texts that it has at least when all of it is shown.
PAGES = {"attention": 40, "attention-long": 25, "chart": 15, "compare": 200, "data": 100}
TOY = """data.source = "de"
data.target = "en"
data.root = "{root}"
data.train = [{{ source = "train.de", target = "train.en" }}]
data.valid = {{ source = "valid.de", target = "valid.en" }}
"""
WORDS = "the old dog sleeps , runs and sings in a small house by the lake . Donaudampfschifffahrtsgesellschaft".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def browser() -> Iterator["sync_api.Browser"]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one page of each kind."""
    pytest.importorskip("matplotlib")
    place = tmp_path_factory.mktemp("pages")
    attention = ["--model", "de-en", "--attention", SENTENCE, "--layer", "5"]
    assert main(["explain", *attention, "--out", str(place / "attention.html")]) == 0
    queries, keys = ([f"\u2581{WORDS[i % 13]}" for i in range(n)] for n in (50, 56))
    long = AttentionPicture(" ".join(WORDS), queries, keys, torch.rand(1, 1, 50, 56), View())
    (place / "attention-long.html").write_text(long.page(), encoding="utf-8")
    assert main(["explain", "--schedule", "--out", str(place / "chart.html")]) == 0
    for name, n in (("train", 2000), ("valid", 20)):
        pairs = [*generate(name, n, 3), ("Der Hund und 3 Katzen.", f"The children {'sing, ' * 30}and sleep.")]
        for language, side in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
            (place / f"{name}.{language}").write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    (place / "toy.toml").write_text(TOY.format(root=place), encoding="utf-8")
    assert main(["data", str(place / "toy.toml"), "--html", str(place / "data.html")]) == 0
    draw = random.Random(0)
    lines = [draw.choices(WORDS, k=draw.randint(3, 40)) for _ in range(90)]
    outputs = {
        "reference": lines,
        "a-run-with-a-very-long-name-of-many-words": [line[: 3 + len(line) // 2] for line in lines],
        "other": [[word if draw.random() < 0.9 else "cat" for word in line] for line in lines],
    }
    for name, texts in outputs.items():
        (place / name).write_text("".join(f"{' '.join(text)}\n" for text in texts), encoding="utf-8")
    reference, *systems = (str(place / name) for name in outputs)
    sources = ["--source", reference, "--reference", reference]
    assert main(["compare", *systems, *sources, "--out", str(place / "compare.html")]) == 0
    return place


@contextmanager
def opened(
    browser: "sync_api.Browser",
    address: Path,
    width: int = 1400,
    theme: Literal["light", "dark"] = "light",
    anchor: str = "",
) -> Iterator["sync_api.Page"]:
    """Open a page; fail on errors in the console and on requests."""
    said, asked = list[str](), list[str]()
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=theme)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address.as_uri()}{anchor}")
    yield page
    page.close()
    assert not said
    assert [url.partition("#")[0] for url in asked] == [address.as_uri()]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_every_page_fits_the_window_and_has_enough_contrast(
    browser: "sync_api.Browser", folder: Path, name: str, width: int
) -> None:
    with opened(browser, folder / f"{name}.html", width) as page:
        assert not scrolls_sideways(page)
        page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
        assert not scrolls_sideways(page)
        assert not unnamed(page)
        assert not faint_in_a_theme(page, PAGES[name])


def test_a_figure_has_no_ground_of_its_own(browser: "sync_api.Browser", folder: Path) -> None:
    with opened(browser, folder / "chart.html", theme="dark") as page:
        fills = page.eval_on_selector_all("svg [id^=patch_] path", "all => all.map((e) => getComputedStyle(e).fill)")
        assert fills
        assert "rgb(255, 255, 255)" not in fills


@pytest.mark.parametrize("width", WIDTHS)
def test_words_of_a_figure_stay_readable_in_a_narrow_window(
    browser: "sync_api.Browser", folder: Path, width: int
) -> None:
    with opened(browser, folder / "chart.html", width) as page:
        scale = page.eval_on_selector(".figure svg", "(e) => e.getBoundingClientRect().width / e.viewBox.baseVal.width")
    assert 9 * scale >= 11  # px of letters of 9 points


def test_attention_fills_the_window(browser: "sync_api.Browser", folder: Path) -> None:
    with opened(browser, folder / "attention.html") as page:
        box = page.locator("#grid").bounding_box()
        assert box
        assert box["width"] > 1250
        assert 760 < box["y"] + box["height"] <= 800
        assert page.evaluate("document.documentElement.scrollHeight") == 800
    with opened(browser, folder / "attention.html", 390) as page:
        inner = page.evaluate(
            "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.window'))"
        )
        assert inner == 0  # 13 tokens are all in view


def shares(page: "sync_api.Page", side: str) -> list[float]:
    """Return how strongly each word of a sentence is lit."""
    light = "(all) => all.map((e) => e.classList.contains('lit') ? Number(e.style.getPropertyValue('--weight')) : 0)"
    found: list[float] = page.eval_on_selector_all(f"#{side} > span", light)
    return found


def test_pointing_lights_what_a_word_reads_and_who_reads_it(browser: "sync_api.Browser", folder: Path) -> None:
    with opened(browser, folder / "attention.html") as page:
        weights = page.evaluate("data.weights[data.layer][data.head]")
        page.hover("#target [data-t='2']")
        assert shares(page, "source") == weights[2]
        expect(page.locator("#said")).to_contain_text(f"{HELP} reads most {HELFEN}")
        page.hover("#source [data-s='3']")
        expect(page.locator("#source .chosen")).to_have_text("helfen")
        assert shares(page, "target") == [row[3] for row in weights]
        expect(page.locator("#said")).to_contain_text(f"{HELFEN} is read most by {HELP}")
        page.hover("#grid [role=gridcell][data-t='2'][data-s='3']")
        expect(page.locator("#target .chosen")).to_have_text("help")
        expect(page.locator("#source .chosen")).to_have_text("helfen")
        expect(page.locator("#said")).to_have_text(f"{HELP} reads {HELFEN}: {100 * weights[2][3]:.1f} %")
        assert page.locator("#grid [role=gridcell].on").count() == len(weights) + len(weights[0]) - 1
        expect(page.locator("#grid [role=rowheader].chosen")).to_have_text("help")
        expect(page.locator("#grid [role=columnheader].chosen")).to_have_text("helfen")


def test_the_keyboard_does_what_the_pointer_does(browser: "sync_api.Browser", folder: Path) -> None:
    with opened(browser, folder / "attention.html") as page:
        reached = []
        for _ in range(5):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.closest('[id]').id"))
        assert reached == ["layer", "head", "source", "target", "grid"]
        weights = page.evaluate("data.weights[data.layer][data.head]")
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "End", "ArrowRight", "Home", "ArrowRight"):
            page.keyboard.press(key)
        expect(page.locator("#said")).to_have_text(f"{HELP} reads {DU}: {100 * weights[2][1]:.1f} %")
        assert page.evaluate("document.activeElement.ariaLabel") == f"help reads du: {100 * weights[2][1]:.1f} %"
        assert page.locator("#grid [tabindex='0']").count() == 1
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("End")
        assert shares(page, "source") == weights[-1]
        before = page.locator("#said").text_content()
        page.select_option("#layer", "0")
        expect(page.locator("#said")).not_to_have_text(before or "")


def test_text_runs_in_the_direction_of_its_script(browser: "sync_api.Browser", tmp_path: Path) -> None:
    picture = AttentionPicture("title", ["\u2581boy", "</s>"], ["\u2581ילד", "</s>"], torch.rand(1, 1, 2, 2), View())
    (tmp_path / "attention.html").write_text(picture.page(), encoding="utf-8")
    for name, lines in {"ref": "ילד שר (3)!\nThe dog.\n", "a": "ילד!\nA cat.\n", "b": "שר!\nThe.\n"}.items():
        (tmp_path / name).write_text(lines, encoding="utf-8")
    reference, *systems = (str(tmp_path / name) for name in ("ref", "a", "b"))
    files = ["--source", reference, "--reference", reference, "--out", str(tmp_path / "compare.html")]
    assert main(["compare", *systems, *files]) == 0
    direction = "all => all.map((e) => `${e.textContent[0]} ${getComputedStyle(e).direction}`)"
    with opened(browser, tmp_path / "attention.html") as page:
        assert page.eval_on_selector_all(".sentence", direction) == ["י rtl", "b ltr"]
        assert page.eval_on_selector_all(".end", direction) == ["< ltr", "< ltr"]
    with opened(browser, tmp_path / "compare.html") as page:
        found = set(page.eval_on_selector_all("dd", direction))
        assert found == {"י rtl", "ש rtl", "T ltr", "A ltr"}


def test_on_a_telephone_parts_are_folded_and_a_link_opens_its_part(browser: "sync_api.Browser", folder: Path) -> None:
    folded = "document.querySelectorAll('details:not([open])').length"
    with opened(browser, folder / "compare.html") as page:
        assert page.evaluate(folded) == 0
    with opened(browser, folder / "compare.html", 390) as page:
        n_parts = page.locator("details").count()
        assert page.evaluate(folded) == n_parts - 1 > 3
        page.click("#n-grams summary")
        expect(page.locator("#n-grams table").first).to_be_visible()
        page.click("#signatures > .anchor")
        expect(page.locator("#signatures code").first).to_be_visible()
    with opened(browser, folder / "compare.html", 390, anchor="#losses") as page:
        expect(page.locator("#losses")).to_be_in_viewport()
        assert page.evaluate(folded) == n_parts - 2


def test_screenshots(request: pytest.FixtureRequest, browser: "sync_api.Browser", folder: Path) -> None:
    """Run with `--screenshots FOLDER` to look at every page in both widths and themes, and for docs/images."""
    place = request.config.getoption("screenshots")
    if place is None:
        pytest.skip("needs --screenshots FOLDER")
    for name in PAGES:
        for width in WIDTHS:
            for theme in THEMES:
                with opened(browser, folder / f"{name}.html", width, theme) as page:
                    page.screenshot(path=place / f"{name}-{width}-{theme}.png", full_page=True)
    with opened(browser, folder / "attention.html", 900) as page:
        page.locator("#target > span", has_text="transl").hover()
        page.screenshot(path=place / "attention-page.png")
