#!/usr/bin/env bash
# Documents made by programs say that they are in a language that nobody chose: odfdo's are French.
#
# Guess: odfdo leaves the language out or says English; pandoc writes `lang: de` into each format that can say it.
# Miss:  a new ODT of odfdo is fr-FR. pandoc writes the language into DOCX, ODT and EPUB, but all languages of its PPTX
#        are en-US, and a DOCX with `lang: de` still says en-US in settings.xml. The stated language of a document is no
#        evidence of the language of its text.
. "$(dirname "$0")/environment.sh" odfdo==3.27.3 pypandoc_binary==1.17
printf -- '---\nlang: de\n---\n\n# Kopf\n\nGuten Tag.\n' >in.md
python - <<'PYTHON'
import re, subprocess, zipfile
import odfdo, pypandoc
from finding import expect

def stated(path, pattern):
    with zipfile.ZipFile(path) as archive:
        parts = (archive.read(name).decode("utf-8", "replace") for name in archive.namelist() if name.endswith("xml"))
        return sorted({language for part in parts for language in re.findall(pattern, part)})

odfdo.Document("text").save("odfdo.odt")
expect("odfdo", stated("odfdo.odt", r'fo:(?:language|country)="(\w+)"'), ["FR", "fr"])
for suffix in ("docx", "odt", "pptx"):
    subprocess.run([pypandoc.get_pandoc_path(), "in.md", "-o", f"pandoc.{suffix}"], check=True)
expect("pandoc, ODT", stated("pandoc.odt", r'fo:language="(\w+)"'), ["de"])
expect("pandoc, DOCX, text", stated("pandoc.docx", r'<w:lang [^>]*w:val="([\w-]+)"'), ["de"])
expect("pandoc, DOCX, settings", stated("pandoc.docx", r'themeFontLang w:val="([\w-]+)"'), ["en-US"])
expect("pandoc, PPTX", stated("pandoc.pptx", r' lang="([\w-]+)"'), ["en-US"])
PYTHON
