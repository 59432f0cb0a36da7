"""Models, their names and their languages: one function finds the model that a command should use."""

import difflib
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from translate.errors import Say, UserError, either
from translate.models import folder as model_folder
from translate.models.folder import TranslationSpec, mended_by_update
from translate.options import model_path

CARDS = ("README.md", "card.md")
DEFAULT = "de-en"  # the installed model that is used when none is named
RUNS = Path("runs")

_MOST_PAIRS = 12  # in a message


def places() -> list[Path]:
    """The folders of installed models: those that ship with the program, then the user's."""
    shipped = Path(__file__).parent
    try:
        return [shipped, home() / "models"]
    except UserError:
        return [shipped]


def home() -> Path:
    """Return the folder of the user's models and keys: $TRANSLATE_HOME or ~/.local/share/translate.

    UserError if the user has no home folder.
    """
    chosen = os.environ.get("TRANSLATE_HOME")
    try:
        return Path(chosen) if chosen else Path.home() / ".local" / "share" / "translate"
    except RuntimeError as error:
        raise UserError("there is no home folder for models and keys; name one with $TRANSLATE_HOME") from error


def named_models() -> list[tuple[str, Path]]:
    """Name and model folder of all installed models, then of all runs in runs/ with a final model."""
    return [*installed(), *_models_in(RUNS)]


def installed(*, exported: bool = True) -> list[tuple[str, Path]]:
    """Name and model folder of the installed models, in the order of `places`.

    Args:
        exported: whether CTranslate2 folders are included.
    """
    return [model for place in places() for model in _models_in(place, exported=exported)]


def _models_in(place: Path, *, exported: bool = False) -> list[tuple[str, Path]]:
    """Hidden folders are passed over: `new_folder` gives such names to models that are not complete."""
    visible = sorted(place.glob("[!.]*")) if os.path.isdir(place) else []  # `Path.is_dir` fails in a forbidden folder
    models = [(path.name, model_folder.model_in(path, exported=exported)) for path in visible]
    return [(name, folder) for name, folder in models if folder]


def find_model(
    name: Path | str | None, say: Say, *, source: str | None = None, target: str | None = None, exported: bool = False
) -> Path:
    """Return the model folder that a command should use.

    The first of these that applies:
      1. `name`, or else $TRANSLATE_MODEL: a path or a name, see `find_folder`;
      2. with `source` or `target`: the first installed model for these languages;
      3. without them: the installed model `DEFAULT`.

    A run is used only if it is named. Rule 2 passes over damaged models, which `say` names.

    Args:
        name: a path or a name; None chooses by the rules above.
        say: receives a note if the choice is not obvious.
        source, target: language codes that the model must have; None accepts any.
        exported: whether `name` may be a CTranslate2 folder.

    Raises UserError if there is no such model.
    """
    if named := chosen_model(name, say, exported=exported):
        require_languages(named, source, target)
        return named
    if source or target:
        if first := _installed_for(source, target, say, exported=exported):
            return first
        raise UserError(_no_model(source, target))
    default = next((folder for name, folder in installed() if name == DEFAULT), None)
    if default is None:
        raise UserError(
            "no model is installed: name one or a run with --model or $TRANSLATE_MODEL, or make one with `make demo` "
            "or `translate train CONFIG`"
        )
    return default


def _name_for_code(source: str | None, target: str | None) -> str:
    """Return the message for the name of a language in the place of its code; "" if there is none."""
    found = next((code for asked in (source, target) if asked and (code := code_of(asked))), None)
    return f"languages are named by their codes; write {found} for {language_name(found)}" if found else ""


def _no_model(source: str | None, target: str | None) -> str:
    """Return the message for languages that no installed model has, or that are none."""
    if said := _name_for_code(source, target):
        return said
    if source == target:
        return f"both languages are {source}; name the other one, or leave --from or --to out"
    return (
        f"no installed model translates {_wanted(source, target)}; name one or a run with --model (translate models "
        "lists them), or add one with translate models add"
    )


def chosen_model(name: Path | str | None, say: Say, *, exported: bool = False) -> Path | None:
    """Return the model folder of `name`, or else of $TRANSLATE_MODEL; None if neither is given.

    UserError if there is no such model; it names the variable, which the user may have forgotten.
    """
    if name is not None:
        return locate(name, say, exported=exported)
    chosen = os.environ.get("TRANSLATE_MODEL")
    try:
        return locate(chosen, say, exported=exported) if chosen else None
    except UserError as error:
        raise UserError(f"$TRANSLATE_MODEL is {chosen}: {error}") from error


def locate(name: Path | str, say: Say, *, exported: bool = False) -> Path:
    """Return the model folder of a path or name: the folder itself, a run's final model, or its newest checkpoint.

    Args:
        name: text keeps the "./" that makes a path of a name; see `options.model_path`.
        say: receives a note if the name is ambiguous or the run has no final model.
        exported: whether a CTranslate2 folder is accepted.

    Raises UserError if there is none.
    """
    folder = find_folder(model_path(name), say)
    with mended_by_update(folder):
        return model_folder.resolve(folder, say, exported=exported)


def find_folder(name: Path, say: Say, *, is_run: bool = False) -> Path:
    """Return the first existing folder of: the installed model NAME, runs/NAME, the path `name`.

    So an installed model means the same in every working directory. A folder without a model, such as a folder of texts
    called de-en, counts only if there is no other. UserError if there is none; it suggests the nearest name.

    Args:
        say: receives a note if there are several.
        is_run: whether a run is meant rather than a model, so that runs/NAME comes first.
    """
    found = sorted(existing(name), key=lambda folder: is_run and folder.parent != RUNS)
    found = [folder for folder in found if _holds_a_model(folder)] or found
    if len(found) > 1:
        others = [f"./{path}" if path == name else str(path) for path in found[1:]]
        say(f"using {found[0]}, not {' or '.join(others)}; a path, with a '/', names exactly one")
    if found:
        return found[0]
    near = difflib.get_close_matches(str(name), [known for known, _ in named_models()], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "translate models lists the names"
    raise UserError(f"{name}: no such file, folder, run or installed model; {hint}")


def existing(name: Path) -> list[Path]:
    """Return what exists of: the installed models NAME, runs/NAME, the path `name`."""
    is_name = name.name == str(name)
    return [path for path in (*(place / name for place in (*places(), RUNS) if is_name), name) if os.path.exists(path)]


def _holds_a_model(folder: Path) -> bool:
    """True for a model, complete or not, and for a run."""
    files = (*model_folder.FILES, model_folder.CTRANSLATE2_FILE)
    return any((folder / name).exists() for name in (*files, "model", "checkpoints"))


def _installed_for(source: str | None, target: str | None, say: Say, *, exported: bool = True) -> Path | None:
    """The first installed model for these languages, or None; UserError if they leave a choice between pairs."""
    models = fitting([folder for _, folder in installed(exported=exported)], source, target, say)
    specs = [TranslationSpec.load(folder) for folder in models]
    pairs = {(spec.source, target or spec.target) for spec in specs}
    if len(pairs) > 1:
        asked = sorted({(spec.source, language) for spec in specs for language in _choices(spec, target)})
        known = ", ".join(" to ".join(pair) for pair in asked[:_MOST_PAIRS])
        if len(asked) > _MOST_PAIRS:
            known += f" and {len(asked) - _MOST_PAIRS} more, which translate models --json lists"
        raise UserError(f"several models translate {_wanted(source, target)}: {known}; name both with --from and --to")
    if len(models) > 1:
        say(f"using {models[0]}, the first of {len(models)} models {_wanted(source, target)}")
    return models[0] if models else None


def _choices(spec: TranslationSpec, target: str | None) -> list[str]:
    """Return the target languages that a user can ask for with --to: those of a group, not the group."""
    return [target] if target else spec.targets if spec.needs_choice else [spec.target]


def fitting(folders: Iterable[Path], source: str | None, target: str | None, say: Say) -> list[Path]:
    """Return the model folders for these languages: for "de-AT" those of "de" if no model has the region.

    Args:
        source, target: language codes; None accepts any.
        say: receives a note for each damaged one, which is skipped.
    """
    found = []
    for folder in folders:
        try:
            with mended_by_update(folder):
                closeness = TranslationSpec.load(folder).closeness(source, target)
        except UserError as error:
            say(f"{error}; until then it is not used")
        else:
            found += [] if closeness is None else [(closeness, folder)]
    closest = max((closeness for closeness, _ in found), default=None)
    return [folder for closeness, folder in found if closeness == closest]


def opposite(folder: Path, say: Say) -> Path:
    """Return the folder of an installed model of the opposite direction; UserError if there is none."""
    spec = TranslationSpec.load(folder)
    if found := _installed_for(spec.target, spec.source, say):
        return found
    raise UserError(
        f"no installed model translates {spec.target}-{spec.source}, the opposite of {spec.source}-{spec.target}; "
        "install one (translate models)"
    )


def require_languages(folder: Path, source: str | None, target: str | None) -> None:
    """Raise UserError if the model in `folder` translates between other languages; None accepts any language."""
    with mended_by_update(folder):
        spec = TranslationSpec.load(folder)
    if not spec.speaks(source, target):
        raise UserError(
            _name_for_code(source, target)
            or f"{folder}: translates from {spec.source} to {either(spec.targets)}, not {_wanted(source, target)}; "
            "name another model, or leave --from and --to out"
        )


def _wanted(source: str | None, target: str | None) -> str:
    return " ".join(f"{word} {language}" for word, language in (("from", source), ("to", target)) if language)


def card(folder: Path) -> str | None:
    """The text of a model's card, or of that of the run whose final model it is; None if there is none."""
    path = next(iter(card_files(folder)), None)
    return None if path is None else path.read_text(encoding="utf-8", errors="replace")


def card_files(folder: Path) -> list[Path]:
    """The cards of a model, or that of the run whose final model it is; the first one is shown."""
    paths = [folder / name for name in CARDS]
    if folder.name == "model":
        paths.append(folder.parent / "card.md")
    return [path for path in paths if path.is_file()]


@cache
def known_languages() -> dict[str, str]:
    """Return the English names of languages by their ISO 639-1 codes."""
    rows = Path(__file__).with_name("languages.tsv").read_text(encoding="utf-8").splitlines()
    return dict(row.split("\t") for row in rows)


def lacking_rules(spec: TranslationSpec) -> list[str]:
    """Return a sentence for each language of a model that lacks rules, which says what is not done for it."""
    from translate.text import languages

    unknown = {
        spec.source: languages.unknown_to(spec.source, "source"),
        spec.target: languages.unknown_to(spec.target, "target"),
    }
    return [
        f"{language_name(code)} has no rules for {', '.join(uses)}: general ones take their place, and checks that "
        'need them are off ("Languages" in docs/text.md says how to add rules)'
        for code, uses in unknown.items()
        if uses
    ]


def language_name(code: str) -> str:
    """Return the English name of a language by its ISO 639-1 code, or the code if it is unknown."""
    return known_languages().get(code, code)


def code_of(name: str) -> str | None:
    """Return the ISO 639-1 code of a language by its English name, in capital or small letters; None for other text."""
    return next((code for code, known in known_languages().items() if known.lower() == name.lower()), None)
