"""Writing conventions and word lists of English."""

import re

from translate.text.languages import Language, words

LANGUAGE = Language(
    script="LATIN",
    letters="àáâèéêëíîïñóôøûÉ",
    capitalises_nouns=False,
    quotes=('"', '"'),
    grouping=",",
    decimal=".",
    units={"€": ("euro",), "$": ("dollar",), "£": ("pound",), "¥": ("yen",), "%": ("per cent", "percent")},
    numbered=re.compile(r"\b(?:No|number|room|page|chapter|platform)\.?\s\Z", re.IGNORECASE),
    clock=re.compile(r"\s?[ap]\.?\s?m\b", re.IGNORECASE),
    number_endings=re.compile(r"(?<=\w)(?=fold\b)"),
    abbreviations=words(
        """
        adm approx ave bldg blvd brig capt cf cmdr col dept dr eds eg esp figs gov hon ie jr lt maj messrs mr
        mrs ms mx nos pp pres prof rev sen sgt sr vol vols viz vs
        """
    ),
    final_abbreviations=words(
        """
        etc inc ltd corp co jr sr al a.m p.m u.s u.k u.n e.u b.c a.d ph.d m.d ave jan feb mar apr jun jul aug
        sep sept oct nov dec mon tue wed thu fri sat sun no fig gen rep op est ed mt st
        """
    ),
    starters=words(
        """
        a about after all although an and another any as at because before both but by can could did do does
        during each either every few first for from had has have he her here his how however i if in is it its
        last later many meanwhile most much my neither never next no nobody not nothing now of on once one only
        or other our perhaps please several she since so some someone soon still such that the their then there
        therefore these they this those though three thus to today tomorrow two under until was we were what
        when where whether which while who why will with would yes yesterday yet you your
        """
    ),
    ordinal_nouns=None,
    letter_ends_sentence=True,
)
