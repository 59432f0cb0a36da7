#!/usr/bin/env bash
# Ray Data's `read_text` makes more lines of a file than it has line ends.
#
# Guess: a row for each line that ends with "\n", or "\r\n"; blank ones dropped unless asked for.
# Miss:  form feeds, as between the pages of extracted PDF text, and other characters at which Python's `splitlines`
#        divides, such as U+2028, end a row too. Two files that are parallel by line are not parallel any more.
. "$(dirname "$0")/environment.sh" 'ray[data]==2.60.0' pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6
python - 2>ray.log <<'PYTHON'
from pathlib import Path
import ray
from finding import expect

ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
ray.data.DataContext.get_current().enable_progress_bars = False
content = "one\ntwo\fthree\nfour\u2028five\n"
Path("text.txt").write_text(content, encoding="utf-8")
rows = [row["text"] for row in ray.data.read_text("text.txt", drop_empty_lines=False).take_all()]
expect("line ends", content.count("\n"), 3)
expect("rows", rows, ["one", "two", "three", "four", "five"])
PYTHON
