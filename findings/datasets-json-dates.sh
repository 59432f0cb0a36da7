#!/usr/bin/env bash
# datasets reads texts in JSON as times if all of a block look like dates, and so changes texts of a corpus.
#
# Guess: a JSON string is a text: `load_dataset("json", ...)` gives "2031-05-17", as only numbers without quotes are numbers.
# Miss:  a column of such texts is one of timestamps, and `to_json` writes the number 1936742400000. Types are guessed for
#        each block of 10 MB and each file, so a later one that has dates alone is fitted to the type of the first: as
#        text, "2031-05-17" is now "2031-05-17 00:00:00"; the other way round, loading fails. `features` that ask
#        for texts come too late: they turn the time into a text. A corpus with dates as sentences, or a column of them,
#        says other things than its file. pandas keeps this date, but makes 7 of "007".
. "$(dirname "$0")/environment.sh" datasets==5.2.0 pandas==3.1.1 pyarrow==26.0.1
export HF_HOME=$PWD/cache HF_HUB_OFFLINE=1
printf '{"text": "2031-05-17"}\n' >dates.jsonl
printf '{"text": "Am 17. Mai"}\n' >words.jsonl
printf '{"text": "007"}\n' >digits.jsonl
python - <<'PYTHON' 2>warnings.log
import datetime

import datasets
import pandas
from finding import expect


def loaded(*files, **options):
    data = datasets.load_dataset("json", data_files=[f"{name}.jsonl" for name in files], split="train", **options)
    data.to_json("written.jsonl")
    return data["text"][:]


expect("dates", loaded("dates"), [datetime.datetime(2031, 5, 17)])
expect("written", open("written.jsonl").read(), '{"text":1936742400000}\n')
expect("words and dates", loaded("words", "dates"), ["Am 17. Mai", "2031-05-17 00:00:00"])
try:
    expect("dates and words", loaded("dates", "words"), None)
except datasets.exceptions.DatasetGenerationError as error:
    expect("dates and words", type(error).__name__, "DatasetGenerationError")
texts = datasets.Features({"text": datasets.Value("string")})
expect("with features", loaded("dates", "words", features=texts), ["2031-05-17 00:00:00", "Am 17. Mai"])
expect("digits", loaded("digits"), ["007"])
by_pandas = [pandas.read_json(f"{name}.jsonl", lines=True)["text"][0] for name in ("dates", "digits")]
expect("pandas", by_pandas, ["2031-05-17", 7])
PYTHON
