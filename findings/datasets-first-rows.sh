#!/usr/bin/env bash
# datasets goes by the first rows: it drops columns that come later, and makes 7 of "007" if integers came before.
#
# Guess: `Dataset.from_list` fills a column that the first row lacks with None, as the reader of JSON lines does; `map`
#        refuses a text where the first thousand results are integers, as it refuses 1.5 there.
# Miss:  `from_list` takes the columns of the first row and drops others without a word: a score or a context that only some
#        pairs have is in the data or not, by the order of the rows. `map` turns the text into an integer if it can, and
#        an integer into a text. An identifier such as "007" then points at another line.
. "$(dirname "$0")/environment.sh" datasets==5.2.0 pyarrow==26.0.1
export HF_HOME=$PWD/cache HF_HUB_OFFLINE=1
python - <<'PYTHON' 2>warnings.log
import json

import datasets
from finding import expect

rows = [{"de": "Haus"}, {"de": "Hund", "score": 0.9}]
expect("from_list", datasets.Dataset.from_list(rows)[:], {"de": ["Haus", "Hund"]})
expect("from_list, other order", datasets.Dataset.from_list(rows[::-1])[:], {"de": ["Hund", "Haus"], "score": [0.9, None]})
with open("rows.jsonl", "w") as file:
    file.writelines(json.dumps(row) + "\n" for row in rows)
expect("JSON lines", datasets.Dataset.from_json("rows.jsonl")[:], {"de": ["Haus", "Hund"], "score": [None, 0.9]})

numbers = datasets.Dataset.from_dict({"n": list(range(1001))})


def last(first, value):
    """Return what is the last value, after a thousand times the first one."""
    try:
        return numbers.map(lambda row: {"id": first if row["n"] < 1000 else value})[-1]["id"]
    except Exception as error:
        return type(error).__name__


expect("a text after integers", last(1, "007"), 7)
expect("an integer after texts", last("a", 7), "7")
expect("1.5 after integers", last(1, 1.5), "ArrowInvalid")
expect("a word after integers", last(1, "a"), "ArrowInvalid")
PYTHON
