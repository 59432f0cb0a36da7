"""`translate import`: make a model folder from a model of another toolkit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from translate.commands.export import sentences_for_check
from translate.errors import UserError, say
from translate.models import folder as model_folder
from translate.options import CheckedOn, Out, argument, language_option

LANGUAGES = "Languages"


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Import a model of Hugging Face Marian, fairseq or JoeyNMT.

    The output of a Marian model is compared with that of the original.
    """

    folder: Annotated[Path, argument("FOLDER", "Model of Marian, fairseq or JoeyNMT.")]
    out: Out
    source: Annotated[
        str | None, language_option(LANGUAGES, "Source language [default: as in the folder].", "--from")
    ] = None
    target: Annotated[
        str | None, language_option(LANGUAGES, "Target language [default: as in the folder].", "--to")
    ] = None
    sentences: CheckedOn = None


def run(options: ImportOptions) -> None:
    """Make a model folder from a folder of Hugging Face Marian, fairseq or JoeyNMT.

    The output of a Marian model is compared with that of the package `transformers`; the others are not compared.

    Raises UserError if the folder is damaged or not supported, if `out` exists, or if the models differ; nothing is
    then left at `out`.
    """
    from translate.exchange import importing

    folder, out = options.folder, options.out
    model_folder.refuse_existing(out)
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; name one that holds a model of Marian, fairseq or JoeyNMT")
    if model_folder.is_complete(folder):
        raise UserError(f"{folder}: is a model of this toolkit already; use it without an import")
    if (folder / model_folder.CTRANSLATE2_FILE).is_file():
        raise UserError(
            f"{folder}: is a CTranslate2 folder, which cannot be imported; import the model it was converted from, or, "
            "if translate export wrote it, name it with --model of translate text or serve"
        )
    if options.sentences is not None and not (folder / "config.json").is_file():
        raise UserError("--sentences: only Marian models are checked on sentences; leave it out")
    texts = None if options.sentences is None else sentences_for_check(options.sentences, None)
    try:
        said = importing.import_folder(folder, out, texts, source=options.source, target=options.target)
    except model_folder.NoLanguagesError as error:
        raise UserError(f"{folder}: does not name its languages; name them with --from and --to") from error
    say(f"wrote {out}{said}")
