#!/usr/bin/env bash
# dateparser reads "um 20 Uhr" as the 20th of the month, "3. März 14 Uhr" as 2014, French "14 heures" as 14 hours ago.
#
# Guess: in German, "20 Uhr" is 20:00, "um 14 Uhr 30" is 14:30, "8 Uhr 15" is 8:15, and "morgen um 8 Uhr" is 8:00 of the
#        next day; so with Dutch "14 uur 30" and French "14 heures 30". What it does not understand is None.
# Miss:  the word "Uhr" is skipped, and the numbers are a day and a year: "20 Uhr 15" is 20 January 2015. Behind
#        "morgen" or "heute" the hour is lost, and the time is that of the call. Dutch and French have one word for an
#        hour of the clock and for a duration, so "14 heures 30" is 14 hours ago, and "demain à 8 heures" is in a day
#        and eight hours. "14.30 Uhr" and "14h30" are right. A check of the dates of a translation, or `search_dates`
#        over a text, takes such a date for one that was meant.
. "$(dirname "$0")/environment.sh" dateparser==1.5.0
python - 2>/dev/null <<'PYTHON'
from datetime import datetime

from dateparser import parse
from dateparser.search import search_dates
from finding import expect

NOW = {"RELATIVE_BASE": datetime(2031, 1, 15, 10, 0)}
SEEN = {
    "de": {
        "14.30 Uhr": "2031-01-15 14:30",
        "um 8 Uhr": "2031-01-08 00:00",
        "um 20 Uhr": "2031-01-20 00:00",
        "20 Uhr 15": "2015-01-20 00:00",
        "um 14 Uhr 30": "2030-01-14 00:00",
        "11 Uhr 11": "2031-11-11 00:00",
        "3. März 14 Uhr": "2014-03-03 00:00",
        "morgen um 8 Uhr": "2031-01-16 10:00",
        "heute 9 Uhr": "2031-01-15 10:00",
    },
    "nl": {"14 uur 30": "2031-01-14 20:00", "morgen om 8 uur": "2031-01-16 18:00"},
    "fr": {"14h30": "2031-01-15 14:30", "14 heures 30": "2031-01-14 20:00", "demain à 8 heures": "2031-01-16 18:00"},
}
for language, texts in SEEN.items():
    for text, stated in texts.items():
        expect(f"{language}, {text}", f"{parse(text, languages=[language], settings=NOW):%Y-%m-%d %H:%M}", stated)
found = search_dates("Er kommt um 20 Uhr 15.", languages=["de"], settings=NOW)
expect("search_dates", found, [("um 20 Uhr 15", datetime(2015, 1, 20))])
PYTHON
