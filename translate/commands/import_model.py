"""`translate import`: make a model folder from a model of another toolkit."""

from pathlib import Path

from translate.commands.export import sentences_for_check
from translate.commands.messages import say
from translate.errors import UserError
from translate.models import folder as model_folder


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
    from translate.exchange.fairseq_import import import_fairseq
    from translate.exchange.joeynmt_import import import_joeynmt
    from translate.exchange.marian_import import import_marian

    model_folder.refuse_existing(to)
    if (folder / "config.json").is_file():
        texts = sentences_for_check(sentences, source or "de")
        proof = import_marian(folder, to, texts, say, source=source, target=target)
        say(
            f"wrote {to}: {proof.n_same} of {proof.n_sentences} sentences have the same greedy output; the logits "
            f"differ by {proof.mean:.1e} on average, by {proof.largest:.1e} at most"
        )
        return
    if sentences is not None:
        raise UserError("--sentences: only Marian models are checked on sentences; leave it out")
    if (folder / "config.yaml").is_file():
        import_joeynmt(folder, to, say, source=source, target=target)
    elif any(folder.glob("dict.*.txt")):
        import_fairseq(folder, to, source=source, target=target)
    else:
        raise UserError(
            f"{folder}: has neither config.json (Hugging Face Marian), config.yaml (JoeyNMT) nor dict.*.txt (fairseq)"
        )
    say(f"wrote {to}; it was not compared with the original, so check some of its translations")
