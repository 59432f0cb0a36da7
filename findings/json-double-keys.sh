#!/usr/bin/env bash
# Of a key that a JSON object has twice, Polars and pysimdjson take the first value or the last, by the function.
#
# Guess: json, msgspec, Polars, DuckDB, PyArrow and pysimdjson take the last, as JavaScript does and as Python's
#        documentation says; "loads" and "parse" of one package agree.
# Miss:  in Polars, `read_ndjson`, `read_json` and `json_decode` take the first, and `json_path_match` takes the last.
#        In pysimdjson, `loads` and `as_dict` have the last, and `parse(...)["a"]` has the first. In DuckDB `->>` has
#        the first; its `read_json` ends with an error, as PyArrow's does. A catalogue in which two branches were
#        merged often has such keys. A program in JavaScript then shows another text than the table for translators,
#        or the test, that was made with these packages.
. "$(dirname "$0")/environment.sh" duckdb==2.0.1 msgspec==0.22.0 polars==2.1.0 pyarrow==26.0.1 pysimdjson==7.0.2
python - <<'PYTHON'
import io
import json
import subprocess

import duckdb
import msgspec
import polars
import pyarrow.json
import simdjson
from finding import expect

TEXT = '{"a": "Haus", "b": "x", "a": "Gebäude"}'
FIRST, LAST = "Haus", "Gebäude"


def result(read):
    """Return a value, or the name of an error."""
    try:
        return read()
    except (duckdb.Error, pyarrow.ArrowInvalid) as error:
        return type(error).__name__


with open("texts.json", "w", encoding="utf-8") as file:
    file.write(TEXT)
script = "console.log(JSON.parse(require('fs').readFileSync('texts.json', 'utf8')).a)"
expect("JavaScript", subprocess.run(["node", "-e", script], capture_output=True).stdout.decode().strip(), LAST)
expect("json, msgspec", {read(TEXT)["a"] for read in (json.loads, msgspec.json.decode)}, {LAST})
column, both = polars.Series([TEXT]), polars.Struct({"a": polars.String, "b": polars.String})
expect("Polars, read_ndjson", polars.read_ndjson("texts.json")["a"][0], FIRST)
expect("Polars, read_json", polars.read_json("texts.json")["a"][0], FIRST)
expect("Polars, json_decode", column.str.json_decode(both)[0]["a"], FIRST)
expect("Polars, json_path_match", column.str.json_path_match("$.a")[0], LAST)
expect("pysimdjson, loads", simdjson.loads(TEXT)["a"], LAST)
document = simdjson.Parser().parse(TEXT.encode())
expect("pysimdjson, parse", document["a"], FIRST)
expect("pysimdjson, as_dict", document.as_dict()["a"], LAST)
expect("DuckDB, ->>", duckdb.execute("SELECT ?::JSON ->> '$.a'", [TEXT]).fetchall(), [(FIRST,)])
table = result(lambda: duckdb.sql("FROM read_json('texts.json')").fetchall())
expect("DuckDB, read_json", table, "InvalidInputException")
expect("PyArrow", result(lambda: pyarrow.json.read_json(io.BytesIO(TEXT.encode()))), "ArrowInvalid")
PYTHON
