#!/usr/bin/env bash
# webdataset makes 7 of the identifier "007" and 1000 of "1_000", and one sample of two whose keys have a full stop.
#
# Guess: a text that `TarWriter` is given under "id" is the same text after `decode()`, "007", as one under "txt" is.
#        That a key ends at its first full stop when a file is read was known, not what the writer says to such a key.
# Miss:  the name "id" is decoded as an integer, as "cls" and "index" are, whatever was written: leading zeros
#        are gone, an identifier that is not a number is an error when it is read. The writer takes the key "satz.1",
#        and "satz.2" after it, without a word; the reader finds one sample "satz" with the parts "1.txt" and "2.txt".
#        Pairs that are looked up by their identifier afterwards are not found, or others are.
. "$(dirname "$0")/environment.sh" webdataset==1.0.2 numpy==2.4.6
python - <<'PYTHON'
import os

from finding import expect
from webdataset import TarWriter, WebDataset
from webdataset.autodecode import DecodingError

PLACE = "__url__", "__local_path__"


def written(*samples):
    with TarWriter("texts.tar") as writer:
        for sample in samples:
            writer.write(sample)
    read = WebDataset(os.path.abspath("texts.tar"), shardshuffle=False).decode()
    return [{name: value for name, value in sample.items() if name not in PLACE} for sample in read]


for identifier, seen in {"007": 7, "1_000": 1000, " 12": 12}.items():
    expect(f"id {identifier!r}", written({"__key__": "a", "id": identifier, "txt": identifier})[0]["id"], seen)
expect("txt '007'", written({"__key__": "a", "txt": "007"})[0]["txt"], "007")
try:
    written({"__key__": "a", "id": "satz-7"})
except DecodingError as error:
    print("id 'satz-7':", type(error).__name__)
else:
    raise SystemExit("changed: 'satz-7' was an error")
two = written({"__key__": "satz.1", "txt": "eins"}, {"__key__": "satz.2", "txt": "zwei"})
expect("two samples", two, [{"__key__": "satz", "1.txt": "eins", "2.txt": "zwei"}])
PYTHON
