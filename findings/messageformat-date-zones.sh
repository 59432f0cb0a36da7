#!/usr/bin/env bash
# messageformat 4 shows a date without a time as the day before in America: 2031-05-17 is "16. Mai 2031".
#
# Guess: `{|2031-05-17| :date}` is 17 May in each time zone, as a date alone has no zone, and so is a value
#        "2031-05-17" as it comes from JSON. `{$n :integer}` writes -0.4 as "0".
# Miss:  messageformat 4 gives the text to `new Date`, for which a date alone is midnight in Greenwich and one with a
#        time is midnight here; then it is shown in the zone of the reader. So a birthday, or the first day of an
#        offer, is right in a test in Europe or Asia and a day early in America, and the same date with "T00:00" is
#        right everywhere. A text in the message itself is wrong as well, in each translation. -0.4 is "-0". Names of
#        plural forms go by the number that is written, as they should.
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund messageformat@4.0.0 2>npm.log
cat >show.mjs <<'JAVASCRIPT'
import { MessageFormat } from 'messageformat'
import { DraftFunctions } from 'messageformat/functions'

const show = (message, values = {}) =>
  new MessageFormat('de', message, { functions: DraftFunctions, bidiIsolation: 'none' }).format(values)
const plural = '.input {$n :integer}\n.match $n\none {{{$n} Tag}}\n* {{{$n} Tage}}'
console.log(JSON.stringify([
  show('{|2031-05-17| :date}'),
  show('{$day :date}', { day: '2031-05-17' }),
  show('{|2031-05-17T00:00:00| :date}'),
  show('{$n :integer}', { n: -0.4 }),
  show(plural, { n: 1.2 }),
]))
JAVASCRIPT
for zone in UTC Europe/Berlin Asia/Tokyo America/New_York; do TZ=$zone node show.mjs >"${zone#*/}.json"; done
python - <<'PYTHON'
import json

from finding import expect

for zone, day in {"UTC": 17, "Berlin": 17, "Tokyo": 17, "New_York": 16}.items():
    literal, value, with_time, zero, plural = json.load(open(f"{zone}.json"))
    expect(f"{zone}, literal", literal, f"{day}. Mai 2031")
    expect(f"{zone}, value", value, f"{day}. Mai 2031")
    expect(f"{zone}, with a time", with_time, "17. Mai 2031")
expect("-0.4", zero, "-0")
expect("1.2", plural, "1 Tag")
PYTHON
