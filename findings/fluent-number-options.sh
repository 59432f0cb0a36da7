#!/usr/bin/env bash
# Fluent has "3th" for the ordinal that its own guide shows, and a percentage is 0,5 in JavaScript and 50 % in Python.
#
# Guess: `NUMBER($n, type: "ordinal")` selects [few] for 3, so English says "3rd", with fluent.runtime;
#        `NUMBER($n, style: "percent")` is "50 %" for 0.5 with both. No guess was written for the ordinal of @fluent/bundle.
# Miss:  both select by the cardinal rule, "3th": fluent.runtime reports a TypeError in its list of errors, @fluent/bundle
#        nothing. The style is dropped without an error by @fluent/bundle and obeyed by fluent.runtime, and so is a
#        currency. A catalogue that a Python program shows right is wrong, without a message, in the browser.
. "$(dirname "$0")/environment.sh" fluent.runtime==0.4.0 fluent.syntax==0.19.0 babel==2.19.0
npm install --silent --no-audit --no-fund @fluent/bundle@0.19.1
cat >texts.ftl <<'FLUENT'
rank = { NUMBER($n, type: "ordinal") ->
    [one] {$n}st
    [two] {$n}nd
    [few] {$n}rd
   *[other] {$n}th
  }
share = { NUMBER($n, style: "percent") }
price = { NUMBER($n, style: "currency", currency: "EUR") }
digits = { NUMBER($n, minimumFractionDigits: 2) }
FLUENT
cat >texts.mjs <<'JAVASCRIPT'
import { readFileSync } from 'node:fs'
import { FluentBundle, FluentResource } from '@fluent/bundle'

const seen = [['en', 'rank', 3], ['de', 'share', 0.5], ['de', 'price', 0.5], ['de', 'digits', 0.5]].map(([language, id, n]) => {
  const bundle = new FluentBundle(language, { useIsolating: false })
  bundle.addResource(new FluentResource(readFileSync('texts.ftl', 'utf8')))
  const errors = []
  return [bundle.formatPattern(bundle.getMessage(id).value, { n }, errors), errors.length]
})
console.log(JSON.stringify(seen))
JAVASCRIPT
node texts.mjs >seen.json
python - <<'PYTHON'
import json

from finding import expect
from fluent.runtime import FluentBundle, FluentResource

def formatted(language, name, n):
    bundle = FluentBundle([language], use_isolating=False)
    bundle.add_resource(FluentResource(open("texts.ftl").read()))
    text, errors = bundle.format_pattern(bundle.get_message(name).value, {"n": n})
    return [text.replace("\N{NO-BREAK SPACE}", " "), len(errors)]

rank, share, price, digits = json.load(open("seen.json"))
expect("3 as an ordinal, JavaScript", rank, ["3th", 0])
expect("3 as an ordinal, Python", formatted("en", "rank", 3), ["3th", 1])
expect("0.5 as a percentage, JavaScript", share, ["0,5", 0])
expect("0.5 as a percentage, Python", formatted("de", "share", 0.5), ["50 %", 0])
expect("0.5 euros, JavaScript", price, ["0,5", 0])
expect("0.5 euros, Python", formatted("de", "price", 0.5), ["0,50 €", 0])
expect("two decimals, JavaScript", digits, ["0,50", 0])
expect("two decimals, Python", formatted("de", "digits", 0.5), ["0,50", 0])
PYTHON
