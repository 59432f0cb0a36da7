#!/usr/bin/env bash
# odfpy and odfdo put notes, comments and their authors into the sentences of a text document, and read deleted text.
#
# Guess: the text of a paragraph is what stands in it: a footnote is a paragraph of its own, once; a comment is left out;
#        a paragraph that was deleted with changes tracked is not among those of the document.
# Miss:  all paragraphs of the file are listed, also the deleted one. A footnote stands in the middle of its sentence, with
#        its number, and again as a paragraph; so does a comment, with the name of who wrote it, and for odfdo with the
#        word "None" if it has no date. `get_formatted_text` of odfdo's document has notes at the end, and marks for them
#        in the sentence. A corpus, or a text for translation, then has sentences that nobody wrote.
. "$(dirname "$0")/environment.sh" odfpy==1.4.1 odfdo==3.27.3
python - <<'PYTHON'
import zipfile

from finding import expect
from odf import opendocument, teletype
from odf.text import P
from odfdo import Document

TYPE = "application/vnd.oasis.opendocument.text"
MANIFEST = f"""<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" m:version="1.2">
<m:file-entry m:full-path="/" m:media-type="{TYPE}"/>
<m:file-entry m:full-path="content.xml" m:media-type="text/xml"/></m:manifest>"""
DELETED = """<text:tracked-changes><text:changed-region text:id="x"><text:deletion><office:change-info/>
<text:p>Alt.</text:p></text:deletion></text:changed-region></text:tracked-changes>"""
NOTE = (
    '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
    "<text:note-body><text:p>So der Bericht.</text:p></text:note-body></text:note>"
)
COMMENT = "<office:annotation><dc:creator>Anna</dc:creator><text:p>Stimmt das?</text:p></office:annotation>"
CONTENT = f"""<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"
office:version="1.2"><office:body><office:text>{DELETED}
<text:p>Er ging{NOTE} nach Ulm, {COMMENT}um zu lernen.</text:p></office:text></office:body></office:document-content>"""
with zipfile.ZipFile("de.odt", "w") as file:
    for name, content in (("mimetype", TYPE), ("META-INF/manifest.xml", MANIFEST), ("content.xml", CONTENT)):
        file.writestr(name, content)

by_odfpy = [teletype.extractText(paragraph) for paragraph in opendocument.load("de.odt").getElementsByType(P)]
document = Document("de.odt")
by_odfdo = [paragraph.inner_text for paragraph in document.body.get_paragraphs()]
expect("odfpy", by_odfpy, [
    "Alt.", "Er ging1So der Bericht. nach Ulm, AnnaStimmt das?um zu lernen.", "So der Bericht.", "Stimmt das?"
])
expect("odfdo", by_odfdo, [
    "Alt.", "Er ging1. So der Bericht. nach Ulm, Stimmt das?\nAnna Noneum zu lernen.", "So der Bericht.", "Stimmt das?"
])
expect("odfdo, formatted", document.get_formatted_text().split("\n")[0], "Er ging[1] nach Ulm, [*]um zu lernen.")
PYTHON
