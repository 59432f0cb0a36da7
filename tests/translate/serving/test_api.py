"""The API matches LibreTranslate's: its clients and its examples work unchanged."""

import json
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from tests.translate.serving.live import Live, book, live, until
from translate.inference.translator import Translator
from translate.serving.settings import ServeOptions

GERMAN, ENGLISH = "der Hund schläft im Haus.", "the dog sleeps in the house."


@pytest.fixture(scope="module")
def server(options: ServeOptions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(options, tmp_path_factory.mktemp("server")) as running:
        yield running


def test_the_python_client_works_unchanged(server: Live, translator: Translator) -> None:
    client = LibreTranslateAPI(server.url)
    assert client.translate(GERMAN, "de", "en") == translator(GERMAN)
    assert client.languages() == [
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]
    found = client.detect("Ich habe gestern einen langen Brief geschrieben.")
    assert found[0]["language"] == "de"
    assert 50 < found[0]["confidence"] <= 100
    with pytest.raises(HTTPError, match="400"):
        client.translate(GERMAN, "de", "xx")


def curl(*arguments: str) -> object:
    done = subprocess.run(["curl", "-s", *arguments], capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)


JSON_EXAMPLE = """{
    "q": "der Hund schläft im Haus.", "source": "de", "target": "en", "format": "text", "alternatives": 3,
    "api_key": "xxxxxx"
}"""


def test_curl_examples_work_unchanged(server: Live, translator: Translator, tmp_path: Path) -> None:
    """The requests in LibreTranslate's documentation and on its page /docs."""
    url, text = f"{server.url}/translate", translator(GERMAN)
    found = curl("-X", "POST", url, "-H", "Content-Type: application/json", "-d", JSON_EXAMPLE)
    assert isinstance(found, dict)
    assert found["translatedText"] == text
    assert found.keys() == {"translatedText", "alternatives"}
    form = f"q={httpx.QueryParams({'q': GERMAN})['q']}&source=de&target=en&format=text&alternatives=0&api_key="
    kind = "Content-Type: application/x-www-form-urlencoded"
    assert curl("-X", "POST", url, "-H", "accept: application/json", "-H", kind, "-d", form) == {"translatedText": text}
    parts = ("-F", f"q={GERMAN}", "-F", "source=de", "-F", "target=en")
    assert curl(url, *parts) == {"translatedText": text}
    assert curl(f"{server.url}/detect", "-d", f"q={GERMAN}")[0]["language"] == "de"  # type: ignore[index]
    file = tmp_path / "brief.txt"
    file.write_text(f"{GERMAN}\n\n{GERMAN}\n", encoding="utf-8")
    stored = curl(f"{server.url}/translate_file", "-F", f"file=@{file}", "-F", "source=de", "-F", "target=en")
    assert isinstance(stored, dict)
    done = server.http.get(stored["translatedFileUrl"])
    assert done.text == f"{text}\n\n{text}\n"
    assert done.headers["content-disposition"] == 'attachment; filename="brief_en.txt"'


def test_a_list_of_texts_gives_lists(server: Live, translator: Translator) -> None:
    texts = [GERMAN, "", "die Katze singt.\n\n  das Kind läuft. der Hund singt.\n"]
    answer = server.translate(texts, alternatives=2).json()
    assert answer["translatedText"] == translator(texts)
    assert len(answer["alternatives"]) == len(texts)
    assert "detectedLanguage" not in answer


def test_language_codes_may_have_any_letters(server: Live, translator: Translator) -> None:
    """As those of DeepL, which are in capitals."""
    for source, target in (("DE", "EN"), ("Auto", "en")):
        answer = server.translate(f"{GERMAN} {GERMAN}", source=source, target=target)
        assert answer.json()["translatedText"] == translator(f"{GERMAN} {GERMAN}")


def test_a_region_finds_the_model_of_its_language(server: Live, translator: Translator) -> None:
    """Clients of DeepL ask for EN-GB and EN-US, and browsers name de-AT."""
    for source, target in (("de-DE", "EN-GB"), ("de_AT", "en-US"), ("auto", "en-GB")):
        answer = server.translate(f"{GERMAN} {GERMAN}", source=source, target=target).json()
        assert answer["translatedText"] == translator(f"{GERMAN} {GERMAN}")
        assert answer.get("detectedLanguage", {"language": "de"})["language"] == "de"
    page = f'<html lang="de">{GERMAN}</html>'
    for target, stated in (("EN-gb", "en-GB"), ("en", "en"), ('en-"x', "en")):
        answer = server.translate(page, target=target, format="html").json()
        assert answer["translatedText"].startswith(f'<html lang="{stated}">')
    for target in ("fr-CA", "e", "en-Cyrl"):
        answer = server.translate(GERMAN, target=target)
        assert (answer.status_code, answer.json()["error"]) == (400, f"{target} is not supported")


def test_alternatives_differ_from_the_translation_and_from_each_other(server: Live) -> None:
    answer = server.translate(GERMAN, alternatives=3).json()
    texts = [answer["translatedText"], *answer["alternatives"]]
    assert 1 < len(texts) <= 4
    assert len(set(texts)) == len(texts)


def test_alternatives_keep_the_lines_and_untranslated_text(server: Live) -> None:
    text = f"{GERMAN}\n\n  42\n"
    found = server.translate(text, alternatives=2).json()["alternatives"]
    assert found
    assert all(other.split("\n")[1:] == text.split("\n")[1:] for other in found)
    assert server.translate("42", alternatives=2).json()["alternatives"] == []


def test_the_source_language_is_detected(server: Live, translator: Translator) -> None:
    text = "Ich habe gestern einen langen Brief an meine Mutter geschrieben."
    answer = server.translate(text, source="auto").json()
    assert answer["translatedText"] == translator(text)
    assert answer["detectedLanguage"]["language"] == "de"
    several = server.translate([text, text], source="auto").json()
    assert several["detectedLanguage"] == [answer["detectedLanguage"]] * 2
    page = f'<p class="text-center font-bold navigation item header footer">{text}</p>'
    marked = server.translate(page, source="auto", format="html").json()
    assert marked["translatedText"] == page.replace(text, translator(text))
    # A text in the target language, and one in a language without a model.
    same = "I wrote a long letter to my mother yesterday, and she answered."
    assert server.translate(same, source="auto").json()["translatedText"] == same
    refused = server.translate("Je voudrais acheter du pain et du fromage pour ma famille.", source="auto")
    assert (refused.status_code, refused.json()) == (400, {"error": "fr is not supported"})


@pytest.mark.parametrize("text", ["Hallo", "Ja", "Nein", "Gift"])
def test_the_language_of_a_single_word_is_unknown_and_the_word_is_translated(
    server: Live, translator: Translator, text: str
) -> None:
    """They have the confidence of an empty text, which was said to be English."""
    (found,) = LibreTranslateAPI(server.url).detect(text)
    assert found["language"] == "unknown"
    assert 50 <= found["confidence"] < 80
    answer = server.translate(text, source="auto").json()
    assert answer == {"translatedText": translator(text), "detectedLanguage": found}


def test_alternatives_of_several_lines_share_batches(server: Live) -> None:
    """Line by line, 40 lines took 4.2 s instead of 0.9 s."""

    def totals() -> list[float]:
        found = server.http.get("/metrics").text
        return [
            float(found.partition(f"\ntranslate_batch_sentences_{name} ")[2].split()[0]) for name in ("sum", "count")
        ]

    words = book(1).split()
    text = "\n".join(" ".join(random.Random(i).sample(words, 7)) for i in range(40))  # of one length
    server.translate(text)
    before = totals()
    answer = server.translate(text, alternatives=2).json()
    n_sentences, n_batches = (later - earlier for later, earlier in zip(totals(), before, strict=True))
    assert n_sentences > 1.5 * n_batches
    assert all(other.count("\n") == text.count("\n") for other in answer["alternatives"])


def test_a_model_of_the_other_direction_changes_nothing(
    server: Live, options: ServeOptions, folders: list[Path], tmp_path: Path
) -> None:
    text = book(40)
    with live(replace(options, model=folders[:1]), tmp_path) as alone:
        answer = alone.translate(text).json()
    assert answer == server.translate(text).json() == {"translatedText": Translator.load(folders[0])(text)}


def test_html_keeps_tags_and_scripts(server: Live, translator: Translator) -> None:
    script = "<script>document.write('<b>der Hund</b>')</script>"
    page = f'<p class="green">{GERMAN}</p>{script}<img src=x onerror="alert(1)">'
    answer = server.translate(page, format="html", alternatives=2).json()
    assert answer["translatedText"] == page.replace(GERMAN, translator(GERMAN))
    others = server.translate(GERMAN, alternatives=2).json()["alternatives"]
    assert others
    assert answer["alternatives"] == [page.replace(GERMAN, other) for other in others]


def test_alternatives_of_html_keep_formatting_and_lines(server: Live) -> None:
    page = "<ul>\n<li>der <b>Hund</b> schläft\nim Haus.</li>\n<li>42</li>\n</ul>"
    answer = server.translate(page, format="html", alternatives=3).json()
    texts = [answer["translatedText"], *answer["alternatives"]]
    assert 1 < len(texts) == len(set(texts))
    assert {tuple(re.findall(r"</?\w+>", text)) for text in texts} == {tuple(re.findall(r"</?\w+>", page))}
    assert {text.count("\n") for text in texts} == {page.count("\n")}
    plain = server.translate(re.sub("</?b>", "", page), format="html", alternatives=3).json()
    assert [re.sub("</?b>", "", text).split() for text in answer["alternatives"]] == [
        text.split() for text in plain["alternatives"]
    ]
    assert server.translate(["<p>42</p>", "<br>"], format="html", alternatives=3).json()["alternatives"] == [[], []]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"source": "de", "target": "en"}, "Invalid request: missing q parameter"),
        ({"q": "", "source": "de", "target": "en"}, "Invalid request: missing q parameter"),
        ({"q": [], "source": "de", "target": "en"}, "Invalid request: missing q parameter"),
        ({"q": "a", "target": "en"}, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "de"}, "Invalid request: missing target parameter"),
        ({"q": "a", "source": "xx", "target": "en"}, "xx is not supported"),
        ({"q": "a", "source": "de", "target": "xx"}, "xx is not supported"),
        ({"q": "a", "source": "de", "target": "auto"}, "auto is not supported"),
        ({"q": "a", "source": "auto", "target": "auto"}, "auto is not supported"),
        (
            {"q": "a", "source": "de", "target": "en", "format": "pdf"},
            "Invalid request: format parameter should be 'text' or 'html'",
        ),
        *[
            (
                {"q": "a", "source": "de", "target": "en", "alternatives": value},
                "Invalid request: alternatives parameter should be a valid integer",
            )
            for value in ("two", "2", 2.9, True, [1])
        ],
        (
            {"q": "a", "source": "de", "target": "en", "alternatives": 11},
            "Invalid request: alternatives parameter must be <= 10",
        ),
        (
            {"q": "a", "source": "de", "target": "en", "sentences": "true"},
            "Invalid request: sentences parameter should be a valid boolean",
        ),
        ({"q": ["a", 1], "source": "de", "target": "en"}, "Invalid request: q parameter should be a valid string"),
        (
            {"q": {"a": 1}, "source": "de", "target": "en"},
            "Invalid request: q parameter should be a valid string or should be a valid list",
        ),
        (["a"], "Invalid JSON format: an object is expected"),
        *[
            (
                {"q": "a", "source": "de", "target": "en", name: "x"},
                f"Invalid request: there is no parameter {name}; did you mean {meant}?",
            )
            for name, meant in (("foramt", "format"), ("glossary_id", "glossary"), ("apikey", "api_key"))
        ],
    ],
)
def test_wrong_parameters_are_named(server: Live, body: dict[str, object], message: str) -> None:
    answer = server.http.post("/translate", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()) == (400, {"error": message})


@pytest.mark.parametrize("body", [b'{"q": "\\ud800"}', b'{"q" "a"}', b'{"q": "a"', b"q=a", b'{"q": "\xff"}'])
def test_what_is_no_json_is_located(server: Live, body: bytes) -> None:
    answer = server.http.post("/translate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert re.fullmatch(r"Invalid JSON format: .* at line 1 column \d+", answer.json()["error"])


def test_parameters_of_other_servers_are_ignored(server: Live, translator: Translator) -> None:
    others = {"secret": "x", "split_sentences": "1", "model": "y", "x" * 1000: 1} | dict.fromkeys(map(str, range(999)))
    assert server.translate(GERMAN, **others).json() == {"translatedText": translator(GERMAN)}


def test_a_wrong_method_names_the_right_one(server: Live) -> None:
    answer = server.http.get("/translate", params={"q": GERMAN, "source": "de", "target": "en"})
    assert (answer.status_code, answer.json()) == (405, {"error": "Method Not Allowed; use POST"})


def test_empty_parameters_are_missing_ones(server: Live, translator: Translator) -> None:
    answer = server.translate(GERMAN, api_key="", format=None, alternatives=None, apikey="")
    assert answer.json() == {"translatedText": translator(GERMAN)}


def test_a_form_has_numbers_as_text_and_the_first_of_several_values(server: Live, translator: Translator) -> None:
    form = {"q": [GERMAN, "die Katze"], "source": "de", "target": "en", "alternatives": "2", "sentences": "true"}
    for answer in (
        server.http.post("/translate", data=form),
        server.http.post("/translate", data=form, files={"none": ("ä.txt", b"")}),
    ):
        assert answer.json()["translatedText"] == translator(GERMAN)
        assert len(answer.json()["alternatives"]) == 2
        assert answer.json()["sentences"]
    raw = f"q={GERMAN}&source=de&target=en".encode()  # as curl sends it: not escaped
    answer = server.http.post("/translate", content=raw, headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.json() == {"translatedText": translator(GERMAN)}


def test_requests_have_ids(server: Live) -> None:
    ids = {server.http.get("/health").headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3
    given = server.http.get("/health", headers={"X-Request-ID": "proxy-1:a.b"})
    assert given.headers["x-request-id"] == "proxy-1:a.b"
    replaced = server.http.get("/health", headers={"X-Request-ID": "two words"})
    assert " " not in replaced.headers["x-request-id"]


def test_other_routes_answer_as_documented(server: Live) -> None:
    assert server.http.get("/health").json() == {"status": "ok"}
    settings = server.http.get("/frontend/settings").json()
    assert settings["charLimit"] == 1_000_000
    assert (settings["apiKeys"], settings["keyRequired"], settings["suggestions"]) == (False, False, False)
    assert ".txt" in settings["supportedFilesFormat"]
    assert settings["language"]["source"] == {"code": "de", "name": "German"}
    suggestion = {"q": "Hund", "s": "dog", "source": "de", "target": "en"}
    refused = server.http.post("/suggest", json=suggestion)
    assert (refused.status_code, refused.json()) == (403, {"error": "Suggestions are disabled on this server."})
    for path, status in (("/nothing", 404), ("/translate", 405)):
        answer = server.http.get(path)
        assert answer.status_code == status
        assert answer.json().keys() == {"error"}


@pytest.mark.parametrize("route", ["/translate", "/detect"])
def test_a_file_is_no_text_of_a_form(server: Live, route: str) -> None:
    """As with `curl -F q=@letter.txt`, where its name would be translated."""
    answer = server.http.post(
        route, data={"source": "de", "target": "en"}, files={"q": ("letter.txt", GERMAN.encode())}
    )
    assert (answer.status_code, answer.json().keys()) == (400, {"error"})


@pytest.mark.parametrize("path", ["/", "/health", "/languages", "/docs", "/page/main.js", "/translate", "/nothing"])
def test_head_is_answered_as_get_without_the_body(server: Live, path: str) -> None:
    whole, head = server.http.get(path), server.http.head(path)
    assert (head.status_code, head.headers["content-length"]) == (whole.status_code, str(len(whole.content)))
    assert head.content == b""


def test_the_api_describes_itself_without_external_files(server: Live) -> None:
    description = server.http.get("/openapi.json").json()
    assert {"/translate", "/detect", "/translate_file", "/suggest", "/languages"} <= description["paths"].keys()
    assert server.http.get("/spec").json() == description
    page = server.http.get("/docs").text
    assert all(path in page for path in description["paths"])
    assert "src=" not in page
    assert "http://" not in page.replace(server.url, "")
    assert "https://" not in page


@pytest.mark.parametrize("path", ["/", "/languages", "/page/main.js", "/nothing"])
def test_every_answer_has_headers_for_the_security_of_browsers(server: Live, path: str) -> None:
    headers = server.http.get(path).headers
    assert (headers["Referrer-Policy"], headers["Cache-Control"]) == ("no-referrer", "no-cache")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert {"base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'"} <= {
        *headers["Content-Security-Policy"].split("; ")
    }


def test_the_gauges_follow_without_being_asked_for(server: Live) -> None:
    """Of several processes, only one is asked for the metrics of all."""
    server.translate(GERMAN)
    gauge = server.state.metrics.models
    gauge.set(-1)
    until(lambda: gauge.collect()[0].samples[0].value == server.state.service.pool.n_loaded > 0)


def test_metrics_count_requests_and_batches(server: Live) -> None:
    before = server.http.get("/metrics").text
    server.translate(GERMAN)
    after = server.http.get("/metrics").text

    def count(text: str, name: str) -> float:
        return sum(float(line.rpartition(" ")[2]) for line in text.split("\n") if line.startswith(name))

    for name in ('translate_requests_total{route="/translate",status="200"}', "translate_batch_sentences_count"):
        assert count(after, name) > count(before, name)
    assert count(after, "translate_characters_total") == count(before, "translate_characters_total") + len(GERMAN)
    assert count(after, "translate_loaded_models") == 1
