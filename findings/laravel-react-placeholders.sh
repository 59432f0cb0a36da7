#!/usr/bin/env bash
# laravel-react-i18n fills ":names" with the value of ":name" and an "s", if the program names that value first.
#
# Guess: of two placeholders of which one begins with the other, each gets its own value, as in Laravel, whose language
#        files the package reads, and as in laravel-vue-i18n and lang.js. A value is text, whatever signs it has.
# Miss:  placeholders are replaced one after another, in the order in which the program lists them. ":name, :names" is
#        "Anna, Annas"; listed the other way round it is right, so one translation is right in one place and wrong in
#        another. `tChoice` puts values in before it divides the text into plural forms: with a bar in a name, two files
#        are "eine Datei", and half of the name is gone. A translator sees none of this, and the pages that PHP makes of
#        the same file are right.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund laravel-react-i18n@2.0.5 react@18.3.1 react-dom@18.3.1 lang.js@1.1.14
cat >show.cjs <<'JAVASCRIPT'
const { createElement } = require('react')
const { renderToStaticMarkup } = require('react-dom/server')
const { LaravelReactI18nProvider, useLaravelReactI18n } = require('laravel-react-i18n')
const Lang = require('lang.js')

const texts = { hello: 'Hallo :name, :names kommen', files: ':name hat eine Datei|:name hat :count Dateien' }
const short = { name: 'Anna', names: 'Anna und Otto' }
const long = { names: 'Anna und Otto', name: 'Anna' }
const lang = new Lang({ locale: 'de', messages: { 'de.page': texts } })
let seen
function Page() {
  const { t, tChoice } = useLaravelReactI18n()
  seen = {
    react: [t('hello', short), t('hello', long)],
    files: [tChoice('files', 2, { name: 'Anna' }), tChoice('files', 2, { name: 'A|B' })],
  }
  return null
}
const options = { locale: 'de', fallbackLocale: 'de', files: { '/lang/de.json': texts } }
renderToStaticMarkup(createElement(LaravelReactI18nProvider, options, createElement(Page)))
seen.lang = [lang.get('page.hello', short), lang.get('page.hello', long)]
console.log(JSON.stringify(seen))
JAVASCRIPT
node show.cjs >seen.json
python - <<'PYTHON'
import json

from finding import expect

with open("seen.json", encoding="utf-8") as file:
    seen = json.load(file)
right = "Hallo Anna, Anna und Otto kommen"
expect("lang.js", seen["lang"], [right, right])
expect("laravel-react-i18n", seen["react"], ["Hallo Anna, Annas kommen", right])
expect("a bar in a name", seen["files"], ["Anna hat 2 Dateien", "B hat eine Datei"])
PYTHON
