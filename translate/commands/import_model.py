"""`translate import`: a model that another toolkit made."""

from pathlib import Path

from translate.commands.export import sentences_for_check
from translate.commands.messages import say


def import_model(folder: Path, *, to: Path, source: str | None, target: str | None, sentences: Path | None) -> None:
    """Make a model folder of a Hugging Face Marian folder, and prove on sentences that it does the same.

    Args:
        folder: of the other toolkit.
        to: the new model folder.
        source, target: languages; None takes what the folder says.
        sentences: a file with sentences to check on; None takes 100 of the embedded grammar.

    Raises UserError if the folder is damaged or not supported, if `to` exists, if the package `transformers` is not
    installed, or if the models differ; then nothing is left at `to`.
    """
    from translate.exchange.marian_import import has_own_target_tokenizer, import_marian
    from translate.exchange.new_folder import refuse_existing

    refuse_existing(to)
    proof = import_marian(folder, to, sentences_for_check(sentences, source or "de"), source=source, target=target)
    say(
        f"wrote {to}: of {proof.n_sentences} sentences {proof.n_same} have the same greedy output; logits differ by "
        f"{proof.mean:.1e} on average, by {proof.largest:.1e} at most"
    )
    if has_own_target_tokenizer(folder):
        say("its target language has a tokenizer of its own, which is not kept: translate with it, do not fine-tune it")
