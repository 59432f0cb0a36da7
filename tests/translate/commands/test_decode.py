"""`translate decode`: options reach the engine, and contradictions give a one-sentence error."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.translate.conftest import SENTENCES, random_model
from transformer.config import SearchConfig
from transformer.model import Transformer
from translate.commands.decode import DecodeProcessor
from translate.commands.main import main
from translate.config.schema import TokenizerConfig
from translate.corpus.tokenizer import train
from translate.inference.translator import Translator
from translate.models import folder as model_folder
from translate.models.folder import ModelFolder
from translate.text.translation import Search

LINES = ["der Hund singt im Haus.", "am See"]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, parts: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSLATE_MODEL", str(parts.folder))
    Path("prefixes").write_text("the dog\na\n", encoding="utf-8")
    Path("few").write_text("the dog\n", encoding="utf-8")
    Path("many").write_text("the dog\na\nb\n", encoding="utf-8")
    Path("terms").write_text("Hund\tdog\n", encoding="utf-8")
    Path("bad").write_text("a\tb\tc\n", encoding="utf-8")


def out(arguments: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["decode", *arguments.split(), *LINES]) == 0
    return capsys.readouterr().out.splitlines()


def test_samples_are_those_of_their_seed(capsys: pytest.CaptureFixture[str]) -> None:
    first = out("--sample --seed 3 --temperature 0.8 --top-k 20 --top-p 0.9", capsys)
    assert out("--sample --seed 3 --temperature 0.8 --top-k 20 --top-p 0.9", capsys) == first
    assert out("--sample --seed 4 --temperature 0.8 --top-k 20 --top-p 0.9", capsys) != first
    records = [json.loads(line) for line in out("--sample --json --n-best 3", capsys)]
    assert [(r["source"], len(r["alternatives"])) for r in records] == [(line, 3) for line in LINES]


def test_the_consensus_is_one_of_the_samples(capsys: pytest.CaptureFixture[str]) -> None:
    records = [json.loads(line) for line in out("--sample --json --n-best 5 --seed 2", capsys)]
    for chosen, record in zip(out("--mbr 5 --seed 2", capsys), records, strict=True):
        assert chosen in [sample["text"] for sample in record["alternatives"]]


def test_prefixes_terms_and_alignments_appear_in_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(line.startswith("the") for line in out("--prefix the", capsys))
    for line, prefix in zip(out("--prefixes prefixes", capsys), ("the dog", "a"), strict=True):
        assert line.startswith(prefix)
    assert "dog" in out("--constrain terms", capsys)[0]
    for line in out("--align --no-repeat 2", capsys):
        text, pairs = line.split(" ||| ")
        assert all(int(pair.split("-")[1]) < len(text.split()) for pair in pairs.split())
    assert all("alignment" in json.loads(line) for line in out("--align --json", capsys))


def test_alignments_of_lines_that_end_in_crlf_stay_on_their_line(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    outputs = []
    for end in ("\n", "\r\n"):
        Path("x.de").write_bytes("".join(f"{line}{end}" for line in LINES).encode())
        assert main(["decode", "--align", "--input", "x.de"]) == 0
        outputs.append(capsysbinary.readouterr().out)
    assert outputs[1] == outputs[0].replace(b"\n", b"\r\n")


def test_a_prefix_may_come_from_a_column_of_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("columns").write_text(f"{LINES[0]}\tthe dog\n\n{LINES[1]}\n", encoding="utf-8")
    assert main(["decode", "--prefix-column", "--input", "columns", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["source"] for record in records] == [LINES[0], "", LINES[1]]
    assert records[0]["text"].startswith("the dog")
    (plain,) = [json.loads(line) for line in out("--prefix-column --json", capsys)[1:]]
    assert records[2] == plain


@pytest.mark.parametrize("options", [[], ["--align"]])
def test_lines_with_a_prefix_keep_their_end(options: list[str], capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    outputs = []
    for end in ("\n", "\r\n"):
        lines = [f"{LINES[0]}\tthe dog", "", LINES[1], f"{LINES[1]}\t"]
        Path("columns").write_bytes("".join(f"{line}{end}" for line in lines).encode())
        assert main(["decode", "--prefix-column", *options, "--input", "columns"]) == 0
        outputs.append(capsysbinary.readouterr().out)
    assert outputs[1] == outputs[0].replace(b"\n", b"\r\n")


def test_a_line_in_parts_has_no_alignment(
    parts: ModelFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = replace(parts.model.config, positions="sinusoidal")
    model_folder.save(Transformer(config), parts.tokenizer, parts.spec, Path("endless"))
    monkeypatch.setattr("translate.inference.search.LIMIT", 17)
    arguments = ["decode", "--align", "--model", "endless"]
    assert main([*arguments, LINES[1]]) == 0
    assert main([*arguments, " ".join(LINES * 2)]) == 2
    assert "is longer than the model's limit, so it has no alignment" in capsys.readouterr().err


def test_alternatives_are_tokens_and_translations(capsys: pytest.CaptureFixture[str]) -> None:
    for line in out("--json --alternatives 3 --alternatives-at 1", capsys):
        record = json.loads(line)
        assert len(record["token_alternatives"]) == len(record["tokens"]) + 1
        assert all(len(others) == 3 for others in record["token_alternatives"])
        assert record["alternatives"][0]["text"] == record["text"]
        assert len(record["alternatives"]) == 4
    assert all("alternatives" not in json.loads(line) for line in out("--json --alternatives 2", capsys))


def test_an_ensemble_of_two_equal_models_equals_the_model(
    parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert out(f"--ensemble {parts.folder}", capsys) == out("", capsys)


def test_n_best_lists_are_those_of_the_library(parts: ModelFolder, capsys: pytest.CaptureFixture[str]) -> None:
    records = [json.loads(line) for line in out("--json --n-best 5 --beam 5", capsys)]
    translator = Translator(parts, Search(beam_size=5))
    for record, best in zip(records, translator.n_best(LINES, 5), strict=True):
        assert record["text"] == record["alternatives"][0]["text"]
        assert [a["score"] for a in record["alternatives"]] == [t.score for t in best]
        assert len(best) == 5


def test_the_paper_s_settings_replace_those_of_the_model(
    parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = replace(parts.spec, decoding=SearchConfig())
    expected = [t.score for t in Translator(replace(parts, spec=spec)).translate_lines(LINES)]
    found = [json.loads(line)["score"] for line in out("--paper --json", capsys)]
    assert found == expected
    assert found != [json.loads(line)["score"] for line in out("--json", capsys)]


@pytest.mark.parametrize("option", ["--sample", "--n-best 3", "--paper", "--alpha 1", "--prefix a"])
def test_text_refers_to_decode_for_research_options(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ([], ["text"]):
        assert main([*command, *LINES, *option.split()]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"translate: translate text has no option {option.split()[0]}; use translate decode")
        assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--sample --temperature 0", "--temperature 0.0: must be above 0"),
        ("--sample --temperature -1", "--temperature -1.0: must be above 0"),
        ("--sample --top-p 1.5", "--top-p 1.5"),
        ("--top-k 3", "add --sample"),
        ("--mbr 3 --sample", "leave out --sample"),
        ("--sample --beam 3", "leave out --paper, --beam"),
        ("--sample --constrain terms", "--constrain"),
        ("--sample --coverage 1", "--coverage"),
        ("--coverage -1", " --coverage -1.0: "),
        ("--coverage nan", "--coverage: 'nan' is not a finite number"),
        ("--prefix a --prefixes few", "exclude each other"),
        ("--prefix-column --prefix a", "exclude each other"),
        ("--prefix-column --input tabs", "line 2: has 3 columns"),
        ("--alternatives 2", "add --json"),
        ("--json --alternatives-at 2", "add --alternatives"),
        ("--json --alternatives 2 --alternatives-at 2 --sample", "leave out --sample"),
        ("--json --alternatives 2 --alternatives-at 2 --n-best 2", "leave one out"),
        ("--paper --temperature", "--temperature: expected one argument"),
        ("--paper --beam 3", "leave out --beam"),
        ("--paper --sample", "leave out --paper"),
        ("--prefixes few", "fewer lines"),
        ("--prefixes many", "more lines"),
        ("--prefixes gone", "gone"),
        ("--json --beam 2 --n-best 3", " --n-best 3: a beam of 2"),
        ("--constrain bad", "bad, line 1"),
        ("--length-penalty average --alpha 1", " --alpha 1.0: belongs to the length penalty gnmt"),
        ("--sample --length-penalty none --alpha 1", "belongs to the length penalty gnmt"),
        ("--align --n-best 2", "add --json"),
        ("--ensemble gone", "gone"),
        ("--ensemble other", "another vocabulary"),
    ],
)
def test_mistakes_give_a_one_sentence_error(
    arguments: str, named: str, parts: ModelFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments.endswith("other"):
        tokenizer = train(SENTENCES, TokenizerConfig(vocab_size=320))
        model_folder.save(random_model(tokenizer), tokenizer, parts.spec, Path("other"))
    Path("tabs").write_text("a\tb\na\tb\tc\n", encoding="utf-8")
    lines = [] if "--input" in arguments or arguments.endswith("temperature") else LINES
    assert main(["decode", *arguments.split(), *lines]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["few", "many"])
def test_prefixes_for_another_number_of_lines_are_refused_before_the_search(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("translate.commands.decode.DecodeProcessor.answers", None)
    assert main(["decode", "--prefixes", name, *LINES]) == 2
    assert f"translate: {name}: has {'fewer' if name == 'few' else 'more'} lines than" in capsys.readouterr().err


@pytest.mark.parametrize("options", ["", "--prefixes prefixes", "--json"])
def test_a_byte_order_mark_stays_at_the_beginning(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("plain").write_text("\n".join(LINES), encoding="utf-8")
    Path("marked").write_text("\n".join(LINES), encoding="utf-8-sig")
    for name in ("plain", "marked"):
        assert main(["decode", *options.split(), "--input", name, "--output", f"{name}.out"]) == 0
    plain, marked = (Path(f"{name}.out").read_text(encoding="utf-8") for name in ("plain", "marked"))
    assert marked == ("" if options == "--json" else "\ufeff") + plain


def test_a_resumed_file_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted in the second window and in the third."""
    Path("in").write_text("\n".join(LINES * 5), encoding="utf-8")
    monkeypatch.setattr("translate.text.formats.WINDOW", 6)
    arguments = ["decode", "--prefix", "the", "--align", "--input", "in", "--output"]
    assert main([*arguments, "whole"]) == 0
    answers, n_windows = DecodeProcessor.answers, 0

    def stopping(*given: object) -> object:
        nonlocal n_windows
        n_windows += 1
        for n, answer in enumerate(answers(*given)):  # type: ignore[arg-type]
            if n_windows % 2 == 0 and n == 1:
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(DecodeProcessor, "answers", stopping)
    codes = [main([*arguments, "parts", "--resume"])]
    while codes[-1] and len(codes) < 99:
        codes.append(main([*arguments, "parts", "--resume"]))
    assert codes.count(130) >= 2
    assert Path("parts").read_bytes() == Path("whole").read_bytes()
    begun = Path("parts").read_bytes()
    assert main(["decode", "--prefix", "a", "--align", "--input", "in", "--output", "parts", "--resume"]) == 2
    assert Path("parts").read_bytes() == begun


def test_an_option_of_text_is_pointed_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--terms", "x", "Hallo"]) == 2
    assert "translate decode has no option --terms; use translate text, which has it" in capsys.readouterr().err
