"""`translate data`: examine the corpus of an experiment before it is prepared."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from translate.commands.lines import check_page
from translate.config.load import load
from translate.config.schema import ExperimentConfig
from translate.corpus.examination import Examination, examine, histogram, quantile
from translate.errors import say
from translate.files import write_text
from translate.options import OUTPUT, Overrides, argument, flag, option
from translate.pictures.picture import Chapter, data_page
from translate.pictures.terminal import bar
from translate.tables import rendered

_WIDTH = 40  # columns of the longest bar
_SHOWN = 160  # characters of an example


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Examine the corpus of an experiment before training.

    Lengths, duplicates, wrong language, mismatched numbers and punctuation, encodings, test overlap, vocabulary sizes.
    """

    config: Annotated[Path, argument("CONFIG", "Experiment file (TOML).")]
    overrides: Overrides = None
    html: Annotated[Path | None, option(OUTPUT, "FILE", "Also write a page of HTML.")] = None
    force: Annotated[bool, flag(OUTPUT, "--force", "Overwrite the page.")] = False


def run(options: DataOptions) -> None:
    """Print the report, and write it as a page of HTML if asked to; UserError for a file that cannot be used."""
    if options.html is not None:
        check_page(options.html, force=options.force)
    config = load(options.config, options.overrides or [])
    chapters = report(config, examine(config))
    print("\n\n".join(map(_text, chapters)))
    if options.html is not None:
        write_text(options.html, data_page(f"Data of {options.config.name}", chapters))
        say(f"wrote {options.html}")


def report(config: ExperimentConfig, found: Examination) -> list[Chapter]:
    """Return the chapters of the report."""
    source, target = config.data.source, config.data.target
    return [_pairs(found), _lengths(found, (source, target)), _content(found, (source, target)), _vocabulary(found)]


def _pairs(found: Examination) -> Chapter:
    cleaning = found.cleaning
    rows = [
        {"source": origin, "pairs": f"{n['read']:,}", "kept by cleaning": f"{n['kept']:,}"}
        for origin, n in cleaning.origins.items()
    ]
    rows += [
        {"source": f"dropped: {rule}", "pairs": f"{n:,}", "kept by cleaning": ""}
        for rule, n in cleaning.dropped.items()
    ]
    examples = [
        f"{rule}: {example['origin']}, line {example['line']}: {example['source']} | {example['target']}"
        for rule, shown in cleaning.examples.items()
        for example in shown[:1]
    ]
    skipped = f"Not read, as its other side is not made yet: {', '.join(found.skipped)}." if found.skipped else ""
    return Chapter("Pairs", rows, examples=examples, note=skipped)


def _lengths(found: Examination, languages: tuple[str, str]) -> Chapter:
    rows = [
        _row(f"{language}, words", counts, f"{distinct:,}")
        for language, counts, distinct in zip(languages, found.lengths, found.n_sides, strict=True)
    ]
    if found.ratios:
        rows.append(_row(f"characters {languages[1]} / {languages[0]}", found.ratios, ""))
    bars = {f"words, {language}": histogram(counts) for language, counts in zip(languages, found.lengths, strict=True)}
    return Chapter("Lengths", rows, bars)


def _row(name: str, counts: "Counter[int] | Counter[float]", distinct: str) -> dict[str, str]:
    mean = sum(value * n for value, n in counts.items()) / counts.total()
    shares = {"5 %": 0.05, "median": 0.5, "95 %": 0.95, "99 %": 0.99, "largest": 1.0}
    values = {head: f"{quantile(counts, share):g}" for head, share in shares.items()}
    return {"": name, "mean": f"{mean:.2f}", **values, "distinct": distinct}


def _content(found: Examination, languages: tuple[str, str]) -> Chapter:
    meanings = {
        "foreign source": f"source is certainly not {languages[0]}",
        "foreign target": f"target is certainly not {languages[1]}",
        "numbers": "a number of the source is not in the target",
        "end of sentence": "the sides end in different punctuation",
        "encoding": "wrongly decoded text, entities or U+FFFD",
        "control characters": "control characters",
    }
    rows = [
        {"suspicious": meanings[name], "pairs": f"{check.count:,}", "share": f"{check.count / found.n_checked:.2%}"}
        for name, check in found.checks.items()
    ]
    examples = [
        f"{name}: {source[:_SHOWN]} | {target[:_SHOWN]}"
        for name, check in found.checks.items()
        for source, target in check.examples
    ]
    note = f"Of {found.n_checked:,} pairs at even distances. A suspicious pair may be right; look at the examples."
    return Chapter("Content", rows, examples=examples, note=note)


def _vocabulary(found: Examination) -> Chapter:
    rows = [
        {
            "pieces": f"{vocabulary.size:,}",
            "tokens a sentence": f"{vocabulary.tokens_per_sentence:.1f}",
            "<unk> in valid": f"{vocabulary.unknown:.3%}",
            "pieces seen 100 times": f"{vocabulary.frequent:.0%}",
        }
        for vocabulary in found.vocabularies
    ]
    refusal = f" translate prepare will refuse the experiment: {found.refusal}." if found.refusal else ""
    if not rows:
        return Chapter("Vocabulary", rows, note=f"There is too little text to train a vocabulary.{refusal}")
    nearest = max(found.vocabularies, key=lambda vocabulary: vocabulary.frequent)
    suggestion = (
        f"No size has 95 % of its pieces 100 times or more; {nearest.size:,} comes nearest."
        if found.suggested is None
        else f"Suggested: {found.suggested:,}, the largest with 95 % of its pieces seen 100 times or more."
    )
    return Chapter("Vocabulary", rows, note=f"{suggestion} <unk> is without byte fallback, which leaves none.{refusal}")


def _text(chapter: Chapter) -> str:
    """Return a chapter as text."""
    parts = [chapter.title.upper()]
    if chapter.rows:
        parts.append(rendered(chapter.rows, "simple"))
    for title, counts in chapter.bars.items():
        most = max(counts.values()) or 1
        lines = [f"{label:>9} {n:>9,} {bar(n / most, _WIDTH)}".rstrip() for label, n in counts.items()]
        parts.append("\n".join([title, *lines]))
    parts += ["\n".join(f"  {example}" for example in chapter.examples)] if chapter.examples else []
    return "\n\n".join([*parts, *filter(None, [chapter.note])])
