#!/usr/bin/env bash
# humanize writes German times in the wrong case, "vor 2 Tage", and says "vor ein Monat" of what was 13 months ago.
#
# Guess: with the language de_DE, `naturaltime` of two days is "vor 2 Tagen", of a day "vor einem Tag".
# Miss:  the phrase is made of two messages, "%s ago" and "2 days", and the second is translated once, for times and
#        durations alike, so it cannot have the dative that "vor" asks for. The future is "2 Tage ab jetzt". The German of
#        "1 year, 1 month" is "ein Monat": a year is missing. Nothing but reading finds either: all messages are
#        translated, and their placeholders are there. Arrow, which has a message for each phrase, is right.
. "$(dirname "$0")/environment.sh" humanize==4.17.0 arrow==1.4.0
python - <<'PYTHON'
from datetime import timedelta

import arrow
import humanize
from finding import expect

now = arrow.get(2031, 5, 17)
STATED = {  # humanize in German and in English, and Arrow in German
    1: ("vor ein Tag", "a day ago", "vor einem Tag"),
    2: ("vor 2 Tage", "2 days ago", "vor 2 Tagen"),
    400: ("vor ein Monat", "1 year, 1 month ago", "vor einem Jahr"),
    500: ("vor ein Jahr und 4 Monate", "1 year, 4 months ago", "vor einem Jahr"),
}
for days, stated in STATED.items():
    humanize.i18n.activate("de_DE")
    german = humanize.naturaltime(timedelta(days=days))
    humanize.i18n.deactivate()
    english = humanize.naturaltime(timedelta(days=days))
    expect(f"{days} days", (german, english, now.shift(days=-days).humanize(now, locale="de")), stated)
humanize.i18n.activate("de_DE")
expect("in two days", humanize.naturaltime(-timedelta(days=2)), "2 Tage ab jetzt")
PYTHON
