#!/usr/bin/env bash
# German in capitals is Estonian or Finnish for langid, and English in capitals Vietnamese or German for langdetect.
#
# Guess: a sentence in capitals has the language of the same sentence in small letters for langdetect, langid and
#        py3langid.
# Miss:  langid has learned from texts with few capitals, and each of these German sentences has another language for it.
#        langdetect leaves words in capitals out, as names, but for their first letters: "THE TRAIN TO LONDON DOES NOT
#        RUN TODAY" is Vietnamese with a probability above 0.99 in every run. py3langid makes such texts small first. A
#        filter by language drops headings, warnings and clauses of contracts from a corpus, or keeps them as another
#        language.
. "$(dirname "$0")/environment.sh" langdetect==1.0.9 langid==1.1.6 py3langid==0.4.0 numpy==2.4.6
python - <<'PYTHON'
import langdetect
import langid
import py3langid
from finding import expect

def by_langdetect(text):
    """Return the most probable languages of ten runs with different seeds, and whether all are sure."""
    best = []
    for seed in range(10):
        langdetect.DetectorFactory.seed = seed
        best.append(langdetect.detect_langs(text)[0])
    return sorted({language.lang for language in best}), min(language.prob for language in best) > 0.99

GERMAN = {
    "Der Schlüssel liegt unter der Matte": "et",
    "Alle Menschen sind frei und gleich an Würde und Rechten geboren": "et",
    "Diese Tür nicht öffnen, solange der Motor läuft": "et",
    "Die Ware bleibt bis zur vollständigen Bezahlung Eigentum des Verkäufers": "fi",
}
for text, language in GERMAN.items():
    expect(text, [langid.classify(text)[0], py3langid.classify(text)[0]], ["de", "de"])
    expect(text.upper(), [langid.classify(text.upper())[0], py3langid.classify(text.upper())[0]], [language, "de"])
train, rights = "The train to London does not run today", "All rights reserved worldwide"
expect(train, by_langdetect(train)[0], ["en"])
expect(train.upper(), by_langdetect(train.upper()), (["vi"], True))
expect(rights, by_langdetect(rights)[0], ["en"])
expect(rights.upper(), by_langdetect(rights.upper())[0], ["de"])
PYTHON
