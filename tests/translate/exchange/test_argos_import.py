"""Packages of Argos Translate are added, and translate as Argos Translate does; bad ones are refused."""

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.translate.conftest import SENTENCES
from tests.translate.exchange import packages
from translate.commands.main import main
from translate.corpus.moses_bpe import MosesBpe
from translate.errors import UserError
from translate.exchange.argos_package import ArgosPackage
from translate.inference.translator import Translator
from translate.models.folder import TranslationSpec, Weights
from translate.text.translation import Search

ctranslate2 = pytest.importorskip("ctranslate2")

GERMAN = [*SENTENCES[:90:4], "Das Kind läuft im Garten, im Haus und am See."]
KINDS = [
    "sentencepiece",
    pytest.param(
        "bpe", marks=pytest.mark.skipif("not __import__('importlib').util.find_spec('sacremoses')", reason="no Moses")
    ),
]


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSLATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "models"


def greedy(name: str, texts: list[str]) -> list[str]:
    translator = Translator.load(name, Search(beam_size=1, max_extra=40))
    return [one.text for one in translator.translate_lines(texts)]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["models", "add", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    return error


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_translates_as_ctranslate2_does_with_its_tokenizer(kind: str, models: Path, tmp_path: Path) -> None:
    """Argos Translate: tokenize, translate_batch with replace_unknowns, and join."""
    packages.write(tmp_path / "x.argosmodel", packages.files(tmp_path / "model", SENTENCES, kind))
    assert main(["models", "add", "x.argosmodel"]) == 0
    folder = models / "argos-de-en"
    spec, names = TranslationSpec.load(folder), {path.name for path in folder.iterdir()}
    assert (spec.source, spec.target, spec.decoding.beam_size) == ("de", "en", 4)
    assert names & {"stanza", "metadata.json", "bpe.model"} == set()
    assert "model.bin" in names
    assert Weights.read(folder).precision == "fp32"
    encode, decode = _tokenizer(kind, tmp_path / "x.argosmodel")
    results = [
        ctranslate2.Translator(str(tmp_path / "model")).translate_batch(
            [encode(text)], beam_size=1, replace_unknowns=True, max_decoding_length=len(encode(text)) + 39
        )[0]
        for text in GERMAN
    ]
    expected = [decode(result.hypotheses[0]) for result in results]
    assert [" ".join(text.split()) for text in greedy("argos-de-en", GERMAN)] == expected
    assert len({*expected}) > len(GERMAN) / 2
    assert main(["models", "remove", "argos-de-en"]) == 0


def _tokenizer(kind: str, path: Path) -> tuple[Any, Any]:
    with zipfile.ZipFile(path) as package:
        stored = package.read(f"translate-de_en-1_7/{'bpe' if kind == 'bpe' else 'sentencepiece'}.model")
    if kind == "bpe":
        import sacremoses

        ranks = {tuple(line.split(" ")): i for i, line in enumerate(stored.decode().splitlines()[1:])}
        moses, back = sacremoses.MosesTokenizer("de"), sacremoses.MosesDetokenizer("en")

        def segment(word: str) -> list[str]:
            parts = [*word[:-1], word[-1] + "</w>"]
            while True:
                known = [pair for pair in zip(parts, parts[1:], strict=False) if pair in ranks]
                if not known:
                    break
                best = min(known, key=ranks.__getitem__)
                i = next(i for i, pair in enumerate(zip(parts, parts[1:], strict=False)) if pair == best)
                parts[i : i + 2] = ["".join(best)]
            return [*(f"{part}@@" for part in parts[:-1]), parts[-1].removesuffix("</w>")]

        def encode(text: str) -> list[str]:
            return [part for word in moses.tokenize(text) for part in segment(word)]

        def decode(tokens: list[str]) -> str:
            joined = " ".join(tokens).replace("@@ ", "").removesuffix("@@")
            return " ".join(back.detokenize(joined.split(" ")).split())

        return encode, decode
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=stored)
    return (
        lambda text: processor.encode(text, out_type=str),
        lambda tokens: " ".join(processor.decode_pieces(tokens).split()),
    )


def test_a_package_of_an_older_ctranslate2_is_read(models: Path, tmp_path: Path) -> None:
    """Version 5 of model.bin has the settings in it; there is no config.json, and vocabularies are lines of text."""
    files = packages.files(tmp_path / "model", SENTENCES)
    packages.write(tmp_path / "new.zip", files)
    old = {name: content for name, content in files.items() if name != "model/config.json"}
    old["model/model.bin"] = (5).to_bytes(4, "little") + old["model/model.bin"][4:]
    for side in ("source", "target"):
        words = json.loads(old.pop(f"model/{side}_vocabulary.json"))
        old[f"model/{side}_vocabulary.txt"] = "".join(f"{word}\n" for word in words).encode()
    packages.write(tmp_path / "old.zip", old)
    for name in ("old", "new"):
        assert main(["models", "add", f"{name}.zip"]) == 0
        (models / "argos-de-en").rename(models / name)
    assert greedy(str(models / "old"), GERMAN) == greedy(str(models / "new"), GERMAN)


@pytest.mark.parametrize("kind", KINDS)
def test_all_features_that_need_no_symbols_work(
    kind: str, models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Formatting by attention, scores for reranking and checks; a glossary is refused with its reason."""
    there = packages.files(tmp_path / "there", SENTENCES, kind)
    metadata = {**packages.METADATA, "from_code": "en", "to_code": "de"}
    back = packages.files(tmp_path / "back", SENTENCES, kind, seed=6) | {"metadata.json": json.dumps(metadata).encode()}
    for name, files in (("de-en-tiny", there), ("en-de-tiny", back)):
        packages.write(tmp_path / f"{name}.zip", files)
        assert main(["models", "add", f"{name}.zip", "--name", name]) == 0
    capsys.readouterr()
    assert main(["--model", "de-en-tiny", "--rerank", "en-de-tiny", "der <b>Hund</b> schläft im Haus."]) == 0
    said = capsys.readouterr()
    assert said.out.count("<b>") == said.out.count("</b>") == 1
    assert "without a layer for alignments" not in said.err
    (tmp_path / "terms.tsv").write_text("Hund\tdoggo\n", encoding="utf-8")
    assert main(["--model", "de-en-tiny", "--terms", "terms.tsv", "der Hund"]) == 2
    assert "has no placeholder symbols to hold the terms" in capsys.readouterr().err
    assert main(["decode", "--model", "de-en-tiny", "der Hund"]) == 2
    assert "is a CTranslate2 folder" in capsys.readouterr().err


@pytest.fixture
def argos() -> Iterator[Any]:
    """Argos Translate, with stand-ins for the packages that find the ends of sentences."""
    missing = [name for name in ("stanza", "minisbd") if name not in sys.modules]
    for name in missing:
        sys.modules[name] = ModuleType(name)
    if "minisbd" in missing:
        sys.modules["minisbd"].SBDetect = None  # type: ignore[attr-defined]
        sys.modules["minisbd"].models = ModuleType("models")  # type: ignore[attr-defined]
    try:
        yield pytest.importorskip("argostranslate.translate")
    finally:
        for name in missing:
            del sys.modules[name]


@pytest.mark.parametrize("source", ["de-en", *KINDS])
def test_greedy_output_is_that_of_argos_translate(
    source: str, models: Path, tmp_path: Path, argos: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from translate.exchange.verification import sentences

    texts = sentences("de") if source == "de-en" else GERMAN
    path = tmp_path / "x.argosmodel"
    if source == "de-en":  # a model that has learned to end
        assert main(["export", "de-en", "--out", str(path), "--format", "argos", "--int8"]) == 0
    else:
        packages.write(path, packages.files(tmp_path / "model", SENTENCES, source))
    assert main(["models", "add", str(path)]) == 0
    with zipfile.ZipFile(path) as package:
        package.extractall(tmp_path / "theirs")
    (folder,) = (tmp_path / "theirs").iterdir()
    pkg = argos.Package(folder)
    engine = ctranslate2.Translator(str(folder / "model"), device="cpu")

    class WithLimit:
        """The engine with our limit of the output, which outputs of random weights reach."""

        def translate_batch(self, tokens: list[list[str]], **options: Any) -> Any:
            return engine.translate_batch(tokens, **options, max_decoding_length=len(tokens[0]) + 39)

    class OneSentence:
        def split_sentences(self, text: str) -> list[str]:
            return [text]

    monkeypatch.setattr(argos.settings, "beam_size", 1)
    expected = [argos.apply_packaged_translation(pkg, text, WithLimit(), OneSentence(), 1)[0].value for text in texts]
    ours = greedy("argos-de-en", texts)
    # Where an output is cut off in a word, theirs ends in "@@".
    assert [" ".join(text.split()) for text in ours] == [" ".join(text.split()).removesuffix("@@") for text in expected]
    assert len({*ours}) > len(texts) / 2


def test_a_package_with_a_path_that_leads_out_is_refused(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = packages.files(tmp_path / "model", SENTENCES)
    for name in ("../elsewhere.txt", "model/../../elsewhere.txt", "..\\elsewhere.txt"):
        path = packages.write(tmp_path / "x.argosmodel", files | {name: b"refused"})
        error = refused(capsys, str(path))
        assert "elsewhere.txt" in error
        assert "leads out of the package, so nothing of it was used" in error
    for root in ("/", "C:/"):
        assert "leads out" in refused(capsys, str(packages.write(tmp_path / "x.argosmodel", files, root)))
    link = zipfile.ZipInfo("translate-de_en-1_7/model/link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(packages.write(tmp_path / "x.argosmodel", files), "a") as package:
        package.writestr(link, "config.json")
    assert "which is a link, so nothing of it was used" in refused(capsys, "x.argosmodel")
    assert not [*tmp_path.rglob("*elsewhere*")]
    assert not models.exists() or not any(models.iterdir())


def test_what_is_no_usable_package_is_named(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = packages.files(tmp_path / "model", SENTENCES)
    path = tmp_path / "x.argosmodel"

    def changed(**metadata: object) -> dict[str, bytes]:
        return files | {"metadata.json": json.dumps({**packages.METADATA, **metadata}).encode()}

    def without(*names: str) -> dict[str, bytes]:
        return {name: content for name, content in files.items() if name not in names}

    config = json.loads(files["model/config.json"]) | {"eos_token": "<eos>"}
    for content, sentence in (
        (changed(type="sbd"), "of the kind 'sbd', which does not translate"),
        (changed(from_code=None), "has no from_code"),
        (changed(to_code="../x"), "has no to_code"),
        (changed(to_code="DE"), "translates from de to de"),
        (changed(package_version=["1.7"]), "has the package_version ['1.7'], which is no number or text"),
        (changed(target_prefix="__de__"), "needs a target_prefix"),
        (without("metadata.json"), "has no metadata.json"),
        (without("model/model.bin"), "has no model of CTranslate2"),
        (without("sentencepiece.model"), "has neither sentencepiece.model nor bpe.model"),
        (files | {"metadata.json": b"[1]"}, "holds no object"),
        (files | {"metadata.json": b"{"}, "damaged"),
        (files | {"sentencepiece.model": b"no"}, "x.argosmodel/sentencepiece.model: is not a SentencePiece model"),
        (files | {"model/model.bin": b"short"}, "damaged or truncated"),
        (files | {"model/model.bin": files["model/model.bin"][:-9]}, "cannot load it"),
        (files | {"model/source_vocabulary.json": b"{}"}, "vocabulary is missing or damaged"),
        (files | {"model/config.json": json.dumps(config).encode()}, "has another eos_token"),
    ):
        assert sentence in refused(capsys, str(packages.write(path, content))), sentence
    path.write_bytes(path.read_bytes()[:5000])
    assert "is no zip file, or damaged" in refused(capsys, str(path))
    path.write_bytes(b"")
    assert "is no zip file, or damaged" in refused(capsys, str(path))
    assert not models.exists() or not any(models.iterdir())


def test_an_encrypted_package_is_named_as_one(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = packages.write(tmp_path / "x.argosmodel", packages.files(tmp_path / "model", SENTENCES))
    content = bytearray(path.read_bytes())
    for head, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(head) + flags] |= 1
    path.write_bytes(content)
    error = refused(capsys, str(path))
    assert "is encrypted; unpack it with its password" in error
    assert "ZipInfo" not in error


@pytest.mark.parametrize(
    ("code", "ours"), [("EN", "en"), ("pb", "pt-BR"), ("PT-br", "pt-BR"), ("zt", "zh-Hant"), ("zh_hant", "zh-Hant")]
)
def test_the_codes_of_packages_are_those_that_users_write(code: str, ours: str, tmp_path: Path) -> None:
    metadata = json.dumps({**packages.METADATA, "to_code": code}).encode()
    path = packages.write(tmp_path / "x.zip", {"metadata.json": metadata})
    with ArgosPackage(path, "x.zip") as package:
        assert (package.source, package.target) == ("de", ours)


def test_only_files_that_are_read_are_stored(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = packages.files(tmp_path / "model", SENTENCES)
    packages.write(tmp_path / "x.zip", files | {"model/notes.txt": b"0" * 5000, "model/x_vocabulary.json": b"[]"})
    assert main(["models", "add", "x.zip"]) == 0
    names = {path.name for path in (models / "argos-de-en").iterdir()}
    assert names & {"notes.txt", "x_vocabulary.json"} == set()
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr("translate.exchange.argos_package._MOST_IN_MEMORY", 5000)
        packages.write(tmp_path / "y.zip", files | {"model/config.json": b" " * 5001})
        assert "its model/config.json is larger than 5,000 bytes" in refused(capsys, "y.zip", "--name", "y")
        with zipfile.ZipFile("z.zip", "w", zipfile.ZIP_DEFLATED) as package:
            for name, content in (files | {"model/model.bin": bytes(100_000)}).items():
                package.writestr(f"a/{name}", content)
        assert "its model.bin has 100,000 bytes in " in refused(capsys, "z.zip", "--name", "z")


def test_merges_are_those_of_either_version(tmp_path: Path) -> None:
    for codes, word, expected in (
        (b"#version: 0.2\na b\nab c</w>\n", "abc", ["abc"]),
        (b"#version: 0.2\na b\nab c</w>\n", "abca", ["ab@@", "c@@", "a"]),
        (b"a b\nc </w>\nab c</w>\n", "abc", ["abc"]),
        (b"a b\nc </w>\n", "abca", ["ab@@", "c@@", "a"]),
        (b"#version: 0.2\na a\naa a</w>\n", "aaaa", ["aa@@", "a@@", "a"]),
        (b"#version: 0.2\r\na b\r\nab c</w>\r\n", "abc", ["abc"]),
        ("#version: 0.2\na \x85\na\x85 b</w>\n".encode(), "a\x85b", ["a\x85b"]),
    ):
        assert MosesBpe.of(codes, [], "de", "en")._parts(word) == expected
    for codes in (b"", b"a b c\n", b"\xff"):
        with pytest.raises(UserError, match=r"bpe\.model"):
            MosesBpe.of(codes, [], "de", "en")


def test_the_package_of_a_file_is_closed_and_names_its_model(tmp_path: Path) -> None:
    path = packages.write(tmp_path / "x.zip", packages.files(tmp_path / "model", SENTENCES))
    with ArgosPackage(path, "x.zip") as package:
        assert (package.name, package.version) == ("argos-de-en", "1.7")
    path.unlink()
