"""dplitmus text on the command line."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dplitmus
from dplitmus import cli, findings
from dplitmus.text.adept import ADePT
from dplitmus.text.corpus import generated
from dplitmus.text.dptext import DPText

TINY = ["--hidden", "8", "--embedding", "8", "--epochs", "1", "--least-count", "1"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.run(["text", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    data = generated(90)
    rows = zip(data.texts, data.labels or [], data.private["home"], strict=True)
    lines = [f"{text},{label},{home}" for text, label, home in rows]
    (tmp_path / "data.csv").write_text("text,label,home\n" + "\n".join(lines) + "\n")
    (tmp_path / "texts.txt").write_text("\n".join(data.texts[:5]) + "\n")
    (tmp_path / "one.txt").write_text(data.texts[0] + "\n")
    return tmp_path


COLUMNS = ["--label-column", "label", "--private-column", "home"]


@pytest.mark.usefixtures("here")
def test_train_encode_rewrite_attack_and_audit(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "train", "dptext", "data.csv", *COLUMNS, *TINY, "--out", "m")
    assert status == 0
    assert "declared epsilon 10" in out
    status, out, _ = run(capsys, "encode", "m", "texts.txt", "--ledger", "ledger.json")
    assert status == 0
    assert len([json.loads(line)["vector"] for line in out.splitlines()]) == 5
    status, _, err = run(capsys, "encode", "m", "texts.txt", "--ledger", "ledger.json")
    assert status == 2
    assert "error[DP224]: epsilon=10 must be at most 0" in err
    status, out, _ = run(capsys, "rewrite", "m", "texts.txt", "--out", "rewrites.txt", "--epsilon", "5")
    assert (status, out) == (0, "")
    assert len(Path("rewrites.txt").read_text().split("\n")) == 6
    status, out, _ = run(capsys, "attack", "m", "data.csv", *COLUMNS, "--json", "attack.json")
    assert status == 0
    assert "linkage, exact" in out
    assert json.loads(Path("attack.json").read_text())["kind"] == "text-attack"
    status, out, _ = run(capsys, "audit", "m", "--samples", "2000", "--seed", "1", "--update-card")
    assert status == 0
    assert "NOT FOUND" in out
    assert "not-found: certified" in Path("m/README.md").read_text()
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.usefixtures("here")
def test_a_published_model_ends_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--mode", "published", "--epsilon", "1", "--latent", "8"]
    status, out, _ = run(capsys, "train", "dptext", "data.csv", *COLUMNS, *TINY, *arguments, "--out", "m")
    assert status == 0
    assert "The claim is false" in out
    status, out, _ = run(capsys, "audit", "m", "--texts", "texts.txt", "--samples", "50000", "--seed", "1")
    assert status == 1
    assert "VIOLATED" in out
    again = shlex.split(out.split("Reproduce:")[1].split("Explain:")[0])
    assert again[:2] == ["dplitmus", "replay"]
    assert cli.run(again[1:]) == 1
    assert capsys.readouterr().out.startswith("The finding stands")
    # Another model in the same place is another mechanism.
    run(capsys, "train", "dptext", "data.csv", *COLUMNS, *TINY, *arguments, "--seed", "9", "--out", "m")
    cli.run(again[1:])
    assert capsys.readouterr().out.startswith("The finding has CHANGED")
    shutil.rmtree("m")
    assert cli.run(again[1:]) == 2
    assert "error[DP223]: 'm' is no model directory" in capsys.readouterr().err


@pytest.mark.parametrize("view", ["vectors", "raw", "texts"])
def test_every_view_of_a_model_can_be_replayed_from_a_page(
    view: str, here: Path, adept: ADePT, capsys: pytest.CaptureFixture[str]
) -> None:
    adept.with_sensitivity("published").save_pretrained(here / "a b")
    asked = ["--view", view, "--epsilon", "1", "--samples", "400", "--seed", "1", "--html", "page.html"]
    run(capsys, "audit", "a b", *asked)
    finding = findings.read("page.html")[0]
    assert finding["target"] == f"text:{view}:a b"
    assert "dplitmus audit text:" not in Path("page.html").read_text()
    replayed = dplitmus.replay("page.html")
    assert replayed.status == "stands"
    assert (replayed.result.mechanism, replayed.result.target) == (finding["mechanism"], finding["target"])


@pytest.mark.parametrize(
    ("target", "code"), [("text:vectors:m", "DP209"), ("text:words:m", "DP201"), ("text:", "DP201")]
)
def test_a_finding_that_is_not_about_this_model_is_refused(
    target: str, code: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["audit", "zoo:adept", "--samples", "300", "--seed", "1", "--json", "f.json"]) in {0, 1}
    (here / "f.json").write_text(json.dumps(json.loads((here / "f.json").read_text()) | {"target": target}))
    capsys.readouterr()
    assert cli.run(["replay", "f.json"]) == 2
    assert f"error[{code}]" in capsys.readouterr().err


def test_a_model_is_audited_by_its_own_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["audit", "text:vectors:m", "--epsilon", "1"]) == 2
    err = capsys.readouterr().err
    assert "error[DP203]: 'text:vectors:m' is a trained model" in err
    assert "dplitmus text audit" in err


@pytest.mark.usefixtures("here")
def test_the_command_to_see_it_again_holds_whatever_was_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(capsys, "train", "dptext", "data.csv", *COLUMNS, *TINY, "--out", "m")
    Path("audit.toml").write_text('text-column = "text"\nalpha = 1e-3\nstop = "never"\n')
    asked = ["--config", "audit.toml", "--texts", "data.csv", "--view", "raw", "--samples", "400"]
    _, first, _ = run(capsys, "audit", "m", *asked, "--epsilon", "3")
    line = first.split("Reproduce:")[1].split("Explain:")[0]
    again = shlex.split(line)
    assert again[:3] == ["dplitmus", "text", "audit"]
    _, second, _ = run(capsys, *again[2:])
    assert second == first
    for word in ("--alpha", "0.001", "--stop", "never", "--view", "raw", "--epsilon", "3.0"):
        assert word in again


@pytest.mark.usefixtures("here")
def test_a_ledger_file_knows_its_own_budget(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "train", "dptext", "data.csv", *COLUMNS, *TINY, "--out", "m")
    first = ["encode", "m", "texts.txt", "--ledger", "l.json"]
    assert run(capsys, *first, "--epsilon", "2", "--budget", "5")[0] == 0
    assert run(capsys, *first, "--epsilon", "3")[0] == 0
    status, _, err = run(capsys, *first, "--epsilon", "1")
    assert status == 2
    assert "epsilon=1 must be at most 0, the rest of the budget 5" in err
    assert run(capsys, *first, "--budget", "6")[2].startswith("error[DP224]: budget=6 must be 5")
    # A new one has the model's epsilon, whatever this release takes of it.
    assert run(capsys, *first[:-1], "new.json", "--epsilon", "4")[0] == 0
    assert json.loads(Path("new.json").read_text())["budget"] == 10.0


def test_a_narrow_terminal_breaks_tables_and_no_data(
    here: Path, corrected: DPText, terminal: Callable[..., tuple[int, str]]
) -> None:
    corrected.save_pretrained(here / "m")
    plain = {"NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "ascii"}
    for command in (["audit", "m", "--samples", "600", "--seed", "1"], ["attack", "m", "data.csv", *COLUMNS]):
        status, shown = terminal("text", *command, **plain)
        assert status == 0
        assert "\x1b" not in shown
        assert max(map(len, shown.split("\n"))) <= 40
    status, shown = terminal("text", "encode", "m", "texts.txt", **plain)
    assert status == 0
    assert len([json.loads(line)["vector"] for line in shown.splitlines()]) == 5


@pytest.mark.usefixtures("here")
def test_a_toml_file_has_the_names_of_the_flags(capsys: pytest.CaptureFixture[str]) -> None:
    Path("adept.toml").write_text('hidden = 8\nembedding = 8\nepochs = 1\nleast-count = 1\nout = "m"\n')
    status, out, _ = run(capsys, "train", "adept", "texts.txt", "--config", "adept.toml", "--latent", "4")
    assert status == 0
    assert "latent size 4" in out
    assert json.loads(Path("m/config.json").read_text())["settings"]["hidden"] == 8
    for content, words in (
        ("hiden = 8", "did you mean 'hidden'"),
        ("epochs = [1, 2]", "gives 'epochs' several values"),
        ('config = "adept.toml"', "sets 'config', which is no option"),
        ("epochs = 'many'", "'many' is not a whole number"),
        ("epochs =", "is not TOML"),
        ("epochs = 1.5", "1.5 is not a whole number"),
        ("epochs = 1e400", "inf is not a whole number"),
        ("epochs = {a = 1}", "gives 'epochs' what no flag can have"),
        ("epsilon = 2026-11-16", "gives 'epsilon' what no flag can have"),
        ("epsilon = 0x" + "f" * 400, "gives 'epsilon' what no flag can have"),
        ("truncate = 2", "gives 'truncate' what no flag can have"),
        ("epochs = " + "9" * 5000, "is not TOML"),
    ):
        Path("adept.toml").write_text(content)
        status, _, err = run(capsys, "train", "adept", "texts.txt", "--config", "adept.toml")
        assert status == 2
        assert words in err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("column", ['"home"', '["home"]'])
def test_what_may_be_repeated_is_one_value_or_a_list_in_toml(
    column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("dptext.toml").write_text(f'private-column = {column}\nlabel-column = "label"\nout = "m"\n')
    assert run(capsys, "train", "dptext", "data.csv", "--config", "dptext.toml", *TINY)[0] == 0
    assert list(json.loads(Path("m/config.json").read_text())["private"]) == ["home"]


@pytest.mark.usefixtures("here")
def test_compare_writes_a_table_json_and_an_offline_page(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--epsilon", "1", "--epochs", "1", "--samples", "300", "--out", "page"]
    status, out, _ = run(capsys, "compare", "data.csv", *COLUMNS, *arguments)
    assert status == 0
    for word in ("dptext", "adept", "published", "corrected", "learned epsilon"):
        assert word in out
    result = json.loads(Path("page/results.json").read_text())
    assert {row["system"] for row in result["rows"]} == {"dptext", "adept"}
    page = Path("page/index.html").read_text()
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert page.count("<figure>") == page.count("<svg") == page.count("<title id=") > 8


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("train dptxt data.csv", "DP201", "system='dptxt' must be one of"),
        ("train dptext", "DP202", "Missing argument 'DATA'"),
        ("train dptext data.csv", "DP221", "needs a task label"),
        ("train dptext data.csv --label-column lable", "DP221", "did you mean 'label'"),
        ("train dptext data.csv --label-column label --sensitivity correct", "DP202", "no option of dptext"),
        ("train adept data.csv --demo", "DP202", "brings its own data"),
        ("train adept texts.txt --max-length 2", "DP222", "the limit is 2"),
        (
            "train adept texts.txt --learning-rate 1e30 --least-count 1 --hidden 8",
            "DP226",
            "lower the learning",
        ),
        ("train adept texts.txt --out texts.txt", "DP206", "cannot write"),
        ("encode nothing texts.txt", "DP223", "is no model directory"),
        ("audit nothing", "DP223", "is no model directory"),
        ("train adept texts.txt --batch-size 1", "DP201", "batch_size=1 must be at least 2"),
        ("train adept one.txt", "DP221", "ADePT needs two texts"),
        (
            "train dptext data.csv --label-column label --private-column label",
            "DP221",
            "column 'label' 2 times",
        ),
        ("compare data.csv", "DP202", "needs --label-column"),
        ("compare data.csv --label-column label --epochs 0", "DP201", "epochs=0 must be at least 1"),
        ("compare --demo --samples 0", "DP201", "samples=0 must be at least 1"),
        ("compare --demo --test-share 2", "DP201", "test_share=2.0 must"),
        ("compare --demo --epsilon -1", "DP201", "epsilon=-1.0 must"),
        ("tran", "DP202", "did you mean 'train'"),
    ],
)
@pytest.mark.usefixtures("here")
def test_bad_input_is_a_coded_error(
    arguments: str, code: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys, *arguments.split())
    assert status == 2
    assert err.startswith(f"error[{code}]")
    assert words in err


def test_a_diverged_training_saves_its_last_good_epoch(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dplitmus.text import training

    calls = iter(range(10**6))
    usual = training.descend

    def late(optimiser: object, loss: object, learning_rate: float) -> None:
        usual(optimiser, loss, learning_rate if next(calls) < 3 else 1e30)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "descend", late)
    status, _, err = run(
        capsys, "train", "adept", "data.csv", *TINY[:4], "--epochs", "9", "--least-count", "1", "--out", "m"
    )
    assert status == 2
    assert "and is saved in 'm'" in err
    assert (here / "m" / "config.json").exists()


def test_a_missing_extra_is_a_sentence_with_the_pip_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib import util

    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "torch" else found(name))
    status, _, err = run(capsys, "compare", "--demo")
    assert status == 2
    assert "error[DP207]: dplitmus text needs torch, which is not installed" in err
    assert "pip install 'dplitmus[text]'" in err


@pytest.mark.parametrize("command", ["train", "encode", "rewrite", "attack", "audit", "compare"])
def test_help_and_usage_errors_need_no_extra(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib import util

    monkeypatch.setattr(util, "find_spec", lambda _name: None)
    status, out, _ = run(capsys, command, "--help")
    assert status == 0
    assert f"dplitmus text {command}" in out
    status, _, err = run(capsys, command, "--no-such-option")
    assert status == 2
    assert "No such option" in err


def test_the_core_imports_nothing_of_torch() -> None:
    code = (
        "import sys, dplitmus, dplitmus.cli, dplitmus.auditing, dplitmus.sanity, dplitmus.report.text; "
        "dplitmus.cli.run(['--help']); dplitmus.cli.run(['text', '--help']); "
        "[dplitmus.cli.run(['text', name, '--help']) for name in ('train', 'audit', 'compare')]; "
        "bad = {'torch', 'sklearn', 'safetensors', 'sacrebleu'} & set(sys.modules); "
        "sys.exit(repr(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_public_names_are_there() -> None:
    import dplitmus.text

    assert dplitmus.text.DPText is DPText
    for name in dplitmus.text.__all__:
        assert getattr(dplitmus.text, name) is not None
    with pytest.raises(AttributeError):
        _ = dplitmus.text.nothing
