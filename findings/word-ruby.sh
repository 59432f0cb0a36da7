#!/usr/bin/env bash
# Words with ruby are missing from the text of a Word document for three readers, and have the ruby in front for two.
#
# Guess: of a word with a reading above it, as in Japanese or Chinese texts and books for learners, python-docx, mammoth,
#        docx2python, docx2txt and pandoc give the word itself, without the reading.
# Miss:  python-docx, mammoth and pandoc leave out both, without a warning by the first and the last: the sentence lacks its
#        words. docx2python and docx2txt have both as one word, the reading first, as the file has it first. Text
#        for translation, or a corpus of such documents, has gaps or doubled words, just where a word is rare.
. "$(dirname "$0")/environment.sh" python-docx==1.2.0 mammoth==1.13.0 docx2python==3.7.1 docx2txt==0.9 pypandoc-binary==1.17
python - <<'PYTHON'
import docx
import docx2txt
import mammoth
import pypandoc
from docx.oxml import parse_xml
from docx2python import docx2python
from finding import expect

NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

def run(text):
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'

ruby = f"<w:r><w:ruby><w:rubyPr/><w:rt>{run('とうきょう')}</w:rt><w:rubyBase>{run('東京')}</w:rubyBase></w:ruby></w:r>"
document = docx.Document()
document.element.body.insert(
    0, parse_xml(f'<w:p xmlns:w="{NAMESPACE}">{run("Er wohnt in ")}{ruby}{run(", im Norden.")}</w:p>')
)
document.save("de.docx")
without, both = "Er wohnt in , im Norden.", "Er wohnt in とうきょう東京, im Norden."
expect("python-docx", docx.Document("de.docx").paragraphs[0].text, without)
with open("de.docx", "rb") as file:
    read = mammoth.extract_raw_text(file)
expect("mammoth", (read.value.strip(), [message.message for message in read.messages]),
       (without, ["An unrecognised element was ignored: w:ruby"]))
expect("pandoc", pypandoc.convert_file("de.docx", "plain", extra_args=["--wrap=none"]).strip(), without)
expect("docx2txt", docx2txt.process("de.docx").strip(), both)
expect("docx2python", docx2python("de.docx").text.strip(), both)
PYTHON
