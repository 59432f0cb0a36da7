#!/usr/bin/env bash
# Three libraries for translated messages in JavaScript change a value with a dollar sign: "US$$" becomes "US$".
#
# Guess: a value is put into the message as it is, "US$$" and "$1,000" too, in laravel-vue-i18n, i18n-js, counterpart,
#        lang.js, node-polyglot, i18n, rosetta and others. ttag was guessed of later, @solid-primitives/i18n by no name.
# Miss:  `String.replace` reads patterns in a replacement that is a text: "$$" is one dollar, "$&" what was found, and
#        "$'" all behind it. laravel-vue-i18n, @solid-primitives/i18n and `t` of ttag pass the value on as it is. A name
#        in quotation marks that ends with a dollar takes the rest of the sentence in, a price class loses a sign.
#        "$1,000" stays, as there are no groups, and so do values in ttag's plural forms and in a text that has no
#        translation: the page is right in the language of its author.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund counterpart@0.18.6 i18n-js@4.5.3 lang.js@1.1.14 laravel-vue-i18n@2.9.0 \
    @solid-primitives/i18n@2.2.1 solid-js@1.9.20 ttag@1.8.12 vue@3.5.45
cat >fill.mjs <<'JAVASCRIPT'
import counterpart from 'counterpart'
import { I18n as I18nJs } from 'i18n-js'
import Lang from 'lang.js'
import { I18n as LaravelVue } from 'laravel-vue-i18n'
import { resolveTemplate } from '@solid-primitives/i18n'
import { addLocale, ngettext, msgid, t, useLocale } from 'ttag'

const text = (placeholder) => `Es kostet ${placeholder} heute.`
counterpart.registerTranslations('en', { m: text('%(amount)s') })
const lang = new Lang({ messages: { 'de.a': { m: text(':amount') } }, locale: 'de' })
const i18nJs = new I18nJs({ en: { m: text('%{amount}') } })
const laravelVue = new LaravelVue({ lang: 'de', resolve: () => ({ m: text(':amount') }) })
await laravelVue.loadLanguage('de')
const entry = (source, forms) => ({ [source]: { msgid: source, msgstr: forms } })
addLocale('de', {
  charset: 'utf-8',
  headers: { 'plural-forms': 'nplurals=2; plural=(n != 1);' },
  translations: { '': entry('It costs ${ 0 } today.', ['Es kostet ${ 0 } heute.']) },
})
useLocale('de')
const fill = {
  counterpart: (amount) => counterpart('m', { amount }),
  'i18n-js': (amount) => i18nJs.t('m', { amount }),
  'lang.js': (amount) => lang.get('a.m', { amount }),
  'laravel-vue-i18n': (amount) => laravelVue.trans('m', { amount }),
  '@solid-primitives/i18n': (amount) => resolveTemplate(text('{{amount}}'), { amount }),
  ttag: (amount) => t`It costs ${amount} today.`,
  'ttag without a translation': (amount) => t`Es kostet ${amount} heute.`,
}
const amounts = ['$1,000', 'US$$', "die 'US$'-Klasse"]
console.log(JSON.stringify(Object.fromEntries(Object.entries(fill).map(([name, f]) => [name, amounts.map(f)]))))
JAVASCRIPT
node fill.mjs >seen.json
python - <<'PYTHON'
import json

from finding import expect

with open("seen.json") as file:
    seen = json.load(file)
RIGHT = [f"Es kostet {amount} heute." for amount in ("$1,000", "US$$", "die 'US$'-Klasse")]
CHANGED = [RIGHT[0], "Es kostet US$ heute.", "Es kostet die 'US heute.-Klasse heute."]
for name in ("counterpart", "i18n-js", "lang.js", "ttag without a translation"):
    expect(name, seen[name], RIGHT)
for name in ("laravel-vue-i18n", "@solid-primitives/i18n", "ttag"):
    expect(name, seen[name], CHANGED)
PYTHON
