"""Which toolkit a folder comes from, and its import."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from translate.errors import UserError
from translate.models.folder import FILES

Toolkit = Literal["Marian", "JoeyNMT", "fairseq"]


def toolkit_of(folder: Path) -> Toolkit:
    """Return the toolkit whose files a folder holds; UserError if none wrote it, or not completely."""
    from translate.exchange.foreign_model import ForeignFolder

    if (folder / "config.json").is_file():
        if "model_type" in ForeignFolder(folder, "Marian").read_json("config.json"):
            return "Marian"
        lacks = [name for name in FILES if not (folder / name).is_file()]
        if lacks and len(lacks) < len(FILES) - 1:
            raise UserError(f"{folder}: is a model of this project that has no {' and no '.join(lacks)}; copy it again")
        raise UserError(f"{folder}: is no Hugging Face Marian folder, as its config.json has no model_type; name one")
    if (folder / "config.yaml").is_file():
        return "JoeyNMT"
    if any(folder.glob("dict.*.txt")):
        return "fairseq"
    raise UserError(
        f"{folder}: has neither config.json (Hugging Face Marian), config.yaml (JoeyNMT) nor dict.*.txt (fairseq); "
        "name a folder that has one"
    )


def import_folder(
    folder: Path, to: Path, texts: Sequence[str] | None = None, *, source: str | None = None, target: str | None = None
) -> str:
    """Write the model folder `to` from a folder of Hugging Face Marian, fairseq or JoeyNMT.

    Args:
        texts: sentences to compare a Marian model with its original on; None takes those of the built-in grammar.
        source, target: language codes; None takes those of the folder.

    Returns the rest of a sentence, after the name of the model: whether it is the original.

    Raises UserError if the folder is damaged or not supported, if `to` exists, or if the models differ; nothing is then
    left at `to`.
    """
    from translate.exchange.fairseq_import import import_fairseq
    from translate.exchange.foreign_model import ForeignFolder
    from translate.exchange.joeynmt_import import import_joeynmt
    from translate.exchange.marian import import_marian
    from translate.exchange.verification import sentences

    toolkit = toolkit_of(folder)
    if toolkit == "Marian":
        named = ForeignFolder(folder, "Marian").read_json("tokenizer_config.json", optional=True).get("source_lang")
        texts = sentences(source or named) if texts is None else texts
        proof = import_marian(folder, to, texts, source=source, target=target)
        if proof is None:
            return "; it was not compared with the original, which needs the package transformers"
        return (
            f": {proof.n_same} of {proof.n_sentences} sentences have the same greedy output as the original; the "
            f"logits differ by {proof.mean:.1e} on average, by {proof.largest:.1e} at most"
        )
    if toolkit == "JoeyNMT":
        import_joeynmt(folder, to, source=source, target=target)
    else:
        import_fairseq(folder, to, source=source, target=target)
    return "; it was not compared with the original, so check some of its translations"
