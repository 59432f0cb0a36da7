#!/usr/bin/env bash
# Sphinx keeps the source of a paragraph, without a warning, if its translation begins like a list: "3. Oktober 1990".
#
# Guess: of a translation "3. Oktober 1990 war ein Mittwoch." the page shows the German words, as a paragraph or as a
#        list, and Sphinx warns if it is a list; so with "- Nein" and "A. Meier", in titles, and in pages of MyST.
# Miss:  the translation is read as reStructuredText or, by MyST, as Markdown, and if that is no paragraph, Sphinx shows
#        the text of the source. There is no warning, also with `-W --nitpicky`, and the catalogue counts as translated
#        in full; the option `translation_progress_classes` alone marks it in the page. A title is right in
#        reStructuredText, but not in MyST. With a backslash before the full stop, which the source does not have, the
#        translation is shown. Dates and years begin many sentences of manuals and changelogs, and German, Czech and
#        Danish, among others, write ordinals with a full stop.
. "$(dirname "$0")/environment.sh" sphinx==9.0.4 docutils==0.22.4 myst-parser==5.2.0 polib==1.2.0
python - <<'PYTHON'
import re
import subprocess
from pathlib import Path

import polib
from finding import expect

TRANSLATIONS = {
    "October 3, 1990 was a Wednesday.": "3. Oktober 1990 war ein Mittwoch.",
    "No, he said.": "- Nein, sagte er.",
    "Mr. A. Meier came.": "A. Meier kam.",
    "May 1 is a holiday.": r"1\. Mai ist ein Feiertag.",
    "It is fine today.": "Heute ist es schön.",
}

def translated(suffix, page):
    """Return title and texts of the German page."""
    folder = Path(suffix)
    catalogues = folder / "locale/de/LC_MESSAGES"
    catalogues.mkdir(parents=True)
    (folder / "conf.py").write_text(
        'extensions = ["myst_parser"]\nlanguage = "de"\nlocale_dirs = ["locale"]\ntranslation_progress_classes = True\n'
    )
    (folder / f"index.{suffix}").write_text(page)
    build = ["sphinx-build", "-q", "-W", "--nitpicky"]
    subprocess.run([*build, "-b", "gettext", folder, folder / "pot"], check=True)
    catalogue = polib.pofile(folder / "pot/index.pot")
    catalogue.metadata["Content-Type"] = "text/plain; charset=utf-8"
    for entry in catalogue:
        entry.msgstr = {**TRANSLATIONS, "October 3": "3. Oktober"}[entry.msgid]
    catalogue.save(catalogues / "index.po")
    expect(f"{suffix}, translated messages", len(catalogue.translated_entries()), len(TRANSLATIONS) + 1)
    built = subprocess.run([*build, "-b", "html", folder, folder / "html"], check=True, capture_output=True, text=True)
    expect(f"{suffix}, warnings", built.stderr, "")
    html = (folder / "html/index.html").read_text()
    texts = re.findall('<(?:h1|p) class="(translated|untranslated)">(.*?)<', html)
    expect(f"{suffix}, marked as untranslated", sum(mark == "untranslated" for mark, _ in texts), 3)
    return [text for _, text in texts]

paragraphs = "\n\n".join(TRANSLATIONS)
date, no, name, *_ = TRANSLATIONS
shown = ["1. Mai ist ein Feiertag.", "Heute ist es schön."]
expect("rst", translated("rst", f"October 3\n=========\n\n{paragraphs}\n"), ["3. Oktober", date, no, name, *shown])
expect("MyST", translated("md", f"# October 3\n\n{paragraphs}\n"), ["October 3", date, no, "A. Meier kam.", *shown])
PYTHON
