#!/usr/bin/env bash
# A table that Ray Data writes as CSV and reads again has other values where a block had no ordinary text.
#
# Guess: texts come back as texts; an empty one may come back missing.
# Miss:  types are guessed for each file, and each block is a file: the words NA and null of a block come back missing, and
#        "2031-05-17" as a date, while the same cells in a block with another text stay text. So the values of a column
#        depend on how many blocks there were. Parquet keeps them.
. "$(dirname "$0")/environment.sh" 'ray[data]==2.60.0' pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6
python - 2>ray.log <<'PYTHON'
import datetime
import ray
from finding import expect

ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
ray.data.DataContext.get_current().enable_progress_bars = False
WORDS = ["NA", "2031-05-17", "null", "word"]

def again(n_blocks, kind):
    folder = f"{kind}-{n_blocks}"
    written = ray.data.from_items([{"word": word} for word in WORDS], override_num_blocks=n_blocks)
    getattr(written, f"write_{kind}")(folder)
    rows = getattr(ray.data, f"read_{kind}")(folder).take_all()
    return sorted((row["word"] for row in rows), key=str)

missing, text = [None, None], sorted(WORDS)
expect("one block", again(1, "csv"), text)
expect("a block for each word", again(4, "csv"), [datetime.date(2031, 5, 17), *missing, "word"])
expect("Parquet, a block for each word", again(4, "parquet"), text)
PYTHON
