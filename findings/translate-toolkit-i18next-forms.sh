#!/usr/bin/env bash
# Translate Toolkit drops forms of an i18next file that it only reads and writes: "_other" in Polish, "3rd" in English.
#
# Guess: `I18NextV4File`, by which Weblate edits such files, gives a file back as it was if nothing is changed: plural
#        forms, ordinals ("_ordinal_two") and variants for a context. Of other keys no guess was written.
# Miss:  whatever ends with "_one", "_two", "_few" and so on is a plural message, and is written with the forms that
#        gettext has for the language: the others are dropped, and missing ones are added as empty texts. English
#        ordinals lose "2nd" and "3rd". Polish and its like have three forms in gettext and four in i18next, so each
#        such file loses "_other", which is the one for 1.5: i18next shows the key. "_zero" goes in every language. So
#        do ordinary texts: of the keys step_one, step_two and step_three the second is gone. A translator who corrects
#        one word loses these texts of the whole file, without a message.
. "$(dirname "$0")/environment.sh" translate-toolkit==3.20.4
npm install --silent --no-audit --no-fund i18next@27.1.5
cat >show.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import i18next from 'i18next'

const shown = []
for (const [lng, translation, key, options] of JSON.parse(readFileSync('calls.json', 'utf8'))) {
  const instance = i18next.createInstance()
  await instance.init({ lng, resources: { [lng]: { translation } } })
  shown.push(instance.t(key, options))
}
console.log(JSON.stringify(shown))
JAVASCRIPT
python - <<'PYTHON'
import json
import subprocess

from finding import expect
from translate.storage.jsonl10n import I18NextV4File


def written(language, texts):
    """Return the texts of a file that was read and written without a change."""
    store = I18NextV4File()
    store.settargetlanguage(language)
    store.parse(json.dumps(texts).encode())
    return json.loads(bytes(store))


PLACES = {f"place_ordinal_{form}": text for form, text in (("one", "{{count}}st"), ("two", "{{count}}nd"),
                                                         ("few", "{{count}}rd"), ("other", "{{count}}th"))}
POLISH = {f"file_{form}": text for form, text in (("one", "{{count}} plik"), ("few", "{{count}} pliki"),
                                                ("many", "{{count}} plików"), ("other", "{{count}} pliku"))}
GERMAN = {"file_one": "{{count}} Datei", "file_other": "{{count}} Dateien"}
HITS = {"hit_zero": "No hits", "hit_one": "One hit", "hit_other": "{{count}} hits"}
STEPS = {"step_one": "Unscrew", "step_two": "Lift", "step_three": "Clean"}
CALLS = (  # what i18next shows with the file as it was, and as it was written
    ("de", GERMAN, "file", {"count": 5}, ["5 Dateien", "5 Dateien"]),
    ("en", PLACES, "place", {"count": 3, "ordinal": True}, ["3rd", "3th"]),
    ("pl", POLISH, "file", {"count": 5}, ["5 plików", "5 plików"]),
    ("pl", POLISH, "file", {"count": 1.5}, ["1.5 pliku", "file"]),
    ("en", HITS, "hit", {"count": 0}, ["No hits", "0 hits"]),
    ("en", STEPS, "step_two", {}, ["Lift", "step_two"]),
)
with open("calls.json", "w") as file:
    json.dump([[language, one, key, options] for language, texts, key, options, _ in CALLS
               for one in (texts, written(language, texts))], file)
shown = iter(json.loads(subprocess.check_output(["node", "show.mjs"])))
for language, _, key, options, stated in CALLS:
    expect(f"{language} {key} {options}", [next(shown), next(shown)], stated)
expect("steps", written("en", STEPS), {"step_one": "Unscrew", "step_other": "", "step_three": "Clean"})
PYTHON
