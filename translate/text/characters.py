"""Source text in the characters and the capitalisation that a model was trained on."""

import html
import re
import unicodedata

# HTML entities of Latin letters and of punctuation in prose.
PROSE_ENTITIES = (
    "[A-Za-z](?:uml|acute|grave|circ|tilde|cedil|ring|slash|caron)|szlig|[AO]Elig|[ao]elig|nbsp|shy|(?:en|em|thin)sp"
    "|zwn?j|[lr][sd]quo|[sb][bd]quo|[lr]aquo|[nm]dash|hellip|apos"
    "|#0{0,3}(?:39|160|173|19[2-9]|2[0-9]{2}|[34][0-9]{2}|5[0-8][0-9]|82(?:1[1-7]|2[0-2]|30))"
    "|#[xX]0{0,3}(?:27|[aA][0dD]|[c-fC-F][0-9a-fA-F]|1[0-9a-fA-F]{2}|2[0-4][0-9a-fA-F]|201[3-9c-eC-E]|2026)"
)

_ENTITY = re.compile(f"&(?:{PROSE_ENTITIES});")

_BLANKS = "\t\u00a0\u2000-\u200a\u202f\u205f"
_SPACES = re.compile(f"[{_BLANKS}][ {_BLANKS}]*| [ {_BLANKS}]+")
# Soft hyphen, zero-width characters and marks of writing direction: a model has seen few and invents words for them.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
# Ligatures of Latin letters, as in text copied from a PDF; the long s; bold and italic letters of social media.
_LIGATURE = re.compile("[\u017f\ufb00-\ufb06\U0001d400-\U0001d7ff]")
_MAX_SMALL_TALK = 6  # words; a longer sentence has enough context to tell nouns from verbs
_MAX_ABBREVIATION = 4  # letters; a longer text in capitals is taken for shouted text
_TOKEN = re.compile(r"\w+(?:-\d\w*)?")  # a word or a code, such as COVID-19
_MINUS = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-"})
_ACCENT = re.compile(r"(?<=\w)[\u00b4`](?=\w)")  # typed for an apostrophe
_SINGLE_QUOTE = re.compile("[\u2018\u201a\u201b\u2039\u203a]")  # a model has seen few


def readable(text: str) -> str:
    """Return the text with composed letters (NFC), single plain spaces, plain hyphens and no invisible characters.

    Entities of letters and punctuation are decoded, ligatures spelled out, and letters of mathematical fonts made
    plain. Single quotation marks, and accents typed for an apostrophe, become plain apostrophes. White space at either
    end stays.
    """
    body = text.strip()
    start = text.index(body)
    before, after = text[:start], text[start + len(body) :]
    body = _ENTITY.sub(lambda match: html.unescape(match[0]), body)
    body = _LIGATURE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), body)
    body = unicodedata.normalize("NFC", _INVISIBLE.sub("", body)).translate(_MINUS)
    body = _ACCENT.sub("'", body)
    if _SINGLE_QUOTE.search(body):
        body = _SINGLE_QUOTE.sub("'", body.replace("\u2019", "'"))
    return before + _SPACES.sub(" ", body) + after


def lowered(text: str) -> str:
    """Return text all in capitals in lower case except for its first letter and codes, which have a digit.

    Other text and abbreviations are unchanged. A model has seen little text in capitals. The German sharp s counts as a
    capital.
    """
    letters = [character for character in text if character.upper() != character.lower() and character != "\u00df"]
    if len(letters) <= _MAX_ABBREVIATION or not all(map(str.isupper, letters)):
        return text
    lower = _TOKEN.sub(lambda match: match[0] if any(map(str.isdigit, match[0])) else match[0].lower(), text)
    first = next((i for i, character in enumerate(lower) if character.isalpha()), 0)
    return lower[:first] + lower[first : first + 1].upper() + lower[first + 1 :]


def capitalised(text: str) -> str:
    """Return a few words in lower case with capitals, as German nouns have; other text unchanged."""
    if not text.islower() or len(text.split()) > _MAX_SMALL_TALK:
        return text
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))
