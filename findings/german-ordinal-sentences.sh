#!/usr/bin/env bash
# Two of five sentence splitters for German end a sentence behind "am 3.", one of them only if the month has a comma.
#
# Guess: syntok, pysbd, sentencex, sentence-splitter and SoMaJo, which all have rules for German, keep "Am 3. Mai kam er."
#        and "Der 2. Weltkrieg endete 1945." whole: an ordinal is a number with a full stop in each German text.
#        The texts with a comma or a storey came after these had missed.
# Miss:  syntok divides both. sentencex knows the names of the months, but only with a space behind them, so that "Am 3.
#        Mai, einem Sonntag," is two sentences; any other ordinal ends one too, as in "im 2. Stock". A translation of the
#        halves says "On 3." and "May came he.", and lines of a corpus that is divided so do not pair.
. "$(dirname "$0")/environment.sh" syntok==1.4.4 pysbd==0.3.4 sentencex==1.0.32 sentence-splitter==1.4 SoMaJo==2.5.0
python - <<'PYTHON'
import pysbd
import sentence_splitter
import sentencex
import somajo
import syntok.segmenter
from finding import expect

rules = pysbd.Segmenter(language="de", clean=False)
splitter = sentence_splitter.SentenceSplitter("de")
tokenizer = somajo.SoMaJo("de_CMC", split_sentences=True)
NUMBER_OF_SENTENCES = {
    "syntok": lambda text: sum(len(list(paragraph)) for paragraph in syntok.segmenter.process(text)),
    "pysbd": lambda text: len(rules.segment(text)),
    "sentencex": lambda text: len(list(sentencex.segment("de", text))),
    "sentence-splitter": lambda text: len(splitter.split(text)),
    "SoMaJo": lambda text: len(list(tokenizer.tokenize_text([text]))),
}
TEXTS = {  # one sentence each, divided by
    "Am Dienstag kam er.": set(),
    "Am 3. Mai kam er.": {"syntok"},
    "Am 3. Mai, einem Sonntag, kam er.": {"syntok", "sentencex"},
    "Der 2. Weltkrieg endete 1945.": {"syntok", "sentencex"},
    "Sie wohnt im 2. Stock.": {"syntok", "sentencex"},
}
for text, stated in TEXTS.items():
    expect(text, {name for name, count in NUMBER_OF_SENTENCES.items() if count(text) > 1}, stated)
PYTHON
