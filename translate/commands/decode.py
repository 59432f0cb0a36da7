"""`translate decode`: translate line by line with the options for research."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from transformer.config import SearchConfig
from translate.commands.lines import Lines, TranslationOptions, check_paths, open_lines
from translate.commands.text import find_model, process, settings
from translate.errors import UserError, say
from translate.files import json_sha256, read_lines, sha256
from translate.machine import set_up_torch
from translate.models import registry
from translate.models.folder import digests
from translate.options import OUTPUT, SEARCH, flag, model_option, nested, option
from translate.text.sentences import Piece
from translate.text.translation import Document, Opening, Search

if TYPE_CHECKING:
    from translate.text.translation import Translation

PREFIXES = "Forced prefixes"


@dataclass(frozen=True, kw_only=True)
class DecodeOptions(TranslationOptions):
    """Translate line by line, with options for research.

    Line n of the output is the translation of line n; no check follows.
    """

    opening: Annotated[Opening, nested("model", "precision", "threads")] = Opening(engine="torch", precision="fp32")
    search: Annotated[
        Search,
        nested("beam_size", "alpha", "length_penalty", "coverage", "no_repeat", "constrain", "n_best", "sample", "mbr",
               "temperature", "top_k", "top_p", "seed", "formality"),
    ] = Search()  # fmt: skip
    document: Annotated[Document, nested()] = Document(format="lines", checks=False)
    align: Annotated[bool, flag(OUTPUT, "--align", "Add word alignments, such as 0-0 1-2.")] = False
    alternatives: Annotated[
        int, option(OUTPUT, "N", "With --json, list the N most probable other tokens at each position.", min=0, max=256)
    ] = 0
    alternatives_at: Annotated[
        int | None,
        option(
            OUTPUT, "K", "With --alternatives, list the translations that continue from the others at token K.", min=0
        ),
    ] = None
    paper: Annotated[
        bool,
        flag(SEARCH, "--paper", "The paper's settings: beam 4, alpha 0.6, at most 50 tokens more than the source."),
    ] = False
    ensemble: Annotated[
        list[Path] | None,
        model_option(SEARCH, "Average the log-probabilities with those of this model; repeatable."),
    ] = None
    prefix: Annotated[str | None, option(PREFIXES, "TEXT", "Beginning of every translation.")] = None
    prefixes: Annotated[Path | None, option(PREFIXES, "FILE", "Beginning of each translation, line by line.")] = None
    prefix_column: Annotated[bool, flag(PREFIXES, "--prefix-column", "Each input line is SOURCE, a tab, PREFIX.")] = (
        False
    )

    def __post_init__(self) -> None:
        search = self.search
        if self.paper and (search.beam_size, search.alpha, search.length_penalty) != (None, None, None):
            raise UserError("--paper sets the beam and the length penalty; leave out --beam, --alpha, --length-penalty")
        if self.paper and search.draws:
            raise UserError("--sample and --mbr draw and do not search; leave out --paper")
        if (self.prefix is not None) + (self.prefixes is not None) + self.prefix_column > 1:
            raise UserError("--prefix, --prefixes and --prefix-column exclude each other; keep one of them")
        if (search.n_best or self.alternatives) and not self.as_json:
            raise UserError("--n-best and --alternatives list several translations or tokens per line; add --json")
        if self.alternatives_at is not None and not self.alternatives:
            raise UserError("--alternatives-at continues from other tokens; add --alternatives")
        if self.alternatives_at is not None and search.n_best:
            raise UserError("--alternatives-at and --n-best fill the same list; leave one out")
        if search.draws and self.alternatives_at is not None:
            raise UserError("--alternatives-at searches; leave out --sample and --mbr")


def run(options: DecodeOptions) -> None:
    """Translate each line as one sentence, without checks; UserError for wrong input."""
    check_paths(options)
    lines = open_lines(options)
    process(DecodeProcessor(options), lines)


@dataclass(frozen=True)
class _Line(Piece):
    """A line, and the text that its translation begins with."""

    prefix: str = ""


class DecodeProcessor:
    """Translates lines by search alone, in the form that the options ask for; see `translate.commands.text.Processor`.

    Raises UserError if a model cannot be used or an option is out of range.
    """

    flags = ("split",)

    def __init__(self, options: DecodeOptions) -> None:
        folder = find_model(options)
        set_up_torch(options.opening.threads)
        from translate.inference.translator import Translator, open_members

        self.options = options
        others = [registry.locate(name, say) for name in options.ensemble or ()]
        search = replace(options.search, **SearchConfig().decoding()) if options.paper else options.search
        self._others, self._n = others, search.n_results
        self._engine = open_members([folder, *others], replace(options.opening, target=options.to_language))
        self._translator = Translator(self._engine, search, options.document)
        self._search = self._translator.sentence_search

    def pieces(self, lines: Lines) -> Iterator[Piece]:
        """Return the lines with their prefixes; UserError if --prefixes has another number of lines than the input."""
        options = self.options
        sources: Iterable[str] = (line.removesuffix("\n") for line in lines)
        if options.prefix_column:
            return _pieces(_columns(line, n) for n, line in enumerate(sources, start=1))
        if options.prefixes is None:
            return _pieces((source, options.prefix or "") for source in sources)
        sources, prefixes = list(sources), list(read_lines(options.prefixes))
        if len(prefixes) != len(sources):
            few = "fewer" if len(prefixes) < len(sources) else "more"
            raise UserError(
                f"{options.prefixes}: has {few} lines than the input, {len(prefixes):,} and not {len(sources):,}; it "
                "needs one for each line"
            )
        return _pieces(zip(sources, prefixes, strict=True))

    def settings(self) -> dict[str, object]:
        """Return everything that the output depends on, except the text."""
        options = self.options
        return settings(options, self._translator) | {
            "ensemble": [digests(folder) for folder in self._others],
            "constrain": None if (terms := options.search.constrain) is None else sha256(Path(terms)),
            "prefixes": None if options.prefixes is None else json_sha256(list(read_lines(options.prefixes))),
            **{
                name: getattr(options, name)
                for name in ("prefix", "prefix_column", "align", "alternatives", "alternatives_at")
            },
            **{name: getattr(options.search, name) for name in ("n_best", "mbr")},
        }

    def answers(self, wanted: Sequence[Piece]) -> Iterator[tuple["Translation", str]]:
        """Yield the best translation of each line, and the line of output for it."""
        from translate.inference.alignment import pharaoh
        from translate.inference.constraints import forced_ids
        from translate.inference.research import consensus

        lines = [piece.text for piece in wanted]
        tokenizer, models = self._engine.tokenizer, self._engine.models
        prefixes = [forced_ids(tokenizer, piece.prefix, models) for piece in wanted if isinstance(piece, _Line)]
        found = [
            [self._search.scored(translation) for translation in translations]
            for translations in self._search.translate(lines, n_best=self._n, prefixes=prefixes)
        ]
        if self.options.search.mbr:
            found = [[consensus(samples)] for samples in found]
        records = self._records(lines, prefixes, found)
        for line, (best, *_), record in zip(lines, found, records, strict=True):
            pairs = self._aligned(line, best) if self.options.align else []
            if self.options.as_json:
                record |= {"alignment": pairs} if self.options.align else {}
                yield best, json.dumps(record, ensure_ascii=False)
            else:
                yield best, _with_alignment(best.text, pharaoh(pairs)) if self.options.align else best.text

    def _aligned(self, line: str, translation: "Translation") -> list[tuple[int, int]]:
        """The word alignment of a line; UserError for a line that was translated in parts."""
        from translate.inference.alignment import align

        if translation.split:
            raise UserError(
                f"{line.strip()[:30]!r}...: is longer than the model's limit, so it has no alignment; shorten it"
            )
        return align(self._engine, line, translation.tokens, self._search.tag)

    def _records(
        self, lines: Sequence[str], prefixes: Sequence[tuple[int, ...]], found: Sequence[Sequence["Translation"]]
    ) -> list[dict[str, object]]:
        """The JSON object of each line, without its alignment."""
        from translate.inference.research import alternatives, branches

        best = [translations[0] for translations in found]
        records = [{"source": line, **first.record()} for line, first in zip(lines, best, strict=True)]
        n, position = self.options.alternatives, self.options.alternatives_at
        if n:
            others = alternatives(self._search, lines, best, prefixes, n)
            for record, places in zip(records, others, strict=True):
                record["token_alternatives"] = [[asdict(other) for other in place] for place in places]
        if position is not None:
            branched = branches(self._search, lines, best, prefixes, n, position)
            found = [[first, *others] for first, others in zip(best, branched, strict=True)]
        if self.options.search.n_best or position is not None:
            for record, translations in zip(records, found, strict=True):
                record["alternatives"] = [
                    {"text": t.text, "score": t.score, "log_prob": t.log_prob} for t in translations
                ]
        return records


def _pieces(pairs: Iterable[tuple[str, str]]) -> Iterator[Piece]:
    for source, prefix in pairs:
        yield _Line(source, translate=True, prefix=prefix)
        yield Piece("\n", translate=False)


def _with_alignment(text: str, alignment: str) -> str:
    """A translation and its alignment on one line, which keeps the "\\r" of a line that ends in CRLF."""
    end = "\r" if text.endswith("\r") else ""
    return f"{text.removesuffix(end)} ||| {alignment}{end}"


def _columns(line: str, n: int) -> tuple[str, str]:
    """Source and prefix of a line; the source keeps the "\\r" of a line that ends in CRLF."""
    end = "\r" if line.endswith("\r") else ""
    source, *prefix = line.removesuffix(end).split("\t")
    if len(prefix) > 1:
        raise UserError(f"line {n}: has {len(prefix) + 1} columns; with --prefix-column write SOURCE, a tab, PREFIX")
    return source + end, "".join(prefix)
