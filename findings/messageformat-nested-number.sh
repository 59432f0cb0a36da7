#!/usr/bin/env bash
# In an ICU message, "#" inside a `select` inside a `plural` is the number for one JavaScript library and "#" for the other.
#
# Guess: `{n, plural, other {{g, select, other {# Zeilen}}}}` is "3 Zeilen" in intl-messageformat, which FormatJS and
#        React Intl use, and in @messageformat/core: "#" stands for the number of the plural around it.
# Miss:  intl-messageformat knows "#" only in a branch of the plural itself, and writes "# Zeilen"; @messageformat/core
#        writes "3 Zeilen". A language that needs a gender inside a plural works in one program and not in the other, and
#        no check of placeholders sees it. `{n}` and `{n, number}` mean the same in both.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund intl-messageformat@12.1.5 @messageformat/core@3.4.1
cat >format.mjs <<'JAVASCRIPT'
import MessageFormat from '@messageformat/core'
import { IntlMessageFormat } from 'intl-messageformat'

const messages = {
  branch: '{n, plural, other {# Zeilen}}',
  select: '{n, plural, other {{g, select, other {# Zeilen}}}}',
  number: '{n, plural, other {{g, select, other {{n, number} Zeilen}}}}',
  outside: '{g, select, other {{n, plural, other {# Zeilen}}}}',
}
const values = { n: 3, g: 'x' }
const written = Object.entries(messages).map(([name, message]) => [name, [
  new IntlMessageFormat(message, 'de').format(values), new MessageFormat('de').compile(message)(values)]])
console.log(JSON.stringify(Object.fromEntries(written)))
JAVASCRIPT
node format.mjs >written.json
python - <<'PYTHON'
import json
from finding import expect

STATED = {"branch": ["3 Zeilen"] * 2, "select": ["# Zeilen", "3 Zeilen"],
          "number": ["3 Zeilen"] * 2, "outside": ["3 Zeilen"] * 2}
written = json.load(open("written.json"))
for name, stated in STATED.items():  # by intl-messageformat and @messageformat/core
    expect(name, written[name], stated)
PYTHON
