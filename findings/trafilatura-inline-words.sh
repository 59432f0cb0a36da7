#!/usr/bin/env bash
# Trafilatura and Resiliparse take the words of <time> and <label> out of the middle of a sentence.
#
# Guess: the text of an article that an extractor of web pages takes for the main one has each of its words, whatever
#        inline element they stand in, and whichever base of a ruby they are.
# Miss:  "Seit <time>3. Oktober</time> fährt sie" is "Seit fährt sie" for both, also with `favor_recall`. HTML has
#        <time> for dates in sentences. <label> is lost as well, and <output> by Trafilatura. Resiliparse, asked for the
#        main content, loses a ruby without <rp>, base and all. What is left looks like a sentence, so in pages of two
#        languages a date is aligned to nothing. jusText keeps them, but writes the reading of a ruby behind its base.
. "$(dirname "$0")/environment.sh" trafilatura==2.3.1 resiliparse==2.0.1 justext==3.0.2 lxml-html-clean==0.4.6
python - <<'PYTHON'
import justext
import trafilatura
from finding import expect
from resiliparse.extract.html2text import extract_plain_text

FILL = "Der Rat der Stadt hat am Montag lange über die neuen Pläne gesprochen und am Ende nichts entschieden."
STOP = justext.get_stoplist("German")
READERS = {
    "trafilatura": trafilatura.extract,
    "trafilatura, favor_recall": lambda page: trafilatura.extract(page, favor_recall=True),
    "resiliparse, main content": lambda page: extract_plain_text(page, main_content=True),
    "resiliparse": extract_plain_text,
    "jusText": lambda page: "\n".join(part.text for part in justext.justext(page.encode(), STOP)),
}


def read_by(extract, sentence):
    paragraphs = "".join(f"<p>{text} {FILL}</p>" for text in (sentence, "Auch das.", "Und dies."))
    page = f"<!DOCTYPE html><html><body><article><h1>Pläne</h1>{paragraphs}</article></body></html>"
    return " ".join(extract(page).split()).removeprefix("Pläne ").partition(f" {FILL}")[0]


LOST = {
    "trafilatura": ["time", "label", "output"],
    "trafilatura, favor_recall": ["time", "label", "output"],
    "resiliparse, main content": ["time", "label"],
    "resiliparse": ["label"],
    "jusText": [],
}
RUBY = {"trafilatura": "漢字", "trafilatura, favor_recall": "漢字", "resiliparse, main content": "漢"}
for name, extract in READERS.items():
    sentences = {tag: f"Seit <{tag}>3. Oktober</{tag}> fährt sie." for tag in ("em", "time", "label", "output")}
    texts = {tag: read_by(extract, sentence) for tag, sentence in sentences.items()}
    stated = {tag: "Seit fährt sie." if tag in LOST[name] else "Seit 3. Oktober fährt sie." for tag in texts}
    expect(name, texts, stated)
    ruby = read_by(extract, "Das Zeichen 漢<ruby>字<rt>じ</rt></ruby> hier.")
    expect(f"{name}, ruby", ruby, f"Das Zeichen {RUBY.get(name, '漢字じ')} hier.")
PYTHON
