#!/usr/bin/env bash
# pandas writes "Straße" in capitals as "STRAẞE" if PyArrow is installed, and as "STRASSE" if not.
#
# Guess: `.str.upper()` is Python's `upper` for each text, "STRASSE"; where texts are stored changes speed and memory.
# Miss:  the type of texts in pandas 3 takes PyArrow where it is there, whose functions map letter for letter: no text
#        changes its length, so that the ligature in "ﬁnden" stays small, and a Greek word in small letters ends with
#        the wrong sigma. `lower` of these capitals has an eszett again, which Python's has not. Pairs for training in
#        capitals, or a table that is matched without case, differ between two machines with the same pandas.
. "$(dirname "$0")/environment.sh" pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6
python - <<'PYTHON'
import numpy as np
import pandas as pd
from finding import expect

FI = "\N{LATIN SMALL LIGATURE FI}"
SMALL, CAPITALS = ["Straße", f"{FI}nden"], ["ΟΔΟΣ"]
STATED = {
    "python": (["STRASSE", "FINDEN"], ["strasse", "finden"], ["οδος"]),
    "pyarrow": (["STRAẞE", f"{FI}NDEN"], ["straße", f"{FI}nden"], ["οδοσ"]),
}
expect("storage by default", pd.Series(SMALL).dtype.storage, "pyarrow")
for storage, (upper, again, lower) in STATED.items():
    dtype = pd.StringDtype(storage, na_value=np.nan)
    small, capitals = pd.Series(SMALL, dtype=dtype), pd.Series(CAPITALS, dtype=dtype)
    expect(f"{storage}, upper", list(small.str.upper()), upper)
    expect(f"{storage}, upper and lower", list(small.str.upper().str.lower()), again)
    expect(f"{storage}, lower", list(capitals.str.lower()), lower)
expect("Python", [text.upper() for text in SMALL], STATED["python"][0])
PYTHON
