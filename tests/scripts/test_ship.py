"""A shipped run is complete, with scores of the shipped model and the licence of every corpus."""

import json
import shutil
from pathlib import Path

import pytest
from records import record_of, runs_of

from tests.programs import SCRIPTS, case, program
from translate.commands.main import main
from translate.config.load import load
from translate.models.folder import ModelFolder, is_complete
from translate.models.registry import locate
from translate.text.translation import Translation

CONFIG = """
[data]
source = "de"
target = "en"
train = [{ kind = "grammar", split = "train", pairs = 70 }]
valid = { kind = "grammar", split = "valid", pairs = 3 }
test.one = { kind = "grammar", split = "test", pairs = 30 }
replay = { sources = [{ kind = "words" }] }

[tokenizer]
vocab_size = 400

[model]
preset = "tiny"
d_model = 16
d_ff = 24

[training]
max_steps = 2
batch_tokens = 256
max_tokens = 64
warmup_steps = 1
valid_bleu_sentences = 0
"""


ship = program("ship")
confidence = case("confidence")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that contains a small finished run."""
    place = tmp_path_factory.mktemp("ship")
    (place / "x.toml").write_text(CONFIG, encoding="utf-8")
    (place / "bad.md").write_text("- It has learned nothing.\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["train", "x.toml"]) == 0
    return place


@pytest.fixture(autouse=True)
def few_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two practical sentences, not nearly in the phrase book; a hundred would take seconds."""
    lines = [
        "travel\tMeine Tante radelt nach Lissabon.\tMy aunt is cycling to Lisbon.\n",
        "shop\tIch suche Handschuhe aus Leder.\tI am looking for leather gloves.\n",
    ]
    (tmp_path / "practical.de-en.tsv").write_text("".join(lines), encoding="utf-8")
    monkeypatch.setitem(ship.answers.__globals__, "DATA", tmp_path)


@pytest.mark.parametrize("dtype", ["int8", "bf16"])
def test_a_run_ships_with_its_card(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], dtype: str
) -> None:
    monkeypatch.chdir(place)
    arguments = ["runs/x", "--to", f"models/{dtype}", "--weaknesses", "bad.md", "--dtype", dtype]
    arguments += ["--best-source-tokens", "17"]
    assert ship.main(arguments) == 0
    shipped = place / "models" / dtype
    small = json.loads((place / "runs" / "x" / dtype / "scores.json").read_text(encoding="utf-8"))
    card = (shipped / "README.md").read_text(encoding="utf-8")
    spec = ModelFolder.open(shipped).spec
    assert (spec.source, spec.best_source_tokens) == ("de", 17)
    assert card.startswith("# German to English, ")
    assert f"| one | 30 | {dtype} | {small['one']['bleu']['score']:.1f} |" in card
    assert small["one"]["bleu"]["signature"] in card
    assert "- It has learned nothing." in card
    assert "| travel | " in card
    assert "    Ich suche Handschuhe aus Leder.\n    I am looking for leather gloves.\n" in card
    assert "| grammar | 70 | Apache-2.0 | this project |" in card
    assert "| word list |" in card
    translations = (place / "runs" / "x" / dtype / "hypotheses" / "one.txt").read_text(encoding="utf-8").split("\n")
    assert sum(f"    {line}\n" in card or card.endswith(f"    {line}\n") for line in translations[:-1]) >= 20
    capsys.readouterr()
    assert ship.main(arguments) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.slow
def test_the_card_of_a_fine_tuned_model_names_its_parent(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    (place / "y.toml").write_text(CONFIG.replace("max_steps = 2", "max_steps = 3"), encoding="utf-8")
    assert main(["train", "y.toml", "--from", "runs/x/checkpoints/step-00000002"]) == 0
    assert ship.main(["runs/y", "--to", "models/y", "--weaknesses", "bad.md"]) == 0
    card = (place / "models/y/README.md").read_text(encoding="utf-8")
    assert 0 < card.index(": 2 updates, ") < card.index(": 3 updates, ")
    (place / "on.toml").write_text(CONFIG.replace("max_steps = 2", "max_steps = 5"), encoding="utf-8")
    assert main(["train", "on.toml", "--from", "models/y"]) == 0
    assert ship.main(["runs/on", "--to", "models/on", "--weaknesses", "bad.md"]) == 0
    card = (place / "models/on/README.md").read_text(encoding="utf-8")
    assert 0 < card.index(": 2 updates, ") < card.index(": 3 updates, ") < card.index(": 5 updates, ")
    assert {*record_of(Path("runs/on"))["parents"]} == {None}  # no run before has a record
    back = CONFIG.replace('source = "de"\ntarget = "en"', 'source = "en"\ntarget = "de"')
    (place / "back.toml").write_text(back, encoding="utf-8")
    assert main(["train", "back.toml", "--from", "runs/y"]) == 0
    assert ship.main(["runs/back", "--to", "models/back", "--weaknesses", "bad.md"]) == 0
    assert (place / "models/back/README.md").read_text(encoding="utf-8").startswith("# English to German, ")
    less = CONFIG.replace('replay = { sources = [{ kind = "words" }] }\n', "")
    (place / "z.toml").write_text(less, encoding="utf-8")
    assert main(["train", "z.toml", "--from", "runs/y"]) == 0
    assert ship.main(["runs/z", "--to", "models/z", "--weaknesses", "bad.md"]) == 0
    assert main(["train", "z.toml", "--from", "models/y", "--run", "runs/z2"]) == 0
    assert ship.main(["runs/z2", "--to", "models/z2", "--weaknesses", "bad.md"]) == 0
    tables = [
        ship.lines_of("Data", (place / "models" / name / "README.md").read_text())[2:] for name in ("y", "z", "z2")
    ]
    assert tables[0] == tables[1] == tables[2]
    assert [line.split(" | ")[0] for line in tables[0]] == ["| corpus", "| ---", "| grammar", "| words-list"]


@pytest.mark.parametrize("direction", ship.DIRECTIONS)
def test_the_models_that_a_stage_needs_are_made_before_it(direction: str) -> None:
    names = ship.stages(direction)
    for i, name in enumerate(names):
        models = load(ship.RECIPE / f"{name}.toml").data.models
        assert {Path(model).name for model in models if model.startswith("runs/")} <= set(names[:i]), name
        assert all(
            is_complete(locate(Path(model), lambda _: None)) for model in models if not model.startswith("runs/")
        )


PAIRS = '[pairs]\nboth = { path = "pairs.{language}" }\n'
FEW = 'kind = "grammar", split = "train", pairs = 20, seed = 3'  # in place of all words


def test_a_model_is_made_by_its_recipe_and_continued_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recipe at toy length: back-translation by the other direction, then distillation of both and of pairs."""
    monkeypatch.chdir(tmp_path)
    for kind in ("mono", "pairs"):
        (tmp_path / f"{kind}.de").write_text("Der Hund schläft.\nDie Katze kommt.\n", encoding="utf-8")
        (tmp_path / f"{kind}.en").write_text("The dog sleeps.\nThe cat comes.\n", encoding="utf-8")
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    library = [f'{code} = {{ kind = "mono", path = "mono.{code}", language = "{code}" }}' for code in ("de", "en")]
    (recipe / "library.toml").write_text("\n".join(["[mono]", *library, PAIRS]), encoding="utf-8")
    for name, other in (("de-en", "en-de"), ("en-de", "de-en")):
        languages = 'source = "{}"\ntarget = "{}"\nlibrary = "library.toml"'.format(*name.split("-"))
        first = CONFIG.replace('source = "de"\ntarget = "en"', languages).replace('kind = "words"', FEW)
        first = first.replace("vocab_size = 400", 'vocab_size = 400\ntags = ["<BT>"]')
        earlier = f"{other}-1" if name == "de-en" else f"{other}-2"
        back_keys = f'model = "runs/{earlier}", method = "greedy"'
        back = f"weights.mono = 1\nmono = {{ {back_keys} }}"
        both = f'model = "runs/{name}-2", method = "beam", beam_size = 2, rerank = "runs/{other}-2"'
        third = f"weights.mono = 1\nmono.source = {{ {both} }}\nmono.target = {{ {back_keys} }}"
        third += f'\nweights.pairs = 0.5\ntext = {{ model = "runs/{name}-2", beam_size = 2 }}'
        for stage, mono in ((1, ""), (2, back), (3, third)):
            text = first.replace('library = "library.toml"', f'library = "library.toml"\n{mono}')
            (recipe / f"{name}-{stage}.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(ship, "RECIPE", recipe)
    monkeypatch.setattr("sys.argv", ["ship.py"])  # changed for the records of the runs
    monkeypatch.setattr(ship, "licence_of", lambda name: {"title": name, "licence": "CC0", "origin": "here"})
    arguments = ["de-en", "--updates", "3"]
    assert ship.main([*arguments, "--to", "models/first"]) == 0
    made = {path.name for path in (tmp_path / "runs").iterdir()}
    assert made == {"de-en-1", "en-de-1", "de-en-2", "en-de-2", "de-en-3"}
    card = (tmp_path / "models/first/README.md").read_text(encoding="utf-8")
    assert card.count(": 3 updates, ") == 3
    for stage in ("1.toml --resume", "2.toml --resume --from runs/de-en-1", "3.toml --resume --from runs/de-en-2"):
        assert f"- `translate train recipe/de-en-{stage} --set training.max_steps=3 --set " in card
    assert "pairs.de" in card
    assert "mono.de" in card
    assert "mono.en" in card
    spec = ModelFolder.open(tmp_path / "models/first").spec
    assert spec.reverse_weight in confidence.WEIGHTS
    capsys.readouterr()
    trained, scored = [], []
    train_run, evaluate_run = ship.train.run, ship.evaluate.run
    monkeypatch.setattr(ship.train, "run", lambda options: trained.append(options.run.name) or train_run(options))
    monkeypatch.setattr(ship.evaluate, "run", lambda options: scored.append(options.systems) or evaluate_run(options))
    assert ship.main([*arguments, "--to", "models/again"]) == 0
    assert (trained, scored) == ([], [])
    first, again = (tmp_path / "models" / name for name in ("first", "again"))
    for file in ship.FILES:
        assert (first / file).read_bytes() == (again / file).read_bytes()
    shutil.rmtree("prepared/synthetic")  # made again, and so are the same models
    assert ship.main([*arguments, "--to", "models/second"]) == 0
    assert (trained, scored) == (["de-en-2", "en-de-2", "de-en-3"], [])
    assert (tmp_path / "models/second/model.safetensors").read_bytes() == (first / "model.safetensors").read_bytes()
    trained.clear()
    # Another model in a run, and another compressed model than that of the run, are found by their digests.
    shutil.copyfile("runs/de-en-1/model/model.safetensors", "runs/de-en-3/model/model.safetensors")
    assert ship.main([*arguments, "--to", "models/third"]) == 0
    assert (trained, scored) == (["de-en-3"], [])
    shutil.copyfile("runs/de-en-2/model/model.safetensors", "runs/de-en-3/model/model.safetensors")
    assert ship.main(["runs/de-en-3", "--to", "models/fourth"]) == 0
    assert len(scored) == 1
    # A stage whose parent is another model now is named, although its synthetic text is not there.
    shutil.rmtree("runs/de-en-1")
    with (recipe / "de-en-1.toml").open("a", encoding="utf-8") as file:
        file.write("seed = 5\n")
    capsys.readouterr()
    assert ship.main([*arguments, "--to", "models/fifth"]) == 2
    assert "ship: runs/de-en-2: its run began from " in capsys.readouterr().err


@pytest.mark.parametrize(("error", "code"), [(OSError(28, "No space left on device"), 2), (KeyboardInterrupt(), 130)])
def test_a_model_that_is_not_complete_is_not_there(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
) -> None:
    monkeypatch.chdir(place)

    to, copyfile = f"models/cut-{code}", shutil.copyfile

    def cut(source: Path, target: Path) -> None:
        if "cut" in str(target) and source.name == "tokenizer.model":
            raise error
        copyfile(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfile", cut)
        assert ship.main(["runs/x", "--to", to]) == code
    assert not Path(to).exists()
    assert "name a run" not in capsys.readouterr().err
    assert ship.main(["runs/x", "--to", to]) == 0


@pytest.mark.parametrize("changed", [False, True])
def test_the_card_says_if_a_training_had_uncommitted_changes(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: bool
) -> None:
    monkeypatch.chdir(place)
    run = tmp_path / "run"
    shutil.copytree("runs/x", run)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    manifest["starts"][-1]["uncommitted_changes"] = changed
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    line, *_ = ship.training(run)
    assert ("with uncommitted changes, seed 1: 2 updates" in line) == changed


def test_the_card_tells_a_run_of_another_program_from_one_of_this(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    run, notes = tmp_path / "run", ["it read one pair in 3", "its learning rate was constant"]
    shutil.copytree("runs/x", run)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    manifest |= {"program": "loop.py", "notes": notes}
    manifest["starts"][0]["command"] = ["/there/loop.py", "x.toml", "--seconds", "7"]
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    line, *others = ship.training(run)
    assert line.startswith("`loop.py x.toml --seconds 7`, commit ")
    assert others[:2] == notes
    card = "## Training\n\n" + "\n".join(f"- {one}" for one in (line, *others)) + "\n\n## Scores\n"
    assert runs_of(card) == [None]  # a run, whose record is not kept


def test_the_card_names_licences_that_bind_what_is_made_of_the_text() -> None:
    note = ship.licence_note(["CC0", "GPL-2+ / CC BY-SA 3.0", "MIT, AGPL-3"])
    assert ", of which CC BY-SA, GPL, AGPL are copyleft; whether" in note
    assert "copyleft" not in ship.licence_note(["CC0", "CC BY 4.0", "Apache-2.0"])


def test_a_limit_is_the_greatest_with_few_good_translations_under_it() -> None:
    scores = [-0.02 * n - 0.01 for n in range(100)]
    below = [n >= 60 for n in range(100)]

    def share(limit: float) -> float:
        under = [is_below for score, is_below in zip(scores, below, strict=True) if score < limit]
        return sum(under) / len(under)

    found = confidence.limit(scores, below)
    assert share(found) >= confidence.SURE > share(found + confidence.STEP)
    assert confidence.limit(scores, [False] * 100) is None
    assert confidence.limit([0.0] * 100, [True] * 100) is None


def test_limits_that_too_few_sentences_support_are_not_set() -> None:
    assert confidence.limit([-3.0] * 19 + [-0.01] * 50, [True] * 19 + [False] * 50) is None
    assert confidence.limit([-3.0] * 20 + [-0.01] * 50, [True] * 20 + [False] * 50) == -0.05


def test_the_best_hypothesis_has_both_directions_on_its_side() -> None:
    sure = Translation("x", log_prob=-1.0, tokens=("x",), n_segments=1, reverse_log_prob=-4.0)
    right = Translation("y", log_prob=-2.0, tokens=("y",), n_segments=1, reverse_log_prob=-1.0)
    assert confidence.best_of([sure, right], 0.1) is sure
    assert confidence.best_of([sure, right], 0.5) is right
    blank = Translation("")
    assert confidence.best_of([blank], 0.5) is blank


def test_a_corpus_without_a_licence_does_not_ship(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setattr(ship, "licences", lambda: {"words": {"title": "a", "licence": "b", "origin": "c"}})
    assert ship.main(["runs/x", "--to", "models/none", "--weaknesses", "bad.md"]) == 2
    assert "grammar train: has no entry in" in capsys.readouterr().err
    assert not (place / "models" / "none").exists()


def test_every_corpus_of_the_shipped_experiments_has_a_licence() -> None:
    from translate.config.load import load as load_config

    folder = SCRIPTS.parent / "configs"
    chosen = [*(folder / "shipped").glob("*.toml"), folder / "recipes" / "permissive-de-en.toml"]
    assert len(chosen) >= 2
    for config in map(load_config, chosen):
        corpora = ship.corpora(config)
        assert len(corpora) == len({ship.licence_of(name)["title"] for name in corpora}) >= 11


def test_the_record_of_a_run_holds_its_data_cost_and_scores(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses a run written by real training."""
    monkeypatch.chdir(place)
    assert main(["evaluate", "runs/x"]) == 0
    record = record_of(Path("runs/x"))
    manifest = json.loads((place / "runs" / "x" / "manifest.json").read_text(encoding="utf-8"))
    assert record["pairs"] == manifest["data"]["counts"]["kept"] > 70
    assert (record["name"], record["languages"], record["steps"], record["parents"]) == ("x", "de-en", 2, [])
    assert record["scores"]["one"]["lines"] == 30
    assert record["tokens"] > 0
