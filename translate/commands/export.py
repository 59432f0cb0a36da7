"""`translate export`: write a model in the format of another engine."""

from pathlib import Path

from translate.commands.messages import say
from translate.commands.reading import ArrivingLines
from translate.corpus import grammar
from translate.errors import UserError
from translate.models import folder as model_folder
from translate.models import registry
from translate.options.managing import Export

_N_SENTENCES = 100
_SEED = 1


def run(options: Export) -> None:
    """Write a model for another engine, and check on sentences that both produce the same output.

    Raises UserError if there is no such model, if `out` exists, if the format cannot represent the architecture, if the
    engine's package is not installed, or if the exported model differs; nothing is then left at `out`.
    """
    from translate.exchange import argos_package, ctranslate2_folder, marian

    out, int8 = options.out, options.int8
    if int8 and options.format == "marian":
        raise UserError("--int8 needs --format ctranslate2 or argos; leave it out")
    model_folder.refuse_existing(out)
    original = model_folder.ModelFolder.open(registry.locate(options.model, say))
    texts = sentences_for_check(options.sentences, original.spec.source)
    if options.format == "marian":
        proof = marian.export(original, out, texts)
    elif options.format == "argos":
        proof = argos_package.export(original, out, texts, int8=int8)
    else:
        proof = ctranslate2_folder.export(original, out, texts, int8=int8)
    say(
        f"wrote {out}: {proof.n_same} of {proof.n_sentences} sentences have the same greedy output; the scores differ "
        f"by {proof.mean:.1e} on average, by {proof.largest:.1e} at most"
    )


def sentences_for_check(path: Path | None, source: str | None) -> list[str]:
    """The sentences of a file, or 100 of the embedded grammar: English ones if `source` is "en", else German ones.

    Raises UserError if the file has no sentence.
    """
    if path is None:
        side = 1 if source == "en" else 0
        return [pair[side] for pair in grammar.generate("test", _N_SENTENCES, _SEED)]
    with path.open("rb") as file:
        texts = [line.strip() for line in ArrivingLines(file, str(path)) if line.strip()]
    if not texts:
        raise UserError(f"{path}: has no sentence to check the model on; name a file with sentences")
    return texts
