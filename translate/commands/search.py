"""`translate text` with another search than the paper's: samples, prefixes, terms, ensembles, alignments."""

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from translate.commands.messages import say
from translate.commands.reading import ended, open_lines
from translate.commands.sharing import n_processes
from translate.commands.text import Options, check_files, open_translator
from translate.commands.writing import writable
from translate.corpus.sources import read_lines
from translate.errors import UserError
from translate.models import registry as installed
from translate.models.folder import ModelFolder

if TYPE_CHECKING:
    from translate.inference.research import SearchEngine
    from translate.inference.translator import Translator
    from translate.text.translation import Translation

_WINDOW = 256  # lines translated together


@dataclass(frozen=True)
class Request:
    """What is asked of search beside the paper's.

    Attributes:
        sample: draw translations.
        mbr: draw so many, and take the one that the others agree with most; 0 does not.
        temperature, top_k, top_p, seed: of the samples; None where they are not named.
        prefix: how every translation begins.
        prefixes: a file whose line n is how that of line n begins.
        ensemble: more models to ask.
        terms: a file of words that have to appear.
        no_repeat: no so many tokens twice; 0 is no such rule.
        coverage: beta of the coverage penalty; 0 is none.
        align: add word alignments.
        prefix_column: a line is a source, a tab, and how its translation begins.
        alternatives: add so many other tokens at each place of the translation; 0 adds none.
        alternatives_at: add the translations that go on from those at this token, counted from 0.
    """

    sample: bool = False
    mbr: int = 0
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    prefix: str | None = None
    prefixes: Path | None = None
    ensemble: Sequence[str] = ()
    terms: Path | None = None
    no_repeat: int = 0
    coverage: float = 0.0
    align: bool = False
    prefix_column: bool = False
    alternatives: int = 0
    alternatives_at: int | None = None


def search(
    sentences: Sequence[str],
    options: Options,
    request: Request,
    *,
    model: Path | None,
    languages: tuple[str | None, str | None],
    source: Path | None,
    output: Path | None,
    force: bool,
    resume: bool,
) -> None:
    """Translate lines, each as one sentence, without guards; arguments as those of `translate.commands.text.text`.

    Raises UserError for what the user can mend.
    """
    _check(options, request, languages, resume)
    check_files(sentences, source, output, force, resume)
    lines = (line.removesuffix("\n") for line in ended(open_lines(sentences, source)))
    source_language, target_language = languages
    engine = _engine(installed.choose(model, say, source=source_language, target=target_language), options, request)
    with writable(output) as file:
        for text in _records(engine, lines, options, request):
            file.write(text)
            file.flush()


def _check(options: Options, request: Request, languages: tuple[str | None, str | None], resume: bool) -> None:
    """UserError for what makes no sense together."""
    drawn = (request.temperature, request.top_k, request.top_p, request.seed)
    draws = request.sample or request.mbr > 0
    searched = options.beam_size is not None or request.terms is not None or request.coverage != 0
    beginnings = (request.prefix is not None, request.prefixes is not None, request.prefix_column)
    branches = request.alternatives_at is not None
    plain = resume or options.engine != "torch" or languages[0] == "auto" or n_processes() > 1
    for mistaken, sentence in (
        (
            not draws and any(value is not None for value in drawn),
            "--temperature, --top-k, --top-p and --seed say how to draw; add --sample",
        ),
        (
            draws and searched,
            "--sample and --mbr draw and do not search; leave out --beam, --constrain and --coverage",
        ),
        (
            request.mbr and (request.sample or options.n_best),
            "--mbr draws by itself and takes one of its samples; leave out --sample and --n-best",
        ),
        (sum(beginnings) > 1, "--prefix, --prefixes and --prefix-column exclude each other; leave all but one out"),
        (
            options.format not in (None, "lines"),
            f"--format {options.format}: options of search take a line for a sentence; leave it out",
        ),
        (
            (options.n_best or request.alternatives) and not options.as_json,
            "--n-best and --alternatives need --json: line n of a plain output is the translation of line n",
        ),
        (
            branches and not request.alternatives,
            "--alternatives-at says where to go on from others; add --alternatives",
        ),
        (
            branches and (draws or options.n_best),
            "--alternatives-at searches on and lists what it finds; leave out --sample, --mbr and --n-best",
        ),
        (
            plain,
            "--resume, --engine, --from auto and torchrun know the plain search only; leave out one or the other",
        ),
    ):
        if mistaken:
            raise UserError(sentence)


def _engine(folder: Path, options: Options, request: Request) -> "SearchEngine":
    """The models, open, and the rules."""
    translator = open_translator(
        folder,
        beam_size=options.beam_size,
        alpha=options.alpha,
        length_penalty=options.length_penalty,
        threads=options.threads,
        precision=options.precision,
    )
    from transformer.search.sampling import Sampling
    from translate.inference.engine import TorchEngine
    from translate.inference.research import SearchEngine, SearchRules
    from translate.inference.terms import read_terms
    from translate.machine import choose_device

    assert isinstance(translator.engine, TorchEngine)
    paths = [installed.locate(Path(name), say) for name in request.ensemble]
    others = [TorchEngine(ModelFolder.open(path, choose_device()), options.precision).model_folder for path in paths]
    chosen = {"temperature": request.temperature, "top_p": request.top_p}
    try:
        sampling = Sampling(
            top_k=request.top_k or 0, **{name: value for name, value in chosen.items() if value is not None}
        )
    except ValueError as error:
        raise UserError(f"--{str(error).replace('top_', 'top-')}") from error
    return SearchEngine(
        [translator.engine.model_folder, *others],
        SearchRules(
            sampling=sampling if request.sample or request.mbr else None,
            seed=request.seed or 0,
            no_repeat=request.no_repeat,
            coverage=request.coverage,
            terms=list(read_terms(read_lines(request.terms), request.terms)) if request.terms else (),
        ),
    )


def _records(engine: "SearchEngine", lines: Iterator[str], options: Options, request: Request) -> Iterator[str]:
    """What to write for each line."""
    from translate.inference.alignment import align, pharaoh
    from translate.inference.consensus import consensus
    from translate.inference.research import translate_from
    from translate.inference.terms import forced_ids
    from translate.inference.translator import Translator

    opened = partial(
        Translator, beam_size=options.beam_size, alpha=options.alpha, length_penalty=options.length_penalty
    )
    for window, beginnings in _windows(lines, request):
        prefixes = [tuple(forced_ids(engine.tokenizer, prefix)) for prefix in beginnings]
        n_best = request.mbr or max(1, options.n_best)
        found = translate_from(engine, window, prefixes, n_best=n_best, new_translator=opened)
        found = [[consensus(samples)] for samples in found] if request.mbr else found
        others = _others(engine, window, [best[0] for best in found], prefixes, opened, request)
        for line, best, more in zip(window, found, others, strict=True):
            pairs = align(engine.members[0], line, best[0].tokens) if request.align else []
            listed: dict[str, object] = {"alternatives": _listed(best)} if options.n_best else {}
            aligned: dict[str, object] = {"alignment": pairs} if request.align else {}
            if options.as_json:
                record = {"source": line, **best[0].record(), **listed, **more, **aligned}
                yield json.dumps(record, ensure_ascii=False) + "\n"
            else:
                yield best[0].text + (f" ||| {pharaoh(pairs)}" if request.align else "") + "\n"


def _windows(lines: Iterator[str], request: Request) -> Iterator[tuple[list[str], list[str]]]:
    """Portions of the sources, and how their translations begin."""
    if request.prefix_column:
        pairs = (_columns(line, n) for n, line in enumerate(lines, start=1))
        while columns := list(itertools.islice(pairs, _WINDOW)):
            yield [source for source, _ in columns], [prefix for _, prefix in columns]
        return
    prefixes = read_lines(request.prefixes) if request.prefixes else itertools.repeat(request.prefix or "")
    while window := list(itertools.islice(lines, _WINDOW)):
        own = list(itertools.islice(prefixes, len(window)))
        if len(own) < len(window):
            raise UserError(f"{request.prefixes}: has fewer lines than there are to translate; it needs one for each")
        yield window, own
    if request.prefixes and next(prefixes, None) is not None:
        raise UserError(f"{request.prefixes}: has more lines than there are to translate; it needs one for each")


def _columns(line: str, n: int) -> tuple[str, str]:
    """Source and prefix of a line."""
    source, *prefix = line.split("\t")
    if len(prefix) > 1:
        raise UserError(f"line {n}: has {len(prefix) + 1} columns; with --prefix-column write SOURCE, a tab, PREFIX")
    return source, "".join(prefix)


def _others(
    engine: "SearchEngine",
    lines: Sequence[str],
    best: Sequence["Translation"],
    prefixes: Sequence[tuple[int, ...]],
    opened: "Callable[[SearchEngine], Translator]",
    request: Request,
) -> list[dict[str, object]]:
    """What --alternatives and --alternatives-at add to each record."""
    from translate.inference.alternatives import alternatives, branches

    records: list[dict[str, object]] = [{} for _ in lines]
    if request.alternatives:
        places = alternatives(engine, lines, best, prefixes, request.alternatives)
        for record, own in zip(records, places, strict=True):
            record["token_alternatives"] = [[dataclasses.asdict(other) for other in place] for place in own]
    if request.alternatives_at is not None:
        found = branches(engine, lines, best, prefixes, request.alternatives, request.alternatives_at, opened)
        for record, first, others in zip(records, best, found, strict=True):
            record["alternatives"] = _listed([first, *others])
    return records


def _listed(translations: Sequence["Translation"]) -> list[dict[str, object]]:
    return [{"text": t.text, "score": t.score, "log_prob": t.log_prob} for t in translations]
