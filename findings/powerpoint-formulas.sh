#!/usr/bin/env bash
# Four readers of PowerPoint lose every word of a text box that has a formula in it, and none of them says so.
#
# Guess: a box with a formula is a box: python-pptx, pandoc, markitdown, kreuzberg and officeparser give its words,
#        with a gap, or an "x", where the formula is.
# Miss:  PowerPoint writes such a box twice, for programs that know formulas and, as a picture, for those that do not,
#        both in `mc:AlternateContent`. All but officeparser look for boxes beside it and not inside, so the sentences
#        before and behind the formula are gone, and so is a whole text with one "x" that was typed as a formula.
#        Lectures for translation, or for a model to read, lack just the slides that explain something. Other boxes are
#        all there.
. "$(dirname "$0")/environment.sh" python-pptx==1.0.2 pypandoc-binary==1.17 'markitdown[pptx]==0.1.9' kreuzberg==4.10.4
npm install --silent --no-audit --no-fund officeparser@8.1.1 2>npm.log
cat >read.mjs <<'JAVASCRIPT'
import { parseOffice } from 'officeparser'

console.log((await (await parseOffice('slides.pptx')).to('text')).value)
JAVASCRIPT
python - <<'PYTHON'
import re
import subprocess
import zipfile

import kreuzberg
import pypandoc
from finding import expect
from markitdown import MarkItDown
from pptx import Presentation
from pptx.util import Inches

sentences = ["Erst ein Satz.", "Die Gleichung = hat zwei Lösungen.", "Dann noch einer."]
presentation = Presentation()
slide = presentation.slides.add_slide(presentation.slide_layouts[6])
for number, sentence in enumerate(sentences):
    box = slide.shapes.add_textbox(Inches(1), Inches(1 + number), Inches(5), Inches(1))
    box.text_frame.text = sentence
presentation.save("plain.pptx")

# As PowerPoint writes it: a choice for programs that know the namespace a14, and a box with a picture and a space.
drawing = "http://schemas.microsoft.com/office/drawing/2010/main"
formula = """<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"><m:oMath
 xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:r><m:t>x=1</m:t></m:r></m:oMath></a14:m>"""
alternatives = """<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">
<mc:Choice xmlns:a14="{}" Requires="a14">{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent>"""
with zipfile.ZipFile("plain.pptx") as plain, zipfile.ZipFile("slides.pptx", "w") as slides:
    for name in plain.namelist():
        data = plain.read(name)
        if name == "ppt/slides/slide1.xml":
            text = data.decode()
            box = re.findall("<p:sp>.*?</p:sp>", text, re.DOTALL)[1]
            choice = box.replace(" = ", f" </a:t></a:r>{formula}<a:r><a:t> ")
            fallback = re.sub("<a:t>.*</a:t>", "<a:t> </a:t>", box)
            data = text.replace(box, alternatives.format(drawing, choice, fallback)).encode()
        slides.writestr(name, data)

seen = {}
for name in ("plain.pptx", "slides.pptx"):
    shapes = Presentation(name).slides[0].shapes
    seen[name] = {
        "python-pptx": "\n".join(shape.text_frame.text for shape in shapes),
        "pandoc": pypandoc.convert_file(name, "plain", extra_args=["--wrap=none"]),
        "markitdown": MarkItDown().convert(name).text_content,
        "kreuzberg": kreuzberg.extract_file_sync(name).content,
    }
by_node = subprocess.run(["node", "read.mjs"], capture_output=True, check=True, text=True).stdout

def found(text):
    return [sentence for sentence in sentences if sentence[:10] in text]

for reader, text in seen["plain.pptx"].items():
    expect(f"{reader}, no formula", found(text), sentences)
for reader, text in seen["slides.pptx"].items():
    expect(f"{reader}, formula", found(text), [sentences[0], sentences[2]])
    expect(f"{reader}, end of the sentence", "Lösungen" in text, False)
expect("officeparser, formula", found(by_node), sentences)
PYTHON
