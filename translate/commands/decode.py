"""`translate decode`: translate line by line with the options for research."""

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from translate.commands.lines import Lines, Notes, Translating, check_paths, find_model, open_lines, writable
from translate.errors import OptionError, UserError, say
from translate.files import read_lines
from translate.machine import set_up_torch
from translate.models import registry
from translate.models.folder import ModelFolder
from translate.options import COMPUTING, OUTPUT, SEARCH, Alpha, LengthPenalty, flag, option
from translate.text.translation import DecodingConfig, TranslationOptions

if TYPE_CHECKING:
    from transformer.search.sampling import Sampling
    from translate.text.translation import Translation

# Lines translated together: few at first, so that the first translations come soon, then enough to batch sentences of
# similar length.
_WINDOWS = (64, 128, 256, 512, 1024)

PREFIXES, SAMPLING = "Forced prefixes", "Sampling"

Ids = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Decode(Translating):
    """Translate line by line, with options for research.

    Line n of the output is the translation of line n; no check follows.
    """

    precision: Annotated[
        Literal["fp32", "bf16"], option(COMPUTING, "TYPE", "fp32, or bf16, which is faster on some CPUs.")
    ] = "fp32"
    n_best: Annotated[int, option(OUTPUT, "N", "With --json, list the N best translations.", min=0, max=256)] = 0
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
    alpha: Alpha = None
    length_penalty: LengthPenalty = None
    coverage: Annotated[float, option(SEARCH, "BETA", "Weight of the coverage penalty of GNMT.")] = 0.0
    no_repeat: Annotated[int, option(SEARCH, "N", "Never repeat a sequence of N tokens.", min=0)] = 0
    constrain: Annotated[
        Path | None, option(SEARCH, "FILE", "Terms that must appear; each line is TARGET, or SOURCE, a tab, TARGET.")
    ] = None
    ensemble: Annotated[
        list[Path] | None,
        option(SEARCH, "MODEL", "Average the log-probabilities with those of this model; repeatable."),
    ] = None
    prefix: Annotated[str | None, option(PREFIXES, "TEXT", "Beginning of every translation.")] = None
    prefixes: Annotated[Path | None, option(PREFIXES, "FILE", "Beginning of each translation, line by line.")] = None
    prefix_column: Annotated[bool, flag(PREFIXES, "--prefix-column", "Each input line is SOURCE, a tab, PREFIX.")] = (
        False
    )
    sample: Annotated[bool, flag(SAMPLING, "--sample", "Draw translations instead of searching.")] = False
    mbr: Annotated[
        int,
        option(
            SAMPLING,
            "N",
            "Minimum Bayes risk: draw N, return the one most similar to the others (chrF).",
            min=0,
            max=256,
        ),
    ] = 0
    temperature: Annotated[float, option(SAMPLING, "X", "Divide the logits by X.")] = 1.0
    top_k: Annotated[int, option(SAMPLING, "N", "Draw from the N most probable tokens [default: all].", min=0)] = 0
    top_p: Annotated[float, option(SAMPLING, "X", "Draw from the most probable tokens that make up the share X.")] = 1.0
    seed: Annotated[int, option(SAMPLING, "N", "Random seed [default: 0].")] = 0

    @property
    def draws(self) -> bool:
        """True if translations are drawn instead of searched."""
        return self.sample or self.mbr > 0

    def check(self) -> None:
        """Raise UserError for options that exclude each other."""
        if self.paper and (self.beam, self.alpha, self.length_penalty) != (None, None, None):
            raise UserError("--paper sets the beam and the length penalty; leave out --beam, --alpha, --length-penalty")
        if not self.draws and (self.temperature, self.top_k, self.top_p, self.seed) != (1.0, 0, 1.0, 0):
            raise UserError("--temperature, --top-k, --top-p and --seed belong to sampling; add --sample")
        if self.sample and self.mbr:
            raise UserError("--mbr draws its own samples; leave out --sample")
        if (self.prefix is not None) + (self.prefixes is not None) + self.prefix_column > 1:
            raise UserError("--prefix, --prefixes and --prefix-column exclude each other; keep one of them")
        if (self.n_best or self.alternatives) and not self.as_json:
            raise UserError("--n-best and --alternatives list several translations or tokens per line; add --json")
        if self.alternatives_at is not None and not self.alternatives:
            raise UserError("--alternatives-at continues from other tokens; add --alternatives")
        if self.alternatives_at is not None and self.n_best:
            raise UserError("--alternatives-at and --n-best fill the same list; leave one out")
        if self.draws and (self.paper or self.beam is not None or self.constrain or self.coverage):
            raise UserError(
                "--sample and --mbr draw and do not search; leave out --paper, --beam, --constrain and --coverage"
            )
        if self.draws and self.alternatives_at is not None:
            raise UserError("--alternatives-at searches; leave out --sample and --mbr")
        if self.mbr and self.n_best:
            raise UserError("--mbr returns one of its samples; leave out --n-best")


def run(options: Decode) -> None:
    """Translate each line as one sentence, without checks.

    Raises UserError for wrong input and for options that exclude each other.
    """
    options.check()
    check_paths(options)
    lines = open_lines(options)
    decoder = _Decoder(options)
    windows = _windows(lines, options)
    notes, n = Notes({"split"}), 0
    with writable(options.output, force=options.force) as file:
        for window, beginnings in windows:
            if n == 0 and not options.as_json:
                file.write(lines.mark)
            for n, (best, text) in enumerate(decoder.decode(window, beginnings), start=n + 1):  # noqa: B020
                notes.add(best, n)
                file.write(text + "\n")
            file.flush()
    notes.tell()


class _Decoder:
    """Models, search rules and the form of the output.

    Raises UserError if a model cannot be used or an option is out of range.
    """

    def __init__(self, options: Decode) -> None:
        folder = find_model(options)
        set_up_torch(options.threads)
        from translate.inference.research import SearchEngine, SearchRules, read_terms
        from translate.inference.torch_engine import TorchEngine
        from translate.inference.translator import Translator
        from translate.machine import choose_device

        self._n = options.mbr or max(1, options.n_best)
        paths = [folder, *(registry.locate(name, say) for name in options.ensemble or ())]
        members = [ModelFolder.open(path, choose_device()) for path in paths]
        if options.paper:
            spec = dataclasses.replace(members[0].spec, decoding=DecodingConfig())
            members[0] = dataclasses.replace(members[0], spec=spec)
        engines = [TorchEngine(member, options.precision) for member in members]
        self._decoding = TranslationOptions(
            beam_size=self._n if options.draws else options.beam,
            alpha=options.alpha,
            length_penalty=options.length_penalty,
        )
        self._beam_search = Translator(engines[0], self._decoding)
        self._beam_search.n_best((), self._n)  # refuses more than the beam has before anything is translated
        rules = SearchRules(
            sampling=_sampling(options) if options.draws else None,
            seed=options.seed,
            no_repeat=options.no_repeat,
            coverage=options.coverage,
            terms=list(read_terms(read_lines(options.constrain), options.constrain)) if options.constrain else (),
            terms_alpha=options.alpha if options.constrain else None,
        )
        self._engine = SearchEngine([engine.model_folder for engine in engines], rules)
        self._has_rules = rules != SearchRules() or len(members) > 1
        self._options = options

    def decode(self, lines: Sequence[str], beginnings: Sequence[str]) -> Iterator[tuple["Translation", str]]:
        """Yield the best translation of each line, and the line of output for it."""
        from translate.inference.alignment import pharaoh
        from translate.inference.research import consensus

        prefixes = [tuple(self._engine.forced_ids(beginning)) for beginning in beginnings]
        found = self._found(lines, prefixes)
        if self._options.mbr:
            found = [[consensus(samples)] for samples in found]
        records = self._records(lines, prefixes, found)
        for line, (best, *_), record in zip(lines, found, records, strict=True):
            pairs = self._aligned(line, best) if self._options.align else []
            if self._options.as_json:
                record |= {"alignment": pairs} if self._options.align else {}
                yield best, json.dumps(record, ensure_ascii=False)
            else:
                yield best, _with_alignment(best.text, pharaoh(pairs)) if self._options.align else best.text

    def _aligned(self, line: str, translation: "Translation") -> list[tuple[int, int]]:
        """The word alignment of a line; UserError for a line that was translated in parts."""
        from translate.inference.alignment import align
        from translate.inference.torch_engine import TorchEngine

        if translation.split:
            raise UserError(
                f"{line.strip()[:30]!r}...: is longer than the model's limit, so it has no alignment; shorten it"
            )
        return align(TorchEngine(self._engine.members[0]), line, translation.tokens)

    def _found(self, lines: Sequence[str], prefixes: Sequence[Ids]) -> list[list["Translation"]]:
        """The translations of each line, best first, or its samples."""
        from translate.inference.research import translate_from

        if self._has_rules or any(prefixes):
            return translate_from(self._engine, lines, prefixes, n_best=self._n, options=self._decoding)
        return list(self._beam_search.n_best(lines, self._n))

    def _records(
        self, lines: Sequence[str], prefixes: Sequence[Ids], found: Sequence[Sequence["Translation"]]
    ) -> list[dict[str, object]]:
        """The JSON object of each line, without its alignment."""
        from translate.inference.research import alternatives, branches

        best = [translations[0] for translations in found]
        records = [{"source": line, **first.record()} for line, first in zip(lines, best, strict=True)]
        n, position = self._options.alternatives, self._options.alternatives_at
        if n:
            others = alternatives(self._engine, lines, best, prefixes, n)
            for record, places in zip(records, others, strict=True):
                record["token_alternatives"] = [[dataclasses.asdict(other) for other in place] for place in places]
        if position is not None:
            branched = branches(self._engine, lines, best, prefixes, n, position, self._decoding)
            found = [[first, *others] for first, others in zip(best, branched, strict=True)]
        if self._options.n_best or position is not None:
            for record, translations in zip(records, found, strict=True):
                record["alternatives"] = [
                    {"text": t.text, "score": t.score, "log_prob": t.log_prob} for t in translations
                ]
        return records


def _with_alignment(text: str, alignment: str) -> str:
    """A translation and its alignment on one line, which keeps the "\\r" of a line that ends in CRLF."""
    end = "\r" if text.endswith("\r") else ""
    return f"{text.removesuffix(end)} ||| {alignment}{end}"


def _sampling(options: Decode) -> "Sampling":
    """The settings of sampling; UserError if one is out of range."""
    from transformer.search.sampling import Sampling

    try:
        return Sampling(temperature=options.temperature, top_k=options.top_k, top_p=options.top_p)
    except ValueError as error:
        name, _, rest = str(error).partition(" = ")
        value, _, rule = rest.partition(": ")
        raise OptionError(name, value, rule) from error


def _windows(lines: Lines, options: Decode) -> Iterator[tuple[list[str], list[str]]]:
    """Return the sources of each window, and the beginnings of their translations.

    UserError if --prefixes has another number of lines than the input, which is then read completely.
    """
    sources: Iterable[str] = (line.removesuffix("\n") for line in lines)
    if options.prefix_column:
        columns = (_columns(line, n) for n, line in enumerate(sources, start=1))
        return _grouped(columns, lines.at_hand)
    if options.prefixes is None:
        return _grouped(((source, options.prefix or "") for source in sources), lines.at_hand)
    sources, prefixes = list(sources), list(read_lines(options.prefixes))
    if len(prefixes) != len(sources):
        few = "fewer" if len(prefixes) < len(sources) else "more"
        raise UserError(
            f"{options.prefixes}: has {few} lines than the input, {len(prefixes):,} and not {len(sources):,}; it needs "
            "one for each line"
        )
    return _grouped(zip(sources, prefixes, strict=True), lambda: True)


def _grouped(pairs: Iterable[tuple[str, str]], at_hand: Callable[[], bool]) -> Iterator[tuple[list[str], list[str]]]:
    """Group pairs into windows; one ends early if the next line would have to be waited for."""
    window: list[tuple[str, str]] = []
    sizes = itertools.chain(_WINDOWS, itertools.repeat(_WINDOWS[-1]))
    size = next(sizes)
    for pair in pairs:
        window.append(pair)
        if len(window) == size or not at_hand():
            yield [source for source, _ in window], [prefix for _, prefix in window]
            window, size = [], next(sizes)
    if window:
        yield [source for source, _ in window], [prefix for _, prefix in window]


def _columns(line: str, n: int) -> tuple[str, str]:
    """Source and prefix of a line; the source keeps the "\\r" of a line that ends in CRLF."""
    end = "\r" if line.endswith("\r") else ""
    source, *prefix = line.removesuffix(end).split("\t")
    if len(prefix) > 1:
        raise UserError(f"line {n}: has {len(prefix) + 1} columns; with --prefix-column write SOURCE, a tab, PREFIX")
    return source + end, "".join(prefix)
