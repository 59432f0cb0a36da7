"""`translate text` with another search than the paper's: samples, prefixes, terms, ensembles, alignments."""

import dataclasses
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from translate import installed
from translate.commands.messages import say
from translate.commands.reading import ended, open_lines
from translate.commands.sharing import n_processes
from translate.commands.text import Options, check_files, open_translator
from translate.commands.writing import writable
from translate.corpus.sources import read_lines
from translate.errors import UserError
from translate.model_folder import ModelFolder

if TYPE_CHECKING:
    from translate.search_engine import SearchEngine
    from translate.translator import Translation

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
    if not draws and any(value is not None for value in drawn):
        raise UserError("--temperature, --top-k, --top-p and --seed say how to draw; add --sample")
    if draws and (options.beam_size is not None or request.terms or request.coverage):
        raise UserError("--sample and --mbr draw and do not search; leave out --beam, --constrain and --coverage")
    if request.mbr and (request.sample or options.n_best):
        raise UserError("--mbr draws by itself and takes one of its samples; leave out --sample and --n-best")
    if request.prefix is not None and request.prefixes is not None:
        raise UserError("--prefix and --prefixes exclude each other; leave one out")
    if options.format not in (None, "lines"):
        raise UserError(f"--format {options.format}: options of search take a line for a sentence; leave it out")
    if options.n_best and not options.as_json:
        raise UserError("--n-best needs --json: line n of a plain output is the translation of line n")
    if resume or options.engine != "torch" or languages[0] == "auto" or n_processes() > 1:
        raise UserError(
            "--resume, --engine, --from auto and torchrun know the plain search only; leave out one or the other"
        )


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
    from transformer.sampling import Sampling
    from translate.engine import TorchEngine
    from translate.search_engine import SearchEngine, read_terms
    from translate.training.machine import choose_device

    assert isinstance(translator.parts, TorchEngine)
    paths = [installed.locate(Path(name), say) for name in request.ensemble]
    others = [TorchEngine(ModelFolder.open(path, choose_device()), options.precision).parts for path in paths]
    chosen = {"temperature": request.temperature, "top_p": request.top_p}
    try:
        sampling = Sampling(
            top_k=request.top_k or 0, **{name: value for name, value in chosen.items() if value is not None}
        )
    except ValueError as error:
        raise UserError(f"--{str(error).replace('top_', 'top-')}") from error
    return SearchEngine(
        [translator.parts.parts, *others],
        sampling=sampling if request.sample or request.mbr else None,
        seed=request.seed or 0,
        no_repeat=request.no_repeat,
        coverage=request.coverage,
        terms=list(read_terms(read_lines(request.terms), request.terms)) if request.terms else (),
    )


def _records(engine: "SearchEngine", lines: Iterator[str], options: Options, request: Request) -> Iterator[str]:
    """What to write for each line."""
    from translate.consensus import consensus
    from translate.search_engine import align, pharaoh, translate_lines

    prefixes = read_lines(request.prefixes) if request.prefixes else itertools.repeat(request.prefix or "")
    while window := list(itertools.islice(lines, _WINDOW)):
        own = list(itertools.islice(prefixes, len(window)))
        if len(own) < len(window):
            raise UserError(f"{request.prefixes}: has fewer lines than there are to translate; it needs one for each")
        n_best = request.mbr or max(1, options.n_best)
        found = translate_lines(
            engine,
            window,
            own,
            n_best=n_best,
            beam_size=options.beam_size,
            alpha=options.alpha,
            length_penalty=options.length_penalty,
        )
        for line, best in zip(window, found, strict=True):
            best = [consensus(best)] if request.mbr else best
            pairs = align(engine.members[0], line, best[0].tokens) if request.align else []
            if options.as_json:
                yield _json(line, best, options, pairs if request.align else None)
            else:
                yield best[0].text + (f" ||| {pharaoh(pairs)}" if request.align else "") + "\n"
    if request.prefixes and next(prefixes, None) is not None:
        raise UserError(f"{request.prefixes}: has more lines than there are to translate; it needs one for each")


def _json(source: str, best: Sequence["Translation"], options: Options, pairs: list[tuple[int, int]] | None) -> str:
    record: dict[str, object] = {"source": source, **dataclasses.asdict(best[0])}
    if options.n_best:
        record["alternatives"] = [{"text": t.text, "score": t.score, "log_prob": t.log_prob} for t in best]
    if pairs is not None:
        record["alignment"] = pairs
    return json.dumps(record, ensure_ascii=False) + "\n"
