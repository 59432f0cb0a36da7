#!/usr/bin/env bash
# Babel's `parse_time` reads "8:15 p.m." as 8:15 in the morning.
#
# Guess: "a.m." and "p.m." are read like "AM" and "PM", or refused with an error.
# Miss:  only the letters of the locale's own AM and PM are known. Another mark is ignored without an error, so that
#        afternoon times are twelve hours off, and half past midnight becomes half past noon; German "nachm.", which
#        Babel itself writes for the pattern "h B", is lost in the same way.
. "$(dirname "$0")/environment.sh" babel==2.19.0
python - <<'PYTHON'
from datetime import time
from babel.dates import format_time, parse_time
from finding import expect

expect("12:15 AM", parse_time("12:15 AM", locale="en"), time(0, 15))
expect("12:15 a.m.", parse_time("12:15 a.m.", locale="en"), time(12, 15))
expect("8:15 p.m.", parse_time("8:15 p.m.", locale="en"), time(8, 15))
expect("8:15 p.m. in British English", parse_time("8:15 p.m.", locale="en_GB"), time(8, 15))
written = format_time(time(14, 0), "h:mm B", locale="de")
expect("14:00 written by Babel", written, "2:00 nachm.")
expect("and read by Babel", parse_time(written, locale="de"), time(2, 0))
PYTHON
