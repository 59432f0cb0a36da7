"""`translate import`: a model that another toolkit made."""

from collections.abc import Sequence
from pathlib import Path

from translate.commands.export import sentences_for_check
from translate.commands.messages import say
from translate.errors import UserError


def import_model(folder: Path, *, to: Path, source: str | None, target: str | None, sentences: Path | None) -> None:
    """Make a model folder of one of Hugging Face Marian, fairseq or JoeyNMT.

    What Marian makes of sentences is compared with the package `transformers`; of the others there is no such package.

    Args:
        folder: of the other toolkit.
        to: the new model folder.
        source, target: languages; None takes what the folder says.
        sentences: a file with sentences to check a Marian folder on; None takes 100 of the embedded grammar.

    Raises UserError if the folder is damaged or not supported, if `to` exists, if what is needed is not installed, or
    if the models differ; then nothing is left at `to`.
    """
    from translate.exchange.new_folder import refuse_existing

    refuse_existing(to)
    if (folder / "config.json").is_file():
        own_target = _marian(folder, to, source, target, sentences_for_check(sentences, source or "de"))
    elif sentences is not None:
        raise UserError("--sentences: only what is made of a Marian folder is compared on sentences; leave it out")
    else:
        own_target = _other(folder, to, source, target)
    if own_target:
        say("its target language has a tokenizer of its own, which is not kept: translate with it, do not fine-tune it")


def _marian(folder: Path, to: Path, source: str | None, target: str | None, texts: Sequence[str]) -> bool:
    from translate.exchange.marian_import import has_own_target_tokenizer, import_marian

    proof = import_marian(folder, to, texts, source=source, target=target)
    say(
        f"wrote {to}: of {proof.n_sentences} sentences {proof.n_same} have the same greedy output; logits differ by "
        f"{proof.mean:.1e} on average, by {proof.largest:.1e} at most"
    )
    return has_own_target_tokenizer(folder)


def _other(folder: Path, to: Path, source: str | None, target: str | None) -> bool:
    """Import what is no Marian folder; whether the target has a tokenizer of its own."""
    from translate.exchange import fairseq_import, joeynmt_import

    own_target = False
    if (folder / "config.yaml").is_file():
        own_target = joeynmt_import.has_own_target_tokenizer(folder)
        joeynmt_import.import_joeynmt(folder, to, source=source, target=target)
    elif any(folder.glob("dict.*.txt")):
        fairseq_import.import_fairseq(folder, to, source=source, target=target)
    else:
        raise UserError(
            f"{folder}: has neither config.json (Hugging Face Marian), config.yaml (JoeyNMT) nor dict.*.txt (fairseq)"
        )
    say(f"wrote {to}; look at some translations of it, for it was not compared with the original")
    return own_target
