"""Probes: whether a translation says what its source says, where BLEU is blind.

    python scripts/bench.py probes de-en --data data --out scripts/results/probes-de-en.json
    python scripts/bench.py probes runs/mine --only times --only numbers

Each probe translates as `translate text` does, and has a table: for each form the number of items, how many are right,
and how many are wrong without a flag that marks the translation as suspicious. Some of the wrong ones are printed, and
in the record, which does not quote corpora.

    times       times of day in 24 and 12 hours, in words, and as ranges; "other half" counts 8 p.m. for 8 a.m.
    calendar    weekdays and months in full and abbreviated, in a sentence, listed, and alone
    numbers     80 whole numbers, 80 decimals and 80 of both, with separators: right is a number with the same value, as
                the target language writes it, or copied where that is no other number in the target language
    separators  the same numbers; right is only what the target language writes
    negation    contrasts: the reference is more probable than itself with a negation deleted or inserted (as in
                LingEval97; Sennrich, 2017); and kept: the translation of a negated sentence has a negation
    gender      contrasts: of two sentences that differ in the gender of a person, each has the more probable reference
    address     German only: the form of address of 200 translations, with the option or else as the model chooses
    words       100 common words by themselves; right is a translation that a dictionary has
    everyday    200 words and short greetings: scripts/data/everyday.*.tsv; right is an accepted answer. An answer loops
                if the same characters occur four times or the same words three times in a row; it is too long if it has
                more than three times the characters of the longest accepted one
    long        BLEU and chrF of sentences of 80 to 120 tokens, as a whole and divided
    reported    cases of public bug reports, in other words: scripts/data/reported.tsv

The sentences of `times` to `separators` are those of scripts/expressions.py. Those of `negation` to `long` are in
public evaluation and development sets in the folder --data; a probe is skipped without them. MuCoW and ContraWSD have
no wrong translations beside the right ones, so they serve as sentences only.
"""

import argparse
import re
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import expressions
import sacrebleu
from expressions import Number, Times
from harness import Case, model_facts
from records import Record, linked, model_name

from translate.commands.text import TextOptions, open_translator
from translate.corpus.sources import Pair
from translate.errors import UserError
from translate.files import read_lines
from translate.inference.translator import Translator
from translate.models.folder import has_forms_of_address
from translate.text.formality import LANGUAGE, TAGS, form_of_address
from translate.text.translation import Document, Format, FormOfAddress, Opening, Search, Translation

Table = dict[str, dict[str, Any]]  # figures of each form
Judge = Callable[[str], bool]  # of a translation

DATA = Path(__file__).resolve().parents[1] / "data"
REPORTED = DATA / "reported.tsv"
UNFLAGGED = "wrong without flag"
EXAMPLES = 5  # wrong translations of a form that the record has
# In the folder of the corpora, without the language and the suffix.
SETS = ["test/newstest2013", "test/ted-dev2010", "train-open/mucow", "train-research/contrawsd"]
GENDER, ADDRESS, WORDS = "train-open/mt-geneval", "train-open/cocoa-mt-formality", "words"


class AbsentError(Exception):
    """The data of a probe is not there, or is not for the model."""


@dataclass(frozen=True)
class Model:
    """A model under test, and the folder of the corpora."""

    translator: Translator
    data: Path

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target."""
        return self.translator.engine.spec.source, self.translator.engine.spec.target

    def pairs(self, name: str) -> list[Pair]:
        """Return source and target of each line of a corpus; AbsentError without its files."""
        found = [self._lines(f"{name}.{language}") for language in self.languages]
        return list(zip(*found, strict=True))

    def _lines(self, name: str) -> list[str]:
        for suffix in (".gz", ".xz"):
            if (path := self.data / f"{name}{suffix}").is_file():
                return list(read_lines(path))
        raise AbsentError(f"{name}: not in {self.data}")


@dataclass(frozen=True)
class Item:
    """A text whose translation is judged; `counts` are other properties of it that are counted."""

    form: str
    source: str
    is_right: Judge
    counts: Mapping[str, Judge] = field(default_factory=dict)


def judged(items: Sequence[Item], found: Iterable[Translation]) -> Table:
    """Return the table of items, given their translations."""
    table: Table = {}
    for one, translation in zip(items, found, strict=True):
        row = table.setdefault(one.form, {"items": 0, "right": 0, UNFLAGGED: 0, "wrong": {}})
        row["items"] += 1
        for name, counts in one.counts.items():
            row[name] = row.get(name, 0) + counts(translation.text)
        if one.is_right(translation.text):
            row["right"] += 1
            continue
        row[UNFLAGGED] += not translation.suspicious
        if len(row["wrong"]) < EXAMPLES:
            row["wrong"][one.source] = translation.text
    return table


def translated(model: Model, items: Sequence[Item]) -> Table:
    """Return the table of items, which are translated."""
    return judged(items, model.translator.passages([one.source for one in items]))


# Values

N_NUMBERS = 80  # of each form


def times(model: Model) -> Table:
    """Translate times of day: each hour, hours with minutes, ranges, and times in words."""
    source, target = model.languages

    def item(form: str, text: str, wanted: Times) -> Item:
        def said(translation: str) -> Times:
            return expressions.read_times(translation, target)

        def is_other_half(translation: str) -> bool:
            return expressions.differ_in_half(wanted, said(translation))

        return Item(form, text, lambda found: expressions.agree(wanted, said(found)), {"other half": is_other_half})

    return translated(model, [item(*asked) for asked in expressions.times(source)])


def calendar(model: Model) -> Table:
    """Translate weekdays and months, in full and abbreviated: in a sentence, listed, as a span and alone."""
    source, target = model.languages

    def item(kind: str, form: str, text: str, wanted: list[int]) -> Item:
        return Item(f"{kind}, {form}", text, lambda said: expressions.read_names(said, target, kind) == wanted)

    return translated(model, [item(*asked) for asked in expressions.names(source)])


def numbers(model: Model) -> Table:
    """Translate numbers with separators; right is the same value, without separators that say another one."""
    source, target = model.languages
    return _numbers(model, lambda text, number: expressions.has_value(text, number, target, source))


def separators(model: Model) -> Table:
    """Translate the numbers of `numbers`; right is the number as the target language writes it."""
    return _numbers(model, lambda text, number: expressions.has_number(text, number, model.languages[1]))


def _numbers(model: Model, is_right: Callable[[str, Number], bool]) -> Table:
    def item(form: str, text: str, number: Number) -> Item:
        return Item(form, text, lambda said: is_right(said, number))

    return translated(model, [item(*asked) for asked in expressions.numbers(model.languages[0], N_NUMBERS)])


# Negation

_NEGATION = {
    "de": re.compile(r"\b(?:nicht|kein\w*|nie|niemals|niemand\w*|nichts|ohne|weder|nirgend\w*|kaum)\b", re.IGNORECASE),
    "en": re.compile(
        r"\b(?:not|no|never|cannot|nobody|nothing|none|neither|nor|without|nowhere|hardly)\b|n['’]t\b", re.I
    ),
}
# Other words that deny: the translation of a negation may be one of these.
_DENIAL = {
    "de": re.compile(
        r"\b(?:un(?:möglich|klar|bekannt|fähig|wahrscheinlich|nötig|zulässig|gern|fair|\w+bar)\w*"
        r"|verhinder\w*|vermeid\w*|weiger\w*|scheiter\w*|fehlt?|mangel\w*|\w+los(?:e[mnrs]?)?)\b",
        re.IGNORECASE,
    ),
    "en": re.compile(
        r"\b(?:un(?:able|likely|known|clear|certain|fair|usual|necessary|willing|successful|changed|\w+able)"
        r"|im(?:possible|probable)|in(?:correct|valid|sufficient|capable|complete)|ir\w+|il(?:legal|legible)"
        r"|avoid\w*|prevent\w*|refus\w*|fail\w*|lack\w*|\w+less|few|little)\b",
        re.IGNORECASE,
    ),
}
_NOT_TO = {"de": r"\bnicht(?: \w+){0,3} zu \w+n\b|\bnicht(?: \w+){0,3} \w+zu\w+n\b", "en": r"\bnot to\b"}
# The references without a negation, and with one more; the first place that has the pattern is changed.
_DELETED = {
    "de": [(r" nicht\b", ""), (r"\bkein(e[mnrs])?\b", r"ein\1"), (r"\bKein(e[mnrs])?\b", r"Ein\1")],
    "en": [(r"\bcannot\b", "can"), (r"\bwon['’]t\b", "will"), (r"\bcan['’]t\b", "can"), (r" not\b|n['’]t\b", "")],
}
_INSERTED = {
    "de": [(r"\bein(e[mnrs]?)?\b", r"kein\1"), (r"\b(ist|sind|war|waren|hat|haben)\b", r"\1 nicht")],
    "en": [(r"\b(is|are|was|were|will|would|can|could|should|must|has been|have been)\b", r"\1 not")],
}
N_CONTRASTS, MOST_CHARACTERS = 300, 200


def negation(model: Model) -> Table:
    """Compare references with themselves with another polarity, and look for the negation in translations."""
    languages = model.languages
    pairs = [pair for name in SETS for pair in _some(model, name) if max(map(len, pair)) <= MOST_CHARACTERS]
    if not pairs:
        raise AbsentError(f"{', '.join(SETS)}: none is in {model.data}")
    counts = [[len(_NEGATION[one].findall(side)) for one, side in zip(languages, pair, strict=True)] for pair in pairs]
    negated = [pair for pair, n in zip(pairs, counts, strict=True) if n == [1, 1]]
    positive = [pair for pair, n in zip(pairs, counts, strict=True) if n == [0, 0]]
    table = {
        "contrasts, deleted": _contrasts(model, _changed(negated, _DELETED[languages[1]])),
        "contrasts, inserted": _contrasts(model, _changed(positive, _INSERTED[languages[1]])),
    }
    not_to = re.compile(_NOT_TO[languages[0]])
    says = (_NEGATION[languages[1]], _DENIAL[languages[1]])
    groups: dict[str, list[str]] = {"kept": [], "kept, not to": []}
    for source, _ in negated:
        groups["kept, not to" if not_to.search(source) else "kept"].append(source)
    items = [
        Item(form, source, lambda text: any(pattern.search(text) for pattern in says))
        for form, sources in groups.items()
        for source in sources[:N_CONTRASTS]
    ]
    return table | translated(model, items)


def _some(model: Model, name: str) -> list[Pair]:
    """Return the pairs of a corpus, or none if it is not there."""
    try:
        return model.pairs(name)
    except AbsentError:
        return []


def _changed(pairs: Iterable[Pair], changes: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Return source, reference and changed reference of the first pairs that can be changed."""

    def changed(text: str) -> str:
        return next((new for pattern, by in changes if (new := re.sub(pattern, by, text, count=1)) != text), text)

    several = ((source, target, changed(target)) for source, target in pairs)
    return list(islice((one for one in several if one[1] != one[2]), N_CONTRASTS))


def _contrasts(model: Model, triples: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """Return how often the right translation of a source is more probable than the wrong one."""
    right, wrong = (
        model.translator.sentence_search.score([(one[0], one[place]) for one in triples]) if triples else []
        for place in (1, 2)
    )
    is_right = [a > b for a, b in zip(right, wrong, strict=True)]
    examples = [one for one, yes in zip(triples, is_right, strict=True) if not yes][:EXAMPLES]
    return {"items": len(triples), "right": sum(is_right), "wrong": {source: bad for source, _, bad in examples}}


# Gender


def gender(model: Model) -> Table:
    """Compare the references of sentences that differ in the gender of a person, in both ways."""
    groups = defaultdict[tuple[str, ...], list[Pair]](list)
    english = model.languages.index("en")
    for pair in model.pairs(GENDER):
        groups[tuple(sorted(word.lower() for word in re.findall(r"\w{7,}", pair[english])))].append(pair)
    several = [group for words, group in groups.items() if len(group) == 2 and len(words) > 1]
    triples = [
        (one[0], one[1], other[1])
        for group in several
        for one, other in (group, group[::-1])
        if one[0] != other[0] and one[1] != other[1]
    ]
    return {"contrasts": _contrasts(model, triples[:: -(-len(triples) // N_CONTRASTS)])}


# Form of address

N_ADDRESSED = 200


def address(model: Model) -> Table:
    """Translate English that speaks to somebody, and label the translations; AbsentError for another target."""
    engine = model.translator.engine
    if model.languages != ("en", LANGUAGE):
        raise AbsentError("forms of address are told in German translations of English")
    both = defaultdict[str, dict[str | None, str]](dict)
    for english, german in model.pairs(ADDRESS):
        both[english][form_of_address(german, english)] = german
    chosen = [english for english, forms in both.items() if {"formal", "informal"} <= forms.keys()][:N_ADDRESSED]
    if not has_forms_of_address(engine.tokenizer, engine.spec):
        found = model.translator.passages(chosen)
        labels = [form_of_address(one.text, english) for english, one in zip(chosen, found, strict=True)]
        figures: dict[str, Any] = {form: labels.count(form) for form in TAGS}
        return {"as the model chooses": {"items": len(chosen), **figures, "neither": labels.count(None)}}
    neutral = [english for english, _ in _some(model, SETS[0]) if not re.search(r"\byou", english, re.I)]
    table: Table = {}
    for form in TAGS:
        items = [Item(form, english, _is_labelled(form, english)) for english in chosen]
        items += [Item(f"{form}, to nobody", one, _is_labelled(None, one)) for one in neutral[:N_ADDRESSED]]
        translator = Translator(engine, Search(formality=form), model.translator.document)
        table |= judged(items, translator.passages([one.source for one in items]))
    return table


def _is_labelled(form: FormOfAddress | None, english: str) -> Judge:
    return lambda german: form_of_address(german, english) == form


# Words

N_WORDS = 100
MAX_GROWTH = 3
_AT_ENDS = re.compile(r"^[\W_]+|[\W_]+$")
_IN_FRONT = re.compile(r"^(?:the|an?|to|der|die|das|den|dem|eine?|einen) (?=\S)")
_LOOP = re.compile(r"([^\s\d]+?)\1{3,}|\b(\w+(?:\W+\w+){0,4}?)(?:\W+\2\b){2,}")
_DICTIONARIES = (
    "wiktionary-en-de.tsv",
    "research-xling-eval-frequent.tsv",
    "research-hathibelagal-dict.tsv",
    "ding.tsv.xz",
)


def words(model: Model) -> Table:
    """Translate common words by themselves; right is a translation that a dictionary has."""
    folder, side = model.data / WORDS, ("de", "en").index(model.languages[0])
    common = folder / "research-frekwencja-common-words.tsv"
    if not common.is_file():
        raise AbsentError(f"{common}: not there")
    answers = defaultdict[str, list[str]](list)
    for path in (common, *(folder / name for name in _DICTIONARIES)):
        for line in read_lines(path) if path.is_file() else ():
            sides = [cell.split("|") for cell in line.split("\t")[:2]]
            if len(sides) == 2:
                for word in sides[side]:
                    answers[word.lower()] += sides[1 - side]
    entries = [line.split("\t")[side].split("|")[0] for line in islice(read_lines(common), 1, None)]
    usable = [word for word in dict.fromkeys(entries) if len(word) > 2 and word.isalpha()]
    chosen = usable[: 10 * N_WORDS : 10]
    return translated(model, [word_item(word, answers[word.lower()]) for word in chosen])


def everyday(model: Model) -> Table:
    """Translate words and greetings by themselves; right is one of the accepted answers."""
    return translated(model, [word_item(*item) for item in accepted_answers("-".join(model.languages)).items()])


def accepted_answers(langpair: str) -> dict[str, list[str]]:
    """Return the accepted answers of each word or greeting, the best one first."""
    lines = (DATA / f"everyday.{langpair}.tsv").read_text(encoding="utf-8").splitlines()
    return {text: answers for text, *answers in (line.split("\t") for line in lines)}


def word_item(word: str, accepted: Sequence[str]) -> Item:
    """Return a word with its accepted translations."""
    bare, longest = set(map(_bare, accepted)), max(map(len, accepted))
    counts: dict[str, Judge] = {
        "loops": lambda text: _LOOP.search(text.casefold()) is not None,
        "too_long": lambda text: len(text.strip()) > MAX_GROWTH * longest,
    }
    return Item("alone", word, lambda text: _bare(text) in bare, counts)


def _bare(text: str) -> str:
    """Return a text without case, commas, punctuation at its ends, and an article or "to" before it."""
    text = " ".join(unicodedata.normalize("NFC", text).replace("\u2019", "'").replace(",", " ").casefold().split())
    return _IN_FRONT.sub("", _AT_ENDS.sub("", text))


# Long sentences

LONG, MOST_LONG = range(80, 121), 100


def long(model: Model) -> Table:
    """Translate long sentences as a whole and divided, and score them against their references."""
    engine = model.translator.engine
    pairs = [pair for name in SETS for pair in _some(model, name)]
    lengths = map(len, engine.tokenizer.encode_batch([source for source, _ in pairs]))
    chosen = [pair for pair, length in zip(pairs, lengths, strict=True) if length in LONG][:MOST_LONG]
    if not chosen:
        raise AbsentError(f"{', '.join(SETS)}: no sentence of {min(LONG)} to {max(LONG)} tokens in {model.data}")
    sources, references = zip(*chosen, strict=True)
    table, spec = Table(), engine.spec
    ways = {"divided": spec, "whole": replace(spec, best_source_tokens=None, max_source_tokens=None)}
    for way, own in ways.items():
        engine.spec = own
        found = [one.text for one in Translator(engine, document=model.translator.document).passages(sources)]
        table[way] = {
            "items": len(found),
            "bleu": round(sacrebleu.corpus_bleu(found, [references]).score, 2),
            "chrf": round(sacrebleu.corpus_chrf(found, [references]).score, 2),
        }
    engine.spec = spec
    return table


# Reported cases


def reported(model: Model) -> Table:
    """Translate the cases of bug reports; right is a translation that the pattern of the case matches."""
    langpair, table = "-".join(model.languages), Table()
    for line in REPORTED.read_text(encoding="utf-8").splitlines():
        name, direction, layout, text, pattern = line.split("\t")
        if direction == langpair:
            source = text.replace("\\n", "\n")
            found = _document(model, layout, source)  # type: ignore[arg-type]
            table |= judged([Item(name, source, _matches(pattern))], [found])
    if not table:
        raise AbsentError(f"{REPORTED.name}: has no case from {langpair.replace('-', ' to ')}")
    return table


def _matches(pattern: str) -> Judge:
    return lambda text: re.fullmatch(pattern, text.strip()) is not None


def _document(model: Model, layout: Format, text: str) -> Translation:
    """Return the translation of a document, with the flags of its pieces."""
    document = replace(model.translator.document, format=layout)
    translator = Translator(model.translator.engine, document=document)
    (pieces,) = translator.translate_in_pieces([text])
    whole = "".join(piece.text if found is None else found.text for piece, found in pieces)
    return Translation(whole).flagged(*(flag for _, found in pieces if found for flag in found.flags))


PROBES: dict[str, Callable[[Model], Table]] = {
    probe.__name__: probe
    for probe in (times, calendar, numbers, separators, negation, gender, address, words, everyday, long, reported)
}
OF_CORPORA = {negation, gender, address, words, long}  # whose sentences a record does not quote

# The case


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="name of an installed model, or a folder; of German and English")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of corpora (default: %(default)s)")
    parser.add_argument("--no-checks", action="store_true", help="translate without the checks of `text`")
    parser.add_argument("--only", action="append", choices=PROBES, help="run this probe; repeatable")


def run(args: argparse.Namespace) -> Record:
    """Run the probes; those without their data are recorded with the reason."""
    document = Document(checks=not args.no_checks)
    model = Model(open_translator(TextOptions(opening=Opening(model=args.model), document=document)), args.data)
    if {*model.languages} != {"de", "en"}:
        raise UserError(f"{args.model}: translates {'-'.join(model.languages)}, and the probes are German and English")
    found: Record = {}
    for name in args.only or PROBES:
        begin = time.perf_counter()
        try:
            table = PROBES[name](model)
        except AbsentError as error:
            found[name] = {"skipped": str(error)}
            continue
        for form, figures in table.items():
            for source, wrong in figures.get("wrong", {}).items():
                print(f"{name}, {form}: {source} -> {wrong}")
            if PROBES[name] in OF_CORPORA:
                figures.pop("wrong", None)
        found[name] = {"table": table, "seconds": round(time.perf_counter() - begin, 1)}
    return {**model_facts(args.model), "checks": not args.no_checks, "probes": found}


def rows(record: Record) -> Iterator[dict[str, str]]:
    """Yield a row for each probe that was run."""
    for name, found in record["probes"].items():
        if table := found.get("table"):
            judged = [figures for figures in table.values() if "right" in figures]
            n, right = (sum(figures[key] for figures in judged) for key in ("items", "right"))
            yield {
                "model": linked(model_name(record) + ("" if record["checks"] else ", without checks"), record),
                "probe": name,
                "items": str(sum(figures["items"] for figures in table.values())),
                "right": f"{right / n:.1%}" if n else "",
                "wrong without flag": str(sum(figures.get(UNFLAGGED, 0) for figures in judged)) if judged else "",
                "by form": "; ".join(f"{form} {_shown(figures)}" for form, figures in table.items()),
            }


def _shown(figures: Mapping[str, Any]) -> str:
    """Return the figures of a form in a few words, those of 0 left out."""
    right = [f"{figures['right']} of {figures['items']}"] if "right" in figures else []
    known = ("items", "right", "wrong", UNFLAGGED)
    return ", ".join(right + [f"{name} {value}" for name, value in figures.items() if value and name not in known])


INTRODUCTION = """Whether translations keep what BLEU hardly counts. Right is the share of the items of a probe; of the
wrong ones, the next column counts those without a flag that marks the translation as suspicious. What each probe asks
for stands in `scripts/cases/probes.py`, and wrong translations in the records. A model whose card names MuCoW,
MT-GenEval or CoCoA-MT as training text has read some of the sentences of negation, gender and address."""

CASE = Case("Times, dates, numbers, negation and form of address", options, run, rows, introduction=INTRODUCTION)
