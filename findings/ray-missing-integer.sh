#!/usr/bin/env bash
# Ray Data changes large integers when a function that changes nothing is mapped over a column with a missing value.
#
# Guess: `map_batches` with the default format gives integers and None, or refuses the column.
# Miss:  the column becomes float64: 9007199254740993 is 9007199254740992.0 afterwards and the missing value is nan.
#        Identifiers and hashes of sentences point at other rows. The formats "pandas" and "pyarrow" keep both.
. "$(dirname "$0")/environment.sh" 'ray[data]==2.60.0' pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6
python - 2>ray.log <<'PYTHON'
import math
import pyarrow as pa
import ray
from finding import expect

ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
ray.data.DataContext.get_current().enable_progress_bars = False
table = pa.table({"id": pa.array([2**53 + 1, None, 3], pa.int64())})

def unchanged(batch):
    return batch

def mapped(**options):
    return [row["id"] for row in ray.data.from_arrow(table).map_batches(unchanged, **options).take_all()]

first, missing, last = mapped()
expect("large integer by default", first, 9007199254740992.0)
expect("missing value by default is nan", math.isnan(missing), True)
expect("pandas", mapped(batch_format="pandas"), [9007199254740993, None, 3])
expect("pyarrow", mapped(batch_format="pyarrow"), [9007199254740993, None, 3])
PYTHON
