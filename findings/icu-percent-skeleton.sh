#!/usr/bin/env bash
# In an ICU message, `{n, number, ::percent}` is 50% for one JavaScript library and 0.5% for the other.
#
# Guess: 0.5 is "50%" with `::percent`, as with the older `percent`, in both libraries; for `::percent scale/100`, which
#        ICU's documentation has for fractions, both say "50%" too.
# Miss:  @messageformat/core does as ICU does: a skeleton's percent adds the sign alone, and `scale/100` multiplies.
#        FormatJS multiplies by 100 for the sign already, so what ICU's documentation recommends is "5,000%". The same
#        catalogue in two programs has percentages that differ by a factor of 100, and only `percent` is safe.
. "$(dirname "$0")/environment.sh" icu4py==1.2.0
npm install --silent --no-audit --no-fund intl-messageformat@12.1.5 @messageformat/core@3.4.1
cat >messages.mjs <<'JAVASCRIPT'
import MessageFormat from '@messageformat/core'
import { IntlMessageFormat } from 'intl-messageformat'

const styles = ['percent', '::percent', '::percent scale/100', '::%x100', '::scale/100']
const seen = styles.map((style) => {
  const message = `{n, number, ${style}}`
  return [style, new MessageFormat('en').compile(message)({ n: 0.5 }), new IntlMessageFormat(message, 'en').format({ n: 0.5 })]
})
console.log(JSON.stringify(seen))
JAVASCRIPT
node messages.mjs >seen.json
python - <<'PYTHON'
import json

from finding import expect
from icu4py.messageformat import MessageFormat

seen = {style: results for style, *results in json.load(open("seen.json"))}
expect("percent", seen["percent"], ["50%", "50%"])
expect("::percent", seen["::percent"], ["0.5%", "50%"])
expect("::percent scale/100", seen["::percent scale/100"], ["50%", "5,000%"])
expect("::%x100", seen["::%x100"], ["50%", "5,000%"])
for style in ("::percent", "::percent scale/100"):
    expect(f"{style}, ICU", MessageFormat("{n, number, %s}" % style, "en").format({"n": 0.5}), seen[style][0])
expect("::scale/100", seen["::scale/100"], ["50", "50"])
PYTHON
