#!/usr/bin/env bash
# Babel's `format_interval` replaces the fields that were asked for by others without a word.
#
# Guess: a range of weekdays (skeleton "E") is "Sa.-Mo."; "yMMMMd" has the full name of the month; a skeleton that the
#        locale lacks is an error or joins two times in that pattern.
# Miss:  "E", "j" and "jm" fall back to two full dates or times with seconds; "yMMMMd" takes the abbreviated month; and
#        the British range of days with weekdays has a thin space between day and month, not before the dash.
. "$(dirname "$0")/environment.sh" babel==2.19.0
python - <<'PYTHON'
from datetime import date, time
from babel.dates import format_interval
from finding import expect

saturday, monday, eight, five = date(2026, 10, 3), date(2026, 10, 5), time(8), time(17)
expect("E, de", format_interval(saturday, monday, "E", locale="de"), "03.10.2026\u2009–\u200905.10.2026")
expect("E, en", format_interval(saturday, monday, "E", locale="en"), "Oct 3, 2026\u2009–\u2009Oct 5, 2026")
expect("yMMMMd, de", format_interval(saturday, monday, "yMMMMd", locale="de"), "3.–5. Okt. 2026")
expect("jm, de", format_interval(eight, five, "jm", locale="de"), "08:00:00\u2009–\u200917:00:00")
expect("Hm, de", format_interval(eight, five, "Hm", locale="de"), "08:00–17:00 Uhr")
expect("yMMMEd, en_GB", format_interval(saturday, monday, "yMMMEd", locale="en_GB"),
       "Sat, 3\u2009Oct –\u2009Mon, 5 Oct 2026")
PYTHON
