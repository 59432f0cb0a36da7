"""`translate import`: make a model folder from a model of another toolkit."""

from collections.abc import Sequence
from pathlib import Path

from translate.commands.export import sentences_for_check
from translate.commands.messages import say
from translate.errors import UserError


def import_model(folder: Path, *, to: Path, source: str | None, target: str | None, sentences: Path | None) -> None:
    """Make a model folder from a folder of Hugging Face Marian, fairseq or JoeyNMT.

    The output of a Marian model is compared with that of the package `transformers`; the others are not compared.

    Args:
        folder: the folder of the other toolkit.
        to: the new model folder.
        source, target: language codes; None takes those of the folder.
        sentences: file of sentences to check a Marian model on; None takes 100 of the embedded grammar.

    Raises UserError if the folder is damaged or not supported, if `to` exists, if a needed package is not installed,
    or if the models differ; nothing is then left at `to`.
    """
    from translate.exchange.new_folder import refuse_existing

    refuse_existing(to)
    if (folder / "config.json").is_file():
        separate = _marian(folder, to, source, target, sentences_for_check(sentences, source or "de"))
    elif sentences is not None:
        raise UserError("--sentences: only Marian models are checked on sentences; leave it out")
    else:
        separate = _other(folder, to, source, target)
    if separate:
        say("the separate tokenizer of the target language is not kept: translate with the model, do not fine-tune it")


def _marian(folder: Path, to: Path, source: str | None, target: str | None, texts: Sequence[str]) -> bool:
    from translate.exchange.marian_import import has_own_target_tokenizer, import_marian

    proof = import_marian(folder, to, texts, source=source, target=target)
    say(
        f"wrote {to}: {proof.n_same} of {proof.n_sentences} sentences have the same greedy output; the logits differ "
        f"by {proof.mean:.1e} on average, by {proof.largest:.1e} at most"
    )
    return has_own_target_tokenizer(folder)


def _other(folder: Path, to: Path, source: str | None, target: str | None) -> bool:
    """Import a JoeyNMT or fairseq folder; True if its target language has a separate tokenizer."""
    from translate.exchange import fairseq_import, joeynmt_import

    separate = False
    if (folder / "config.yaml").is_file():
        separate = joeynmt_import.has_own_target_tokenizer(folder)
        joeynmt_import.import_joeynmt(folder, to, source=source, target=target)
    elif any(folder.glob("dict.*.txt")):
        fairseq_import.import_fairseq(folder, to, source=source, target=target)
    else:
        raise UserError(
            f"{folder}: has neither config.json (Hugging Face Marian), config.yaml (JoeyNMT) nor dict.*.txt (fairseq)"
        )
    say(f"wrote {to}; it was not compared with the original, so check some of its translations")
    return separate
