"""Paragraphs to sentences, by rules for German and English.

A mark that may end a sentence does so where the text goes on with what may begin one, unless the word before a full
stop says otherwise: an abbreviation, an initial, an ordinal. German nouns are capitalised, so that a capital alone says
little there; after an ordinal or an abbreviation the next word must be one that begins sentences, such as "Danach".
"""

import bisect
import re

from translate.text.pieces import Piece, pieces
from translate.text.placeholders import PLACEHOLDER


def _sets(table: dict[str, str]) -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in table.items()}


_ABBREVIATIONS = _sets(
    {  # after these the sentence always goes on
        "de": """
        abb abs abschn allg anm aufl ausg bd bde bearb bes bspw bzgl bzw ca co dipl dr ebd ehem eigtl einschl
        entspr evtl exkl fa fam ff frl ges ggf hg hl hr hrn hrsg inkl ing insb jun kap kath lt min mr mrs näml
        nr orig pfr phil priv prof prot resp röm sog sr str tel u ungef urspr v verf verh vgl vorm wiss zit zzgl
        nördl südl östl westl abt bsp rd dt engl franz frz griech geb gest verst
        """,
        "en": """
        adm approx ave bldg blvd brig capt cf cmdr col dept dr eds eg esp figs gov hon ie jr lt maj messrs mr
        mrs ms mx nos pp pres prof rev sen sgt sr vol vols viz vs
        """,
    }
)
_ENDS_TOO = _sets(
    {  # abbreviations that end a sentence as well, and words that look like one, if what follows begins one
        "de": """
        usw etc usf co inc ltd corp mio mrd tsd std sek jh jhd jr u.a u.ä o.ä u.s.w z.t s.o s.u n.chr v.chr d.j
        min art tab mag max lat best gem int st fr mind med sen chr nat pol
        """,
        "en": """
        etc inc ltd corp co jr sr al a.m p.m u.s u.k u.n e.u b.c a.d ph.d m.d ave jan feb mar apr jun jul aug
        sep sept oct nov dec mon tue wed thu fri sat sun no fig gen rep op est ed mt st
        """,
    }
)
_BEGINNERS = _sets(
    {  # capitalised words that begin sentences and are no nouns
        "de": """
        aber ab all alle allerdings als also am an auch auf aus außerdem bei beim bis bitte da dabei dadurch
        dafür dagegen daher dahin damals damit danach daneben dann daran darauf daraus darin darüber darum das
        dass davon davor dazu deine dem den denn dennoch der deren des deshalb dessen deswegen die dies diese
        dieser dieses doch dort du durch ein eine einem einen einer eines einige er erst es etwas falls für ganz
        gegen gestern gibt haben hat heute hier hinter ich ihm ihn ihnen ihr ihre im immer in ins ist ja jede
        jeder jedes jedoch jene jetzt kann kein keine können man manche mehr mehrere mein meine mit möchte morgen muss
        nach nachdem natürlich neben nein nicht nichts niemand noch nun nur ob oder ohne schließlich schon sehr sein
        seine seit seitdem sich sie sind so sobald sofort sogar solche soll sollte somit sondern sonst sowohl
        später trotz trotzdem über um und uns unser unsere unter viel viele vielleicht vom von vor vorher wann
        war waren warum was wegen weil weiter weitere weiterhin welche wenn wer werden wessen wie wieder will wir
        wird wo wollen
        worauf wurde wurden zu zudem zuerst zum zur zwar zwischen zwei drei vier
        """,
        "en": """
        a about after all although an and another any as at because before both but by can could did do does
        during each either every few first for from had has have he her here his how however i if in is it its
        last later many meanwhile most much my neither never next no nobody not nothing now of on once one only
        or other our perhaps please several she since so some someone soon still such that the their then there
        therefore these they this those though three thus to today tomorrow two under until was we were what
        when where whether which while who why will with would yes yesterday yet you your
        """,
    }
)
_ORDINAL_NOUNS = re.compile(
    r"(?:Jan(?:uar|\.)|Jänner|Feb(?:ruar|\.)|März|Apr(?:il|\.)|Mai|Juni?\b|Juli?\b|Aug(?:ust|\.)|Sept?(?:ember|\.)|"
    r"Okt(?:ober|\.)|Nov(?:ember|\.)|Dez(?:ember|\.)|Jahrhundert|Jh\.)"
)
_MARK = re.compile(
    r"""(?P<mark>\.{2,6}|\u2026|\.|[!?][!?.\u2026]{0,20})(?P<close>["'\u2018-\u201f\u00bb\u00ab)\]]{0,4})(?P<space>\s{1,100})""",
    re.VERBOSE,
)
_OPENING = r"[\"'\u2018-\u201f\u00bb\u00ab(\[\u00bf\u00a1\u2013\u2014*_-]{0,4}\s?"
_NEXT = re.compile(rf"(?P<open>{_OPENING})(?P<word>\w[\w'\u2019]{{0,40}})?")
_WORD_BEFORE = re.compile(r"[^\s(\[\"\u201a-\u201f\u00bb\u00ab/\u2013\u2014-]*$")
_REACH = 40  # characters before a full stop that are looked at
# What stands in columns, three spaces or a tab apart, is no sentence either; nor is what control characters part.
_LINE = re.compile(r"(?:[^\x00-\x20\x7f\x85\u2028\u2029]| {1,2}(?! ))+")
_BULLET = re.compile(
    r"\s*(?:(?:[-*+\u2013\u2014>]|#{1,6}|\(?\d{1,3}[.)]|\(?[A-Za-z]\))\s+"
    r"|[\u2022\u2023\u25aa\u25cf\u25b6\u25ba\u25e6\u2713\u2714\u27a4]\s*)+"
)


def split(text: str, language: str, markup: re.Pattern[str] = PLACEHOLDER) -> list[Piece]:
    """The sentences of `text` and, copied, the white space, bullets and numbering around them.

    Args:
        text: anything; a line break, a tab and three spaces end a sentence.
        language: code of the text's language; other ones than "de" and "en" are treated as English.
        markup: what no sentence ends in.
    """
    language = language if language in _BEGINNERS else "en"
    return pieces(text, [span for line in _LINE.finditer(text) for span in _sentences(line, language, markup)])


def _sentences(line: re.Match[str], language: str, markup: re.Pattern[str]) -> list[tuple[int, int]]:
    """Where the sentences of a line stand in the text."""
    text, spans, start = line[0], [], _after_bullet(line[0])
    kept = [match.span() for match in markup.finditer(text)]
    for match in _MARK.finditer(text, start):
        if _ends(text, match, language) and not _is_within(match.start("space"), kept):
            spans.append((start, match.start("space")))
            start = match.end()
    spans.append((start, len(text)))
    return [(line.start() + a, line.start() + b) for a, b in spans]


def _is_within(place: int, spans: list[tuple[int, int]]) -> bool:
    """Whether one of the spans, which are in order, holds the character at `place`."""
    i = bisect.bisect(spans, (place, place))
    return i > 0 and place < spans[i - 1][1]


def _after_bullet(text: str) -> int:
    """Where the text begins after bullets, hashes and numbers; a date such as "3. Oktober" is none of them."""
    bullet = _BULLET.match(text)
    if bullet is None or bullet.end() == len(text) or _ORDINAL_NOUNS.match(text, bullet.end()):
        return 0
    return bullet.end()


def _ends(text: str, match: re.Match[str], language: str) -> bool:
    """Whether a sentence ends at this mark."""
    after = _NEXT.match(text, match.end())
    word = after["word"] if after else None
    if not after or not word or word[0].islower():
        return False
    if match["mark"] != ".":
        return True
    reach = text[max(0, match.start() - _REACH) : match.start()]
    before = _WORD_BEFORE.search(reach)
    last = before[0].lstrip("'\u2018\u2019") if before else ""
    if match["close"] and not match["close"].startswith(")"):
        return True  # an abbreviation at the end of a quotation is rarer than a sentence there
    return _full_stop_ends(last, word, text[match.end() : match.end() + 12], language)


def _full_stop_ends(last: str, word: str, rest: str, language: str) -> bool:
    """Whether the full stop after the word `last` ends the sentence, when `word` follows."""
    begins = word.lower() in _BEGINNERS[language]
    key = last.lower()
    if last.isdigit():
        if language == "en":
            return True
        return not _ORDINAL_NOUNS.match(rest) and (begins or len(last) > 2)
    if key in _ENDS_TOO[language]:
        return begins
    if re.fullmatch(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}", last):  # z.B. d.h. e.g. i.e. J.S.
        return begins and last[-1].isupper()
    if len(last) == 1 and last.isalpha():  # z. B., u. a., J. S. Bach; but English "I." and "Plan B. Then"
        return begins and last.isupper() and language == "en" and word != "I"
    return key not in _ABBREVIATIONS[language]
