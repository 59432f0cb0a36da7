#!/usr/bin/env bash
# subsrt-ts takes the first letter off each caption that it reads from ASS or SSA, also from a file that it wrote itself.
#
# Guess: SubRip that becomes ASS and comes back has its times, cut or rounded to hundredths of a second. Of the letters no
#        guess was written, as no reader is expected to lose any.
# Miss:  the times are right. ASS has the text behind the last comma, and the reader takes a comma and one sign more: "Guten
#        Tag" is "uten Tag", "1984" is "984". If the text begins with italics, the brace is what is taken, and the
#        rest of the command, "\i1}", is read by the viewer. Only files with a space behind each last comma, which
#        ASS counts as part of the text, are whole. Nothing is reported, and a translator, or a model, gets "eh nicht".
. "$(dirname "$0")/environment.sh"
npm install --silent --no-audit --no-fund subsrt-ts@2.1.2
cat >captions.mjs <<'JAVASCRIPT'
import subsrt from 'subsrt-ts'

const captions = (content, format) =>
  subsrt
    .parse(content, { format })
    .filter((caption) => caption.type === 'caption')
    .map((caption) => [caption.start, caption.text])
const srt = '1\n00:00:01,996 --> 00:00:02,500\nGeh nicht\n\n2\n00:00:59,990 --> 00:01:00,000\n1984\n'
const ass = (text) => `[Script Info]
ScriptType: v4.00+

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,${text}
`
console.log(
  JSON.stringify({
    srt: captions(srt, 'srt').map(([, text]) => text.trim()),
    ass: captions(subsrt.convert(srt, { format: 'ass' }), 'ass').map(([start, text]) => [start, text.trim()]),
    ssa: captions(subsrt.convert(srt, { format: 'ssa' }), 'ssa').map(([, text]) => text.trim()),
    italics: captions(ass('{\\i1}Geh{\\i0} nicht'), 'ass')[0][1].trim(),
    space: captions(ass(' Geh nicht'), 'ass')[0][1].trim(),
  })
)
JAVASCRIPT
node captions.mjs >seen.json
python - <<'PYTHON'
import json

from finding import expect

seen = json.load(open("seen.json"))
expect("from SubRip", seen["srt"], ["Geh nicht", "1984"])
expect("from its ASS", seen["ass"], [[1990, "eh nicht"], [59990, "984"]])
expect("from its SSA", seen["ssa"], ["eh nicht", "984"])
expect("from ASS with italics", seen["italics"], "\\i1}Geh nicht")
expect("with a space in front", seen["space"], "Geh nicht")
PYTHON
