#!/usr/bin/env bash
# pandas counts each letter as the beginning of a word if PyArrow is installed: "Das Haus" has seven words.
#
# Guess: `.str.count(pattern)` is `len(re.findall(pattern, text))` for each text, as it is without PyArrow.
# Miss:  PyArrow searches again in what is left behind a match, and takes its start for the start of the text, so `^`
#        and `\b` hold there. `\b\w`, which counts words, counts letters, and `^.` does so too. `contains`, `replace`
#        and `findall` are right, and so is `count` for patterns without such a mark, such as `\w+`. Lengths of
#        sentences in words, and what is filtered by them, depend on a package that pandas only recommends.
. "$(dirname "$0")/environment.sh" pandas==3.1.1 numpy==2.4.6
cat >count.py <<'PYTHON'
import json

import pandas

texts = pandas.Series(["Das Haus", "Ja"])
counts = [texts.str.count(pattern).tolist() for pattern in (r"\b\w", r"^.", r"\w+")]
replaced = texts.str.replace(r"\b\w", "#", regex=True).tolist()
print(json.dumps([*counts, replaced, texts.str.findall(r"\b\w").tolist()]))
PYTHON
python count.py >without.json
python -m pip install --quiet --disable-pip-version-check pyarrow==26.0.1 2>pip.log
python count.py >with.json
python - <<'PYTHON'
import json

from finding import expect

NAMES = ("words", "starts", r"\w+", "replace", "findall")
RIGHT = [[2, 1], [1, 1], [2, 1], ["#as #aus", "#a"], [["D", "H"], ["J"]]]
for name, stated in (("without", RIGHT), ("with", [[7, 2], [8, 2], *RIGHT[2:]])):
    with open(f"{name}.json") as file:
        for what, seen, expected in zip(NAMES, json.load(file), stated, strict=True):
            expect(f"{what}, {name} PyArrow", seen, expected)
PYTHON
