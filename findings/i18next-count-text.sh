#!/usr/bin/env bash
# A count that is a text, such as "1" from a form, makes i18next show the key, vue-i18n the singular for every number.
#
# Guess: `t("file", {count: "1"})` is "1 Datei" in i18next, "5" is the plural, and node-polyglot has the singular for "1"
#        too: both take the number that the text is, as Intl.PluralRules does. Of vue-i18n no guess was written.
# Miss:  i18next looks for no plural form at all and shows "file". node-polyglot has "1 Dateien" in German, but the singular
#        in French, whose rule compares. vue-i18n takes a text as second argument for what to show without a message, and
#        has the first form, without a number. FormatJS and Lingui are right. Counts that come from an input field, an
#        attribute or a CSV file are texts, and nothing is reported.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund i18next@26.7.2 node-polyglot@2.6.0 vue-i18n@11.4.2 vue@3.5.45 \
    intl-messageformat@12.1.5 @lingui/core@5.9.5 @lingui/message-utils@5.9.5
cat >show.mjs <<'JAVASCRIPT'
import { setupI18n } from '@lingui/core'
import { compileMessage } from '@lingui/message-utils/compileMessage'
import i18next from 'i18next'
import { IntlMessageFormat } from 'intl-messageformat'
import Polyglot from 'node-polyglot'
import { createI18n } from 'vue-i18n'

const one = '{{count}} Datei', other = '{{count}} Dateien'
await i18next.init({ lng: 'de', resources: { de: { translation: { file_one: one, file_other: other } } } })
const polyglot = (locale) => new Polyglot({ locale, phrases: { file: '%{smart_count} Datei |||| %{smart_count} Dateien' } })
const vue = createI18n({ legacy: false, locale: 'de', messages: { de: { file: '{n} Datei | {n} Dateien' } } })
const icu = '{n, plural, one {# Datei} other {# Dateien}}'
const lingui = setupI18n({ locale: 'de', messages: { de: { file: compileMessage(icu) } } })
const show = {
  i18next: (count) => i18next.t('file', { count }),
  polyglot: (count) => polyglot('de').t('file', { smart_count: count }),
  'polyglot, fr': (count) => polyglot('fr').t('file', { smart_count: count }),
  vue: (count) => vue.global.t('file', count),
  formatjs: (count) => new IntlMessageFormat(icu, 'de').format({ n: count }),
  lingui: (count) => lingui._('file', { n: count }),
}
const seen = {}
for (const name in show) seen[name] = [1, 5, '1', '5'].map((count) => show[name](count))
console.log(JSON.stringify(seen))
JAVASCRIPT
node show.mjs 2>warnings.log >seen.json
python - <<'PYTHON'
import json

from finding import expect

seen = json.load(open("seen.json"))
numbers = ["1 Datei", "5 Dateien"]
for name, texts in {
    "formatjs": numbers,
    "lingui": numbers,
    "i18next": ["file", "file"],
    "polyglot": ["1 Dateien", "5 Dateien"],
    "polyglot, fr": numbers,
    "vue": [" Datei", " Datei"],
}.items():
    expect(name, seen[name], numbers + texts)
PYTHON
