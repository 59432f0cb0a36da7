"""The page of the server, in headless Chromium."""

import base64
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.translate.browser import THEMES, chromium, faint_in_a_theme, scrolls_sideways, sync_api, too_faint, unnamed
from tests.translate.documents import notes, test_ooxml
from tests.translate.serving.live import Live, live
from transformer.config import Hypotheses, Hypothesis, Request, SearchConfig
from translate.documents.document import MODULES
from translate.inference.torch_engine import TorchEngine
from translate.models import registry
from translate.models.folder import ModelFolder
from translate.serving.access import KeyStore
from translate.serving.app import PAGE
from translate.serving.settings import ServeOptions
from translate.text.translation import SUSPICIOUS

Page = sync_api.Page
expect = sync_api.expect

GERMAN = "der Hund schläft im Haus."
ENGLISH = "the dog sleeps at home."
FOREIGN = "The cat sleeps in the house, and nobody knows why."
LIMIT = 700
WORDS = {"der": "the", "Hund": "dog", "schläft": "sleeps", "im": "at", "Haus": "home", "das": "a", "Kind": "child"}
WIDTHS = (390, 1400)


class WordByWord(TorchEngine):
    """An engine with the attention of the tiny model and readable translations."""

    @classmethod
    def open(cls, folder: Path) -> "WordByWord":
        """Return the engine of a model folder."""
        return cls(ModelFolder.open(folder))

    def search_batch(self, requests: Sequence[Request], config: SearchConfig) -> Hypotheses:
        """Return a word-by-word translation of each source; each further hypothesis has one more word."""
        names = WORDS if self.spec.source == "de" else {english: german for german, english in WORDS.items()}
        texts = [
            re.sub(r"\w+", lambda m: names.get(m[0], m[0]), self.tokenizer.decode(request.ids)) for request in requests
        ]
        return [[self._hypothesis("now " * n + text) for n in range(config.n_best)] for text in texts]

    def _hypothesis(self, text: str) -> Hypothesis:
        return Hypothesis(self.tokenizer.encode(text), log_prob=-0.1, score=-0.1)


@pytest.fixture(scope="module")
def server(options: ServeOptions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server with API keys and word-by-word models."""
    folder = tmp_path_factory.mktemp("server")
    keys = folder / "keys.sqlite"
    KeyStore(keys).add("a client")
    with live(replace(options, characters=LIMIT, keys=keys), folder) as running:
        running.state.service.pool._open = WordByWord.open
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator["sync_api.Browser"]:
    with chromium() as running:
        yield running


@contextmanager
def visited(browser: "sync_api.Browser", server: Live) -> Iterator["sync_api.BrowserContext"]:
    """Visit the page; fail on page errors and on requests to another host."""
    problems, hosts = list[str](), set[str]()
    context = browser.new_context()
    context.set_default_timeout(60_000)
    context.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    context.on("weberror", lambda error: problems.append(str(error.error)))
    yield context
    context.close()
    assert not problems
    assert hosts == {server.url.removeprefix("http://")}


def once(handle: Callable[["sync_api.Route"], object]) -> Callable[["sync_api.Route"], object]:
    """Return a handler of routes for the first request; others go to the server.

    With times=1, interception ends while the next request may be under way; one of a second file was never answered.
    """
    waiting = [handle]
    return lambda route: waiting.pop()(route) if waiting else route.continue_()


@pytest.fixture(scope="module")
def tab(browser: "sync_api.Browser", server: Live) -> Iterator[Page]:
    with visited(browser, server) as context:
        yield context.new_page()


@pytest.fixture
def page(tab: Page, server: Live) -> Iterator[Page]:
    """The page in a wide window with a light theme and empty browser storage."""
    tab.set_viewport_size({"width": 1400, "height": 800})
    tab.emulate_media(color_scheme="light")
    opened(tab, server.url)
    yield tab
    tab.unroute_all()
    tab.evaluate("localStorage.clear()")


@pytest.fixture(scope="module")
def stopped(browser: "sync_api.Browser", server: Live) -> Iterator[Page]:
    with visited(browser, server) as context:
        page = context.new_page()
        page.clock.install()
        yield page


@pytest.fixture
def timed(stopped: Page, server: Live) -> Iterator[Page]:
    """The page in a browser with a stopped clock and empty storage."""
    opened(stopped, server.url)
    yield stopped
    stopped.unroute_all()
    stopped.evaluate("localStorage.clear()")


@pytest.fixture(scope="module")
def touched(browser: "sync_api.Browser", server: Live) -> Iterator[Page]:
    """A page of a telephone."""
    context = browser.new_context(viewport={"width": 390, "height": 700}, has_touch=True, is_mobile=True)
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def opened(page: Page, url: str) -> None:
    page.goto(url)
    page.locator("#source-language option").first.wait_for(state="attached")


def write(page: Page, text: str) -> None:
    """Replace the text and translate it at once."""
    page.fill("#source-text", text)
    page.press("#source-text", "Control+Enter")


def translated(page: Page, text: str) -> None:
    write(page, text)
    expect(page.locator("#output [data-sentence]").first).to_be_visible()
    expect(page.locator("#progress")).to_be_hidden()


@contextmanager
def asking(page: Page, route: str) -> Iterator[list[dict[str, Any]]]:
    """Collect the bodies of the requests to a route while the block runs."""
    bodies = list[dict[str, Any]]()

    def note(request: "sync_api.Request") -> None:
        if request.url.endswith(f"/{route}"):
            bodies.append(json.loads(request.post_data or ""))

    page.on("request", note)
    yield bodies
    page.remove_listener("request", note)


def output(page: Page) -> str:
    return page.locator("#output").text_content() or ""


def test_typing_translates_after_a_pause(timed: Page) -> None:
    page, asked = timed, list[str]()
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/translate") else None)
    page.locator("#source-text").press_sequentially(GERMAN)
    expect(page.locator("#count")).to_be_hidden()  # far from the limit
    page.clock.run_for(400)
    assert not asked
    page.clock.run_for(200)
    expect(page.locator("#output")).to_have_text(ENGLISH)
    assert len(asked) == 1
    page.fill("#source-text", "")
    expect(page.locator("#output")).to_be_empty()


# Holds the first request for a translation until the page drops it. A route that holds one can keep the next from its
# handler if the page drops the first meanwhile.
HOLD_FIRST = """() => {
    const {fetch} = window;
    window.dropped = [];
    window.fetch = (url, options) => {
        if (!new URL(url, location).pathname.endsWith("/translate")) return fetch(url, options);
        window.fetch = fetch;
        return new Promise((_, reject) => options.signal.addEventListener("abort", () => {
            window.dropped.push(options.body);
            reject(options.signal.reason);
        }));
    };
}"""


def test_an_answer_that_is_out_of_date_is_dropped(page: Page) -> None:
    page.evaluate(HOLD_FIRST)
    write(page, "das Kind singt.")
    expect(page.locator("#progress")).to_be_visible()
    translated(page, GERMAN)
    assert output(page) == ENGLISH
    (dropped,) = page.evaluate("window.dropped")
    assert "das Kind" in dropped


def test_html_in_a_text_is_shown_as_text(page: Page) -> None:
    translated(page, f"<img src=x onerror=alert(1)> {GERMAN} <b>der Hund</b>")
    assert page.locator("#output img, #mirror img, #output b, #doubts b").count() == 0


def languages(page: Page) -> tuple[str, str]:
    return page.input_value("#source-language"), page.input_value("#target-language")


def test_switching_makes_the_translation_the_new_source(page: Page) -> None:
    translated(page, GERMAN)
    page.click("#swap")
    assert languages(page) == ("en", "de")
    assert page.input_value("#source-text") == ENGLISH
    expect(page.locator("#output")).to_have_text(GERMAN)
    page.keyboard.press("Alt+s")
    assert languages(page) == ("de", "en")
    page.select_option("#source-language", "en")
    assert languages(page) == ("en", "de")
    page.reload()
    page.locator("#source-language option").first.wait_for(state="attached")
    assert languages(page) == ("en", "de")


def test_switching_keeps_a_text_that_is_not_translated_yet(page: Page) -> None:
    translated(page, GERMAN)
    page.route("**/translate", lambda route: None)
    text = f"{GERMAN} das Kind singt."
    write(page, text)
    page.click("#swap")
    assert languages(page) == ("en", "de")
    assert page.input_value("#source-text") == text


def test_a_text_in_the_target_language_offers_the_other_direction(page: Page) -> None:
    page.select_option("#source-language", "auto")
    page.select_option("#target-language", "en")
    translated(page, FOREIGN)
    expect(page.locator("#detected")).to_contain_text("English detected")
    assert output(page) == FOREIGN
    page.get_by_role("button", name="Translate into German").click()
    assert languages(page) == ("en", "de")
    expect(page.locator("#output")).not_to_have_text(FOREIGN)


@pytest.fixture(scope="module")
def formal(parts: ModelFolder, tagged: ModelFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server whose model into German has the forms of address, and begins a translation with their tag."""
    with live(ServeOptions(model=[parts.folder, tagged.folder]), tmp_path_factory.mktemp("formal")) as running:
        running.state.service.pool._open = WordByWord.open
        yield running


def test_the_form_of_address_is_a_choice_where_the_model_has_one(browser: "sync_api.Browser", formal: Live) -> None:
    choice = "#formality"
    with visited(browser, formal) as context:
        page = context.new_page()
        opened(page, formal.url)
        expect(page.locator(choice)).to_be_hidden()  # German to English
        page.click("#swap")
        expect(page.locator(choice)).to_be_visible()
        with asking(page, "alignment") as aligned, asking(page, "translate") as asked:
            translated(page, ENGLISH)
            assert not output(page).startswith("<")
            page.select_option(choice, label="Formal (Sie)")
            expect(page.locator("#output")).to_contain_text("<formal> ")
            page.select_option(choice, label="Informal (du)")
            expect(page.locator("#output")).to_contain_text("<informal> ")
            page.select_option(choice, label="Formal (Sie)")
            expect(page.locator("#output")).to_contain_text("<formal> ")
            assert [body["formality"] for body in asked] == ["default", "prefer_more", "prefer_less"]
            page.click("#output [data-sentence]")
            expect(page.locator("#alternatives ol li").first).to_contain_text("<formal> ")
            page.hover("#output [data-sentence]")
            page.locator("#output [data-word]").first.wait_for()
            assert {body["formality"] for body in (asked[-1], *aligned)} == {"prefer_more"}
        page.reload()  # the browser remembers it
        page.select_option("#source-language", "auto")
        page.select_option("#target-language", "de")
        expect(page.locator(choice)).to_be_visible()
        assert page.input_value(choice) == "prefer_more"
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 700})
            assert not scrolls_sideways(page)
            assert not unnamed(page)
            assert not too_faint(page, 10)
        with asking(page, "translate") as asked:
            translated(page, "The cat sleeps in the house, and nobody knows why.")
            assert asked[-1]["formality"] == "prefer_more"
        page.select_option("#target-language", "en")
        expect(page.locator(choice)).to_be_hidden()
        with asking(page, "translate") as asked:
            translated(page, GERMAN)
            assert asked[-1]["formality"] == "default"


def test_a_clicked_sentence_has_alternatives_and_one_of_them_can_be_used(page: Page) -> None:
    translated(page, f"{GERMAN} Kind singt.\n")
    expect(page.locator("#alternatives")).to_be_hidden()
    with asking(page, "translate") as asked:
        page.click("#output [data-sentence='0']")
        texts = ["now " * n + ENGLISH for n in (1, 2, 3)]
        expect(page.locator("#alternatives li > span")).to_have_text(texts)
    assert [body["q"] for body in asked] == [GERMAN]  # only this sentence
    page.get_by_role("button", name=f"Use: {texts[1]}").click()
    assert output(page) == f"{texts[1]} child singt.\n"
    expect(page.locator("#alternatives li > span")).to_have_text([ENGLISH, texts[0], texts[2]])
    page.locator("#source-text").press("End")
    page.locator("#source-text").press_sequentially(" ")
    expect(page.locator("#alternatives")).to_be_hidden()


def test_a_chosen_translation_is_that_of_each_repetition_of_its_paragraph(page: Page) -> None:
    translated(page, f"{GERMAN}\n\nder Hund.\n\n{GERMAN}")
    page.locator("#output").get_by_text(ENGLISH).last.click()
    page.get_by_role("button", name=f"Use: now {ENGLISH}").click()
    chosen = f"now {ENGLISH}\n\nthe dog.\n\nnow {ENGLISH}"
    assert output(page) == chosen
    page.locator("#source-text").press("Control+End")
    page.locator("#source-text").press("Enter")
    expect(page.locator("#output")).to_have_text(f"{chosen}\n")


def test_the_keyboard_goes_on_at_the_alternatives_after_one_was_used(page: Page) -> None:
    translated(page, GERMAN)
    page.click("#output [data-sentence]")
    page.get_by_role("button", name=f"Use: now {ENGLISH}").press("Enter")
    page.keyboard.press("Enter")
    assert output(page) == ENGLISH


def test_enter_at_a_word_shows_the_alternatives_of_its_sentence(page: Page) -> None:
    translated(page, GERMAN)
    page.focus("#output")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#output .chosen")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#alternatives li")).to_have_count(3)


def test_a_word_in_an_unknown_language_is_translated_and_the_chosen_languages_stay(page: Page) -> None:
    """The confidence of most single words is that of an empty text, which was said to be English."""
    page.select_option("#source-language", "auto")
    page.select_option("#target-language", "en")
    translated(page, "Hallo")
    expect(page.locator("#detected")).to_have_text("Language unknown, translated from German")
    assert languages(page) == ("auto", "en")
    assert page.get_by_role("button", name=re.compile("Translate into")).count() == 0


def test_the_empty_page_offers_examples_and_no_other_direction(page: Page) -> None:
    """`undefined === undefined` once offered to translate nothing into German."""
    expect(page.locator("#detected")).to_have_text("")
    assert page.get_by_role("button", name=re.compile("Translate into")).count() == 0
    examples = page.locator("#examples button")
    expect(examples).to_have_count(3)
    first = examples.first.text_content() or ""
    examples.first.click()
    assert page.input_value("#source-text") == first
    expect(page.locator("#output")).not_to_be_empty()
    expect(page.locator("#examples")).to_be_hidden()
    page.click("#clear")
    page.select_option("#source-language", "en")
    expect(examples.first).not_to_have_text(first)


def test_clear_can_be_undone(page: Page) -> None:
    translated(page, GERMAN)
    page.click("#clear")
    expect(page.locator("#output")).to_be_empty()
    expect(page.locator("#clear")).to_have_text("Undo")
    page.click("#clear")
    assert page.input_value("#source-text") == GERMAN
    expect(page.locator("#output")).to_have_text(ENGLISH)
    expect(page.locator("#clear")).to_have_text("Clear")


def test_only_paragraphs_that_changed_are_sent(page: Page) -> None:
    first, second = f"{GERMAN}\ndas Kind singt.", "  der Hund\n singt."
    with asking(page, "translate") as asked:
        translated(page, f"{first}\n\n{second}\n \n\n")
        together = output(page)
        translated(page, f"{first} das Haus.\n\n{second}\n \n\n")
        assert [body["q"] for body in asked] == [[first, second], [f"{first} das Haus."]]
        page.fill("#source-text", f"{first}\n\n{second}\n \n\n")
        assert output(page) == together
    assert len(asked) == 2


def test_every_paragraph_of_a_long_text_is_translated(page: Page) -> None:
    """The page remembered 1,000, and showed the source of the others as their translation."""
    remembering = """async ([texts, others]) => {
      const { Paragraphs } = await import("/page/paragraphs.js");
      const pair = { source: "de", target: "en" }, known = new Paragraphs();
      const shown = [texts, others].map((some) => {
        const text = some.join("\\n\\n"), missing = known.missing(text, pair);
        known.add(missing, missing.map((source) => [{ text: source.toUpperCase() }]), undefined, pair);
        return known.all(text, pair).sentences.map((sentence) => sentence.text).join("");
      });
      return [...shown, known.missing(texts.join("\\n\\n"), pair)];
    }"""
    texts, others = ([f"{name} {n}" for n in range(length)] for name, length in (("satz", 1507), ("anderer", 5)))
    shown, then, forgotten = page.evaluate(remembering, [texts, others])
    assert shown == "\n\n".join(texts).upper()
    assert then == "\n\n".join(others).upper()
    assert forgotten == texts[: 1507 + 5 - 1000]  # the oldest


def test_the_translation_of_paragraphs_is_that_of_the_whole(page: Page, server: Live) -> None:
    text = f"  {GERMAN}\n\n- das Kind\n  singt. {FOREIGN}\n \n\nder Hund.\n"
    translated(page, text)
    whole = server.translate(text, sentences=True).json()
    assert output(page) == whole["translatedText"]


def test_typing_stays_within_the_limit_of_requests(
    browser: "sync_api.Browser", options: ServeOptions, tmp_path: Path
) -> None:
    """With `--requests 20`, 22 seconds of typing once sent 23 requests, and four were refused."""
    with live(replace(options, requests=20), tmp_path) as running, visited(browser, running) as context:
        running.state.service.pool._open = WordByWord.open
        page, statuses = context.new_page(), list[int]()
        page.on("response", lambda r: statuses.append(r.status) if r.request.method == "POST" else None)
        page.clock.install()
        opened(page, running.url)
        page.focus("#source-text")
        for n in range(30):
            page.keyboard.insert_text("das Kind " if n % 2 else "der Hund. ")
            page.clock.run_for(1000)
            expect(page.locator("#progress")).to_be_hidden()  # the page's clock waits for the server
        page.clock.run_for(10_000)
        expect(page.locator("#output")).to_have_text(re.compile(r"(the dog\. ?a child ?){15}"))
        assert set(statuses) == {200}
        assert 5 <= len(statuses) <= 20


@pytest.mark.parametrize("status", [503, 502])
def test_the_languages_come_when_the_server_is_back(timed: Page, server: Live, status: int) -> None:
    """A proxy answers 502 for a server that restarts."""
    page = timed
    refusal = {
        "status": status,
        "json": {"error": "The server is busy; try again later"},
        "headers": {"Retry-After": "3"},
    }
    page.route("**/frontend/settings", once(lambda route: route.fulfill(**refusal)))  # type: ignore[arg-type]
    page.route("**/languages", once(lambda route: route.abort()))
    page.goto(server.url)
    expect(page.locator("#problem")).to_contain_text("The next try is in 3 seconds.")
    page.fill("#source-text", GERMAN)
    page.clock.run_for(3000)
    expect(page.locator("#problem")).to_contain_text("cannot be reached")
    page.clock.run_for(5000)
    expect(page.locator("#source-language option")).to_have_count(3)
    page.clock.run_for(600)
    expect(page.locator("#output")).to_have_text(ENGLISH)
    expect(page.locator("#problem")).to_be_hidden()


def test_a_word_lights_up_after_its_alignment_was_refused_once(page: Page) -> None:
    translated(page, GERMAN)
    page.route("**/alignment", once(lambda route: route.fulfill(status=503, json={"error": "busy"})))
    with page.expect_response("**/alignment") as refused:
        page.hover("#output [data-sentence='0']")
    assert refused.value.status == 503
    assert page.locator("#output [data-word]").count() == 0
    page.mouse.move(5, 5)
    divided(page)
    page.hover("#output [data-word='1']")
    assert lit(page, "#mirror")


def test_a_tap_lights_up_a_word_and_its_source(touched: Page, server: Live) -> None:
    """A finger does not hover: on a touch screen no alignment was ever asked for."""
    page = touched
    opened(page, server.url)
    translated(page, GERMAN)
    expect(page.locator("#output-hint")).to_have_text(re.compile("Tap a word"))
    expect(page.locator("kbd").first).to_be_hidden()
    page.tap("#output [data-sentence]")
    expect(page.locator("#output .chosen")).to_have_count(1)
    assert lit(page, "#mirror")
    page.tap("#output [data-word='0']")
    expect(page.locator("#output .chosen")).to_have_text("the")
    box = page.locator("#mirror [data-word='1']").bounding_box()
    assert box
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#mirror .chosen")).to_have_text("Hund")


def test_on_a_telephone_copy_is_in_reach_of_the_thumb(touched: Page, server: Live) -> None:
    page = touched
    opened(page, server.url)
    translated(page, f"{GERMAN}\n" * 20)
    page.evaluate("document.querySelector('#output').scrollIntoView({ block: 'start' })")
    box = page.locator("#copy").bounding_box()
    assert box
    assert 700 - 80 <= box["y"] + box["height"] <= 700
    assert min(box["height"], box["width"]) >= 44
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.tap("#copy")
    expect(page.locator("#copy")).to_have_text("Selected")  # no keyboard, no key to press


def test_the_translation_is_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    translated(page, GERMAN)
    page.click("#copy")
    expect(page.locator("#copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == ENGLISH


def test_text_is_selected_if_it_cannot_be_copied(timed: Page) -> None:
    page = timed
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    write(page, GERMAN)
    button = page.locator("#copy")
    for _ in range(2):
        button.click()
        expect(button).to_have_text("Selected: press Ctrl+C")
    assert page.evaluate("getSelection().toString()") == ENGLISH
    page.clock.run_for(2000)
    expect(button).to_have_text("Copy")


def test_files_are_chosen_or_dropped(page: Page) -> None:
    letter = {"name": "brief an dich.txt", "mimeType": "text/plain", "buffer": f"{GERMAN}\n\n{GERMAN}\n".encode()}
    page.set_input_files("#file", letter)  # type: ignore[arg-type]
    with page.expect_download() as download:
        page.click("#files a")
    assert download.value.suggested_filename == "brief_an_dich_en.txt"
    assert download.value.path().read_text(encoding="utf-8") == f"{ENGLISH}\n\n{ENGLISH}\n"
    files = page.evaluate_handle(
        """(text) => { const data = new DataTransfer();
        data.items.add(new File([text], "a.srt")); data.items.add(new File(["x"], "b.pdf")); return data; }""",
        f"1\n00:00:01,000 --> 00:00:02,000\n{GERMAN}\n",
    )
    page.dispatch_event("body", "dragover", {"dataTransfer": files})
    expect(page.locator("#drop")).to_be_visible()
    page.dispatch_event("body", "drop", {"dataTransfer": files})
    expect(page.locator("#drop")).to_be_hidden()
    expect(page.locator("#files li")).to_have_text(
        [re.compile("Download brief"), re.compile("Download a_en.srt"), re.compile("cannot be translated")]
    )
    expect(page.locator("#problem")).to_have_text("This kind of file cannot be translated.")


def test_a_document_comes_back_as_a_document(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, ".notes", "notes")
    monkeypatch.setitem(sys.modules, "translate.documents.notes", notes)
    letter = {"name": "a.notes", "mimeType": "", "buffer": "# der Hund\n*der Hund schläft im Haus.*\n".encode()}
    page.set_input_files("#file", letter)  # type: ignore[arg-type]
    with page.expect_download() as download:
        page.click("#files a")
    assert download.value.suggested_filename == "a_en.notes"
    assert download.value.path().read_text(encoding="utf-8") == "# der Hund\n?*the dog sleeps at home.*\n"
    damaged = {"name": "b.notes", "mimeType": "", "buffer": b"#damaged"}
    page.set_input_files("#file", damaged)  # type: ignore[arg-type]
    expect(page.locator("#files li").nth(1)).to_contain_text("b.notes: is damaged; save it again.")


def test_a_translation_of_strings_is_updated(page: Page) -> None:
    """An earlier translation goes with the next file of its format, and with no other."""

    def chosen(selector: str, **files: str) -> None:
        found = [
            {"name": name.replace("_", "."), "mimeType": "", "buffer": text.encode()} for name, text in files.items()
        ]
        page.set_input_files(selector, found)  # type: ignore[arg-type]

    def downloads(n: int) -> list[str]:
        expect(page.locator("#files li a")).to_have_count(n)
        found = []
        for link in page.locator("#files li a").all():
            with page.expect_download() as download:
                link.click()
            found.append(download.value.path().read_text(encoding="utf-8"))
        return found

    page.click("#update summary")
    chosen("#earlier", en_json='{"a": "my dog"}')
    chosen("#file", de_txt="das Kind", de_json='{"a": "der Hund", "b": "das Kind"}')
    assert downloads(2) == ["a child", '{"a": "my dog", "b": "a child"}']
    expect(page.locator("#files li .name")).to_have_text(["de.txt", "de.json, with en.json"])
    chosen("#file", de_json='{"b": "das Kind"}')
    assert downloads(3)[2] == '{"b": "a child"}'


def test_a_document_of_word_is_dropped_and_comes_back(page: Page) -> None:
    bold = test_ooxml.run(GERMAN, "<w:b/>")
    content = base64.b64encode(test_ooxml.document(bold, test_ooxml.run("das Kind"))).decode()
    files = page.evaluate_handle(
        """(content) => { const data = new DataTransfer();
        const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
        data.items.add(new File([bytes], "a.docx")); return data; }""",
        content,
    )
    page.dispatch_event("body", "drop", {"dataTransfer": files})
    with page.expect_download() as download:
        page.click("#files a")
    assert download.value.suggested_filename == "a_en.docx"
    assert test_ooxml.texts(download.value.path().read_bytes(), "a.docx") == [ENGLISH, "a child"]


def test_a_catalog_of_gettext_comes_back_with_its_translations(page: Page) -> None:
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    data = f'{head}#: a.c:3\nmsgid "{GERMAN}"\nmsgstr ""\n\nmsgid "das Kind"\nmsgstr "the kid"\n'
    catalog = {"name": "a.po", "mimeType": "text/x-gettext-translation", "buffer": data.encode()}
    page.set_input_files("#file", catalog)  # type: ignore[arg-type]
    with page.expect_download() as download:
        page.click("#files a")
    assert download.value.suggested_filename == "a_en.po"
    after = download.value.path().read_text(encoding="utf-8")
    assert f'#: a.c:3\n#, fuzzy\nmsgid "{GERMAN}"\nmsgstr "{ENGLISH}"\n' in after
    assert after.endswith('msgid "das Kind"\nmsgstr "the kid"\n')


def test_files_that_wait_keep_the_languages_that_were_chosen_for_them(page: Page) -> None:
    held = list["sync_api.Route"]()
    page.route("**/translate_file", once(lambda route: held.append(route)))
    files = [{"name": name, "mimeType": "text/plain", "buffer": GERMAN.encode()} for name in ("a.txt", "b.txt")]
    with page.expect_request("**/translate_file"):
        page.set_input_files("#file", files)  # type: ignore[arg-type]
    page.click("#swap")
    held[0].continue_()
    expect(page.locator("#files li a")).to_have_text(["Download a_en.txt", "Download b_en.txt"])


def test_a_file_that_waits_can_be_stopped(page: Page) -> None:
    held = list["sync_api.Route"]()
    page.route("**/translate_file", once(lambda route: held.append(route)))
    files = [
        {"name": name, "mimeType": "text/plain", "buffer": GERMAN.encode()} for name in ("a.txt", "b.txt", "c.txt")
    ]
    with page.expect_request("**/translate_file"):
        page.set_input_files("#file", files)  # type: ignore[arg-type]
    page.get_by_role("button", name="Stop the translation of b.txt").click()
    expect(page.locator("#files li").nth(1)).to_have_text("b.txtStopped")
    held[0].continue_()
    expect(page.locator("#files li a")).to_have_text(["Download a_en.txt", "Download c_en.txt"])
    expect(page.locator("#files li").nth(1)).to_have_text("b.txtStopped")


def test_a_file_that_a_busy_server_refuses_is_sent_again(page: Page) -> None:
    refusal = {
        "status": 429,
        "json": {"error": "Slowdown: 20000 characters per 1 minute"},
        "headers": {"Retry-After": "1"},
    }
    page.route("**/translate_file", once(lambda route: route.fulfill(**refusal)))  # type: ignore[arg-type]
    letter = {"name": "a.txt", "mimeType": "text/plain", "buffer": GERMAN.encode()}
    page.set_input_files("#file", letter)  # type: ignore[arg-type]
    expect(page.locator("#files li a")).to_have_text(["Download a_en.txt"])


def test_no_retry_is_announced_for_a_file(page: Page) -> None:
    page.route("**/translate_file", lambda route: route.abort())
    letter = {"name": "a.txt", "mimeType": "text/plain", "buffer": GERMAN.encode()}
    page.set_input_files("#file", letter)  # type: ignore[arg-type]
    expect(page.locator("#problem")).to_have_text("The server cannot be reached. Check that it is running.")


def test_a_file_that_is_too_large_is_not_sent(page: Page, server: Live) -> None:
    """Sending it would take time, and far above the limit the server speaks of the body of the request."""
    sent = list[str]()
    page.on("request", lambda request: sent.append(request.url))
    limit = server.state.options.file_size
    page.evaluate(
        """(size) => { const data = new DataTransfer(); data.items.add(new File(["a".repeat(size)], "a.txt"));
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true})); }""",
        limit + 2**20,
    )
    expect(page.locator("#files li")).to_contain_text(f"too large: this server takes files of up to {limit:,} bytes.")
    assert not [url for url in sent if "translate_file" in url]


def test_a_file_that_was_removed_meanwhile_is_not_a_fault_of_the_server(page: Page, tmp_path: Path) -> None:
    """A folder that is dropped looks the same to the browser: a file that cannot be read."""
    names = [tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt"]
    for path in names:
        path.write_text(GERMAN, encoding="utf-8")
    held = list["sync_api.Route"]()
    page.route("**/translate_file", once(lambda route: held.append(route)))
    with page.expect_request("**/translate_file"):
        page.set_input_files("#file", names)  # type: ignore[arg-type]
    expect(page.locator("#files li").nth(1)).to_contain_text("Waiting")
    names[1].unlink()
    held[0].continue_()
    expect(page.locator("#files li a")).to_have_text(["Download a_en.txt", "Download c_en.txt"])
    expect(page.locator("#files li").nth(1)).to_contain_text("The file cannot be read: it may be a folder")


@pytest.mark.parametrize("error", ["The server is busy; try again later", "Invalid request: the body exceeds 7 bytes"])
def test_what_the_server_says_ends_as_a_sentence(page: Page, error: str) -> None:
    refusal = {"status": 503, "json": {"error": error}, "headers": {"Retry-After": "1"}}
    page.route("**/translate", lambda route: route.fulfill(**refusal))  # type: ignore[arg-type]
    write(page, GERMAN)
    expect(page.locator("#problem")).to_have_text(re.compile(r"^[A-Z][^.]+\. The next try is in 1 second\.$"))


def test_errors_are_shown_in_plain_words(page: Page) -> None:
    problem = page.locator("#problem")
    write(page, "a" * (LIMIT + 1))
    expect(problem).to_have_text(f"The text is too long: this server translates up to {LIMIT} characters at a time.")
    expect(page.locator("#count")).to_have_class(re.compile("over"))
    page.route("**/translate", lambda route: route.abort())
    write(page, GERMAN)
    expect(problem).to_contain_text("The server cannot be reached.")
    page.unroute("**/translate")
    page.select_option("#source-language", "auto")
    write(page, "Je voudrais acheter du pain et du fromage pour ma famille.")
    expect(problem).to_have_text("No model on this server translates French.")
    translated(page, GERMAN * 3)
    expect(problem).to_be_hidden()


def test_an_answer_that_cannot_be_read_is_named_and_asked_for_again(timed: Page) -> None:
    page = timed
    page.route("**/translate", once(lambda route: route.fulfill(status=200, body="<p>Log in</p>")))
    write(page, GERMAN)
    expect(page.locator("#problem")).to_contain_text("cannot be read. The next try is in 5 seconds.")
    page.clock.run_for(5000)
    expect(page.locator("#output")).to_have_text(ENGLISH)
    expect(page.locator("#problem")).to_be_hidden()


def test_a_file_whose_answer_cannot_be_read_does_not_stop_the_next(page: Page) -> None:
    page.route("**/translate_file", once(lambda route: route.fulfill(status=200, body="<p>Log in</p>")))
    files = [{"name": name, "mimeType": "text/plain", "buffer": GERMAN.encode()} for name in ("a.txt", "b.txt")]
    page.set_input_files("#file", files)  # type: ignore[arg-type]
    expect(page.locator("#files li a")).to_have_text(["Download b_en.txt"])
    expect(page.locator("#files li").first).to_contain_text("cannot be read")


def test_on_a_mac_alt_types_letters_and_the_shortcut_has_ctrl_too(browser: "sync_api.Browser", server: Live) -> None:
    with visited(browser, server) as context:
        context.add_init_script("Object.defineProperty(navigator, 'platform', {value: 'MacIntel'})")
        page = context.new_page()
        opened(page, server.url)
        before = languages(page)
        page.focus("#source-text")
        page.keyboard.press("Alt+s")
        assert languages(page) == before
        page.keyboard.press("Control+Alt+s")
        assert languages(page) == before[::-1]
        expect(page.locator("#swap")).to_have_attribute("title", "Switch the languages (Ctrl+Alt+S)")


def test_each_paragraph_of_text_and_copy_has_its_own_direction(page: Page) -> None:
    for place in ("#source-text", "#mirror", "#output"):
        assert page.eval_on_selector(place, "element => getComputedStyle(element).unicodeBidi") == "plaintext", place


def test_a_busy_server_is_asked_again(timed: Page) -> None:
    page = timed
    refusal = {"status": 429, "json": {"error": "Slowdown: 2 per 1 minute"}, "headers": {"Retry-After": "3"}}
    page.route("**/translate", once(lambda route: route.fulfill(**refusal)))  # type: ignore[arg-type]
    write(page, GERMAN)
    expect(page.locator("#problem")).to_contain_text("answers 2 a minute. The next try is in 3 seconds.")
    page.clock.run_for(3000)
    expect(page.locator("#output [data-sentence]").first).to_be_visible()
    expect(page.locator("#problem")).to_be_hidden()


def test_a_key_is_entered_and_sent(page: Page) -> None:
    page.click("#key-button")
    expect(page.locator("#key")).to_be_focused()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    write(page, GERMAN)
    expect(page.locator("#problem")).to_have_text("The API key is wrong or was revoked.")
    expect(page.locator("#key-form")).to_be_visible()
    page.fill("#key", "")
    page.press("#key", "Enter")
    expect(page.locator("#output [data-sentence]").first).to_be_visible()


def divided(page: Page) -> None:
    """Point at the first sentence until its words are loaded."""
    page.hover("#output [data-sentence='0']")
    page.locator("#output [data-word]").first.wait_for()


def lit(page: Page, side: str) -> set[int]:
    return {int(i) for i in page.eval_on_selector_all(f"{side} .lit", "all => all.map((e) => e.dataset.word)")}


def test_pointing_at_a_word_lights_up_what_the_model_looked_at(page: Page, server: Live) -> None:
    translated(page, GERMAN)
    divided(page)
    body = {"q": GERMAN, "translation": ENGLISH, "source": "de", "target": "en"}
    weights = server.http.post("/alignment", json=body).json()["weights"]
    page.hover("#output [data-word='1']")
    row = weights[1]
    assert lit(page, "#mirror") == {i for i, weight in enumerate(row) if weight >= 0.12 * max(row)}
    assert page.locator("#output .chosen").count() == 1
    # The copy of the source under the text field; its words are at the same positions.
    box = page.locator("#mirror [data-word='2']").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    column = [row[2] for row in weights]
    assert lit(page, "#output") == {i for i, weight in enumerate(column) if weight >= 0.12 * max(column)}
    page.mouse.move(5, 5)
    assert not lit(page, "body")


def test_a_word_lights_up_under_a_pointer_that_stays(page: Page) -> None:
    """A user who stopped at a word saw nothing when its alignment came, until the pointer moved again."""
    translated(page, GERMAN)
    page.hover("#output [data-sentence='0']", position={"x": 4, "y": 8})
    expect(page.locator("#output .chosen")).to_have_text("the")
    assert lit(page, "#mirror")


def test_doubtful_sentences_are_underlined_with_the_reason(page: Page) -> None:
    translated(page, f"{GERMAN} {FOREIGN}")
    sentence = page.locator("#output .doubtful", has_text=FOREIGN)
    assert "wavy" in sentence.evaluate(
        "(e) => getComputedStyle(e).textDecorationLine + getComputedStyle(e).textDecoration"
    )
    reason = "It does not seem to be in the source language, so it was left as it is."
    assert sentence.get_attribute("title") == reason
    expect(page.locator("#doubts li").last).to_have_text(f"{FOREIGN} {reason}")
    said = page.evaluate("(flags) => import('/page/words.js').then((words) => words.reasons(flags))", [*SUSPICIOUS])
    assert len(set(said)) == len(SUSPICIOUS)


def test_the_keyboard_reaches_everything_in_reading_order(page: Page) -> None:
    translated(page, GERMAN)
    page.focus(".skip")
    order = ["key-button", "theme", "source-language", "swap", "target-language", "source-text", "clear"]
    order += ["output", "copy", "file", "SUMMARY", "SUMMARY", "A"]
    reached = []
    for _ in order:
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("(({ id, className, tagName }) => id || className || tagName)(document.activeElement)")
        )
    assert reached == order


def test_arrow_keys_move_through_the_words(page: Page) -> None:
    translated(page, f"{FOREIGN}\n{GERMAN}")  # the first sentence was not translated, so it has no words
    page.focus("#output")
    page.keyboard.press("ArrowRight")
    chosen = page.locator("#output .chosen")
    expect(chosen).to_have_count(1)
    expect(page.locator("#announcement")).to_have_text(re.compile("^the, from "))
    assert lit(page, "#mirror")
    page.keyboard.press("ArrowRight")
    expect(chosen).to_have_text("dog")
    page.keyboard.press("ArrowLeft")
    expect(chosen).to_have_text("the")
    page.keyboard.press("Escape")
    expect(chosen).to_have_count(0)


def test_an_alignment_that_comes_after_escape_lights_nothing(page: Page) -> None:
    translated(page, GERMAN)
    held = list["sync_api.Route"]()
    page.route("**/alignment", once(lambda route: held.append(route)))
    page.focus("#output")
    with page.expect_request("**/alignment"):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    with page.expect_response("**/alignment"):
        held[0].continue_()
    expect(page.locator("#output [data-word]").first).to_be_visible()
    expect(page.locator(".chosen")).to_have_count(0)


def test_text_in_the_target_language_has_no_alignment_and_no_alternatives(page: Page) -> None:
    page.select_option("#source-language", "auto")
    page.select_option("#target-language", "en")
    translated(page, FOREIGN)
    expect(page.locator("#output-hint")).to_be_hidden()
    with asking(page, "alignment") as asked, asking(page, "translate") as others:
        page.click("#output [data-sentence='0']")
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(400)
    assert not asked + others


def test_each_text_is_read_in_the_voice_of_its_language(page: Page) -> None:
    translated(page, GERMAN)
    languages = {name: page.get_attribute(name, "lang") for name in ("#source-text", "#output", "#announcement")}
    assert languages == {"#source-text": "de", "#output": "en", "#announcement": "en"}
    page.click("#swap")
    expect(page.locator("#output")).to_have_attribute("lang", "de")
    expect(page.locator("#announcement[lang=de]")).to_have_text(GERMAN)
    expect(page.locator("#source-text")).to_have_attribute("lang", "en")


def test_long_texts_that_are_no_longer_shown_are_forgotten(page: Page) -> None:
    """A text whose language is detected is one paragraph, and each pause while typing adds another."""
    missing = page.evaluate(
        """async () => {
        const { Paragraphs } = await import("/page/paragraphs.js");
        const paragraphs = new Paragraphs();
        const pair = { source: "auto", target: "en" };
        const texts = [...Array(40).keys()].map((i) => `${i} ${"x".repeat(100_000)}`);
        for (const text of texts) {
          paragraphs.add([text], [[{ source: text, text }]], undefined, pair);
          paragraphs.all(text, pair);
        }
        return texts.map((text) => paragraphs.missing(text, pair).length);
      }"""
    )
    assert missing == [1] * 21 + [0] * 19


def test_an_arrow_key_asks_once_if_the_alignment_is_refused(page: Page) -> None:
    translated(page, f"{GERMAN}\nder Hund.\ndas Kind.\n{FOREIGN}\nim Haus.")
    page.route("**/alignment", lambda route: route.fulfill(status=503, json={}))
    page.focus("#output")
    with asking(page, "alignment") as asked:
        for n in (1, 2):
            with page.expect_response("**/alignment"):
                page.keyboard.press("ArrowRight")
            page.wait_for_timeout(300)
            assert len(asked) == n


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_the_window_and_has_enough_contrast(page: Page, width: int) -> None:
    said = list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.set_viewport_size({"width": width, "height": 700})
    assert not scrolls_sideways(page)
    assert not faint_in_a_theme(page, 10)
    page.click("#key-button")
    long = "Donaudampfschifffahrtsgesellschaft" * 4
    translated(page, f"{GERMAN} {FOREIGN}\n\n{long} {GERMAN}\n")
    divided(page)
    page.click("#output [data-word='1']")
    expect(page.locator("#alternatives li")).to_have_count(3)
    assert not scrolls_sideways(page)
    assert not unnamed(page)
    assert not faint_in_a_theme(page, 20)
    heights = page.evaluate("['#source-text', '#mirror'].map((id) => document.querySelector(id).scrollHeight)")
    assert heights[0] == heights[1]
    assert not said


def test_the_description_of_the_api_fits_the_window(page: Page, server: Live) -> None:
    page.goto(f"{server.url}/docs")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 700})
        assert not scrolls_sideways(page)
        assert not faint_in_a_theme(page, 50)
    expect(page.locator("pre").first).to_contain_text(f"$ curl {server.url}/translate")


def test_the_theme_is_remembered(page: Page, server: Live) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.select_option("#theme", "dark")
    dark = page.evaluate(ground)
    assert dark != light
    opened(page, server.url)
    assert page.evaluate(ground) == dark
    assert page.input_value("#theme") == "dark"
    page.select_option("#theme", "system")
    assert page.evaluate(ground) == light


class Texts(HTMLParser):
    """Texts of a page that people read, and of the attributes that name its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.found = set[str]()
        self._open = list[str]()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._open += [tag] * (tag not in ("img", "input", "link", "meta", "path"))
        self.found |= {text for name, text in attributes if text and name in ("aria-label", "placeholder", "title")}

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if any(map(str.isalpha, data)) and not {"noscript", "script"} & {*self._open}:
            self.found.add(data.strip())


def test_every_text_of_the_page_has_a_german_one() -> None:
    html = Texts()
    html.feed((PAGE / "index.html").read_text(encoding="utf-8"))
    scripts = "".join(path.read_text(encoding="utf-8") for path in PAGE.glob("*.js"))
    used = {re.sub(r"\$\{[^}]*\}", "{}", text) for text in re.findall(r"\bt`([^`]*)`", scripts)} | html.found
    lines = re.findall(r"^  (\".*\"),$", (PAGE / "german.js").read_text(encoding="utf-8"), re.MULTILINE)
    german = json.loads(f"{{{','.join(lines)}}}")
    assert {*german} == used - {"API", "Alt", "Enter", "S"}
    assert len(german) == len(lines)
    assert all(text.count("{}") == own.count("{}") and own for text, own in german.items())


def test_the_page_is_german_where_the_browser_is(browser: "sync_api.Browser", server: Live) -> None:
    context = browser.new_context(locale="de-AT", permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    opened(page, server.url)
    assert (page.title(), page.get_attribute("html", "lang")) == ("Übersetzen", "de")
    assert page.locator("#source-language option").all_text_contents() == ["Sprache erkennen", "Deutsch", "Englisch"]
    assert page.get_attribute("#source-text", "placeholder").startswith("Text eingeben")
    page.select_option("#source-language", "auto")
    translated(page, f"{GERMAN} {GERMAN}")
    expect(page.locator("#detected")).to_contain_text("Deutsch erkannt")
    page.click("#copy")
    expect(page.locator("#copy")).to_have_text("Kopiert")
    write(page, "x" * (LIMIT + 1))
    expect(page.locator("#problem")).to_have_text(
        re.compile(rf"^Der Text ist zu lang: .* {LIMIT} Zeichen auf einmal\.$")
    )
    page.route("**/translate", lambda route: route.fulfill(status=403, json={"error": "Invalid API key"}))
    write(page, "ja")
    expect(page.locator("#problem")).to_have_text("Der API-Schlüssel ist falsch oder wurde widerrufen.")
    expect(page.locator("#key-form")).to_be_visible()
    context.close()


def test_a_page_that_is_loaded_again_keeps_its_text(page: Page, server: Live) -> None:
    translated(page, GERMAN)
    page.reload()
    expect(page.locator("#output")).to_have_text(ENGLISH)
    assert page.input_value("#source-text") == GERMAN
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); }; }")
    translated(page, FOREIGN)
    page.reload()
    page.wait_for_selector("#examples li")
    assert page.input_value("#source-text") == ""
    opened(page, server.url)
    assert page.input_value("#source-text") == ""


def test_paper_has_both_texts_whole_and_in_dark_ink(page: Page) -> None:
    text = "\n".join([f"{GERMAN} {FOREIGN}"] * 5)
    page.select_option("#theme", "dark")
    translated(page, text)
    page.emulate_media(media="print")
    shown = [line for line in page.inner_text("body").splitlines() if line]
    assert shown[:10] == 5 * [f"{GERMAN} {FOREIGN}"] + 5 * [f"{ENGLISH} {FOREIGN}"]
    assert page.locator("button:visible, select:visible, textarea:visible").count() == 0
    assert not too_faint(page, 4)
    page.emulate_media(media="screen")


def test_scripts_and_styles_are_files_of_the_server(page: Page, server: Live) -> None:
    answer = server.http.get("/")
    policy = dict(rule.strip().split(" ", 1) for rule in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert "'unsafe-inline'" not in policy.get("script-src", "")
    assert not re.search(r"<script(?! src)|<style|\sstyle=|\son\w+=|https?:", answer.text)
    page.evaluate("""document.body.insertAdjacentHTML("beforeend", "<img src=none onerror='window.ran = 1'>")""")
    page.wait_for_timeout(50)
    assert page.evaluate("window.ran") is None


def test_screenshots(
    request: pytest.FixtureRequest, browser: "sync_api.Browser", tmp_path: Path, options: ServeOptions
) -> None:
    """Run with `--screenshots FOLDER`; docs/images has the pictures named page."""
    folder = request.config.getoption("screenshots")
    if folder is None:
        pytest.skip("needs --screenshots FOLDER")
    text = (
        "Kannst du mir helfen, diesen Satz zu übersetzen? Meine Schwester lernt seit zwei Jahren Deutsch.\n\n"
        "This sentence is in English already."
    )
    models = [path for _, path in registry.installed()]
    with live(ServeOptions(model=models), tmp_path) as running:
        for width in WIDTHS:
            for theme in THEMES:
                page = browser.new_page(viewport={"width": width, "height": 600}, color_scheme=theme)
                opened(page, running.url)
                page.locator("#examples button").first.wait_for()
                page.screenshot(path=folder / f"empty-{width}-{theme}.png", full_page=True)
                translated(page, text)
                divided(page)
                page.locator("#output [data-word]", has_text="translate").click()
                page.locator("#alternatives li").first.wait_for()
                page.locator("#output [data-word]", has_text="translate").hover()
                # A window as high as the page: the bar at the lower edge of the window covers nothing.
                height = page.evaluate("document.documentElement.scrollHeight")
                page.set_viewport_size({"width": width, "height": height})
                page.screenshot(path=folder / f"page-{width}-{theme}.png")
                assert not scrolls_sideways(page)
                page.close()


def test_the_models_are_shown_with_what_is_known_of_them(server: Live, page: Page, folders: list[Path]) -> None:
    page.goto(server.url)
    models = page.locator("#models")
    expect(models.locator("li").first).to_be_hidden()
    models.locator("summary").click()
    there, back = (folder.parent.name for folder in folders)
    expect(models.locator("li b")).to_have_text([f"German \u2192 English: {there}", f"English \u2192 German: {back}"])
