"""The commands of `dplitmus text`: train, encode, rewrite, attack, audit, compare.

Takes arguments or a TOML file with the same names; prints, writes, and sets the exit status of the contract.
"""

from __future__ import annotations

import shlex
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplitmus import __version__
from dplitmus.cli import FOUND, Count, Group
from dplitmus.cli import _examples as examples
from dplitmus.cli import _finding_file as finding_file
from dplitmus.cli import _progress as progress_bar
from dplitmus.cli import _say as say
from dplitmus.errors import InputError, bad_value, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from dplitmus.text.data import Dataset
    from dplitmus.text.ledger import Ledger

_DEMO_ROWS = 1200
_DEMO_SETTINGS: dict[str, dict[str, Any]] = {
    "dptext": {"epochs": 8, "least_count": 1},
    "adept": {"epochs": 25, "least_count": 1, "hidden": 96, "latent": 64, "embedding": 48},
}


def _from_toml(ctx: click.Context, _param: click.Parameter, file: str | None) -> str | None:
    """Take defaults of this command from a TOML file; a name that no flag has is refused."""
    if file is None:
        return None
    try:
        found = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        message = f"cannot read {file!r}: {error.strerror}"
        raise InputError(message, code="DP202", help="check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file!r} is not TOML: {error}", code="DP202", help="repair the file") from error
    names = {
        flag.lstrip("-"): option.name
        for option in ctx.command.params
        if isinstance(option, click.Option)
        for flag in option.opts
        if flag.startswith("--")
    }
    for name in found:
        if name.replace("_", "-") not in names:
            hint = did_you_mean(name, names) or f"see  {ctx.command_path} --help"
            raise InputError(f"{file!r} sets {name!r}, which is no option here", code="DP202", help=hint)
    given = {names[name.replace("_", "-")]: value for name, value in found.items()}
    ctx.default_map = {**(ctx.default_map or {}), **{str(name): value for name, value in given.items()}}
    return file


def _options(*options: Callable[..., Any]) -> Callable[..., Any]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_config = click.option(
    "--config", is_eager=True, expose_value=False, callback=_from_toml, help="TOML file with these options."
)
_data = _options(
    click.option("--text-column", default="text", show_default=True, help="Column of the texts."),
    click.option("--label-column", help="Column of the task label."),
    click.option("--private-column", "private_columns", multiple=True, help="Private attribute; repeatable."),
    click.option("--format", "form", help="csv, tsv, jsonl or text. [default: by the suffix]"),
    click.option("--drop-missing", is_flag=True, help="Leave rows with empty cells out."),
)
_release = _options(
    click.option("--epsilon", type=float, help="Epsilon of this release. [default: the model's]"),
    click.option("--ledger", "ledger_file", help="File that remembers what was spent."),
    click.option("--budget", type=float, help="Budget of a new ledger. [default: the model's epsilon]"),
    click.option("--texts-per-person", type=Count(), default=1, show_default=True, help="Each is paid for."),
    click.option("--out", help="File for the result. [default: standard output]"),
)
_THREADS = click.option("--threads", type=Count(), default=1, show_default=True, help="Threads of torch.")


@click.group(
    "text",
    cls=Group,
    epilog=examples(
        "dplitmus text compare --demo",
        "dplitmus text train dptext data.csv --label-column label --private-column gender --out model",
        "dplitmus text audit model",
    ),
)
def text() -> None:
    """DPText and ADePT, as published and corrected: train, attack, audit."""
    from dplitmus.text.extra import require

    require()


def _dataset(
    data: str | None,
    demo: bool,
    columns: dict[str, Any],
) -> tuple[Dataset, str]:
    """The user's data, or the generated corpus; and what to call it."""
    from dplitmus.text.corpus import generated
    from dplitmus.text.data import read

    if demo:
        if data is not None:
            raise click.UsageError("--demo brings its own data: leave DATA out")
        return generated(_DEMO_ROWS), f"generated corpus, {_DEMO_ROWS:,} sentences"
    if data is None:
        raise click.UsageError("Missing argument 'DATA' (a file, - for standard input, or --demo).")
    found = read(data, **columns)
    name = "standard input" if data == "-" else Path(data).name
    return found, f"{name}, {len(found):,} texts"


@text.command(
    epilog=examples(
        "dplitmus text train dptext --demo --out model",
        "dplitmus text train dptext data.csv --label-column label --private-column gender --out m",
        "dplitmus text train adept texts.txt --sensitivity published --out m",
    )
)
@click.argument("system")
@click.argument("data", required=False)
@_config
@_data
@click.option("--demo", is_flag=True, help="Train on the generated corpus.")
@click.option("--out", default="model", show_default=True, help="Directory of the model.")
@click.option("--epsilon", type=float, help="The declared epsilon.")
@click.option("--mode", help="DPText: 'corrected', 'published' or 'unprotected'.")
@click.option("--reading", help="DPText as published: 'zero', 'redraw', or DPNR's 'one-scalar'.")
@click.option("--sensitivity", help="ADePT: 'correct' or 'published'.")
@click.option("--encoder", help="DPText: 'gru', or a frozen 'wordllama' or 'minilm'.")
@click.option("--learn-epsilon", is_flag=True, default=None, help="DPText: train epsilon below its cap.")
@click.option("--latent", type=Count(), help="Numbers in a latent vector.")
@click.option("--bound", help="'l1', 'l2' or 'box'.")
@click.option("--radius", type=float, help="Radius C of the bound.")
@click.option("--hidden", type=Count(), help="Size of the recurrent states.")
@click.option("--embedding", type=Count(), help="Size of word vectors.")
@click.option("--vocabulary", type=Count(), help="Words at most.")
@click.option("--least-count", type=Count(), help="How often a word must occur to be known.")
@click.option("--max-length", type=Count(), help="Tokens of a text at most.")
@click.option("--truncate", is_flag=True, default=None, help="Cut longer texts.")
@click.option("--epochs", type=Count(), help="Passes over the data.")
@click.option("--batch-size", type=Count(), help="Texts per step.")
@click.option("--learning-rate", type=float, help="Peak learning rate.")
@click.option("--adversary", type=float, help="DPText: weight of the private discriminators.")
@click.option("--device", help="'cpu' or 'cuda'.")
@click.option("--seed", type=Count(), help="Same seed, same training (never a release).")
@_THREADS
def train(system: str, data: str | None, demo: bool, out: str, **given: Any) -> int:
    """Train SYSTEM (dptext or adept) on DATA and write a model directory.

    DATA is CSV, TSV, JSON lines, plain text or - for standard input. Train on public texts, or on others than
    those you will release: the guarantee of a release is given for a fixed model.
    """
    from dplitmus import store
    from dplitmus.errors import one_of
    from dplitmus.text.adept import ADePT, ADePTSettings
    from dplitmus.text.dptext import DPText, DPTextSettings

    one_of("system", system, ("dptext", "adept"))
    names = ("text_column", "label_column", "private_columns", "form", "drop_missing")
    columns = {name: given.pop(name) for name in names}
    kind = DPTextSettings if system == "dptext" else ADePTSettings
    wanted = {name: value for name, value in given.items() if value is not None}
    for name in wanted:
        if name not in kind.__dataclass_fields__:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} is no option of {system}", code="DP202", help="leave it out")
    if demo:
        wanted = {**_DEMO_SETTINGS[system], **wanted}
    found, _ = _dataset(data, demo, columns)
    folder = store.prepare_directory(out)
    model: Any = DPText(**wanted) if system == "dptext" else ADePT(**wanted)
    try:
        with progress_bar(model.settings.epochs * len(found), "texts") as progress:
            model.fit(found.texts, found.labels, found.private, progress=progress)
    except InputError as error:
        if error.code == "DP226" and "weights of epoch" in error.help:
            model.save_pretrained(folder)
            error.help += f", and is saved in {str(folder)!r}"
        raise
    model.save_pretrained(folder)
    claim = model.claim()
    say(f"{system}: trained on {len(found):,} texts, loss {model.history['loss'][-1]:.3f}")
    say(
        f"  bound {claim['bound']}, radius {claim['radius']:g}, {claim['dimension']} numbers; sensitivity "
        f"{claim['sensitivity']:g}, declared epsilon {claim['epsilon']:g}"
    )
    if not claim["holds"]:
        say("  The claim is false: a published mistake, or no noise at all. Release nothing with it.")
    say(f"  Written to {folder}: config.json, model.safetensors, README.md")
    say(f"  Audit it:  dplitmus text audit {shlex.quote(str(folder))}")
    return 0


def _ledger(file: str | None, budget: float | None, epsilon: float) -> Ledger | None:
    from dplitmus.text.ledger import Ledger

    if file is None:
        if budget is not None:
            raise click.UsageError("--budget needs --ledger FILE, which remembers it")
        return None
    return Ledger.open(file, epsilon if budget is None else budget)


def _loaded(model: str, threads: int) -> Any:
    import torch

    from dplitmus.errors import whole_number
    from dplitmus.text.saving import load

    torch.set_num_threads(whole_number("threads", threads, least=1, most=1024, help="try threads=1"))
    return load(model)


def _written(out: str | None, content: str) -> None:
    from dplitmus import store

    if out is None:
        say(content.rstrip("\n"))
    else:
        store.write(store.prepare_file(out), content)


@text.command(
    epilog=examples("dplitmus text encode model texts.txt --ledger ledger.json --out vectors.jsonl")
)
@click.argument("model")
@click.argument("data")
@_config
@_data
@_release
@_THREADS
def encode(model: str, data: str, threads: int, **given: Any) -> int:
    """Release one noised vector per text of DATA, as JSON lines.

    A corrected model draws from the operating system's secure source and charges the ledger. Labels are not
    copied to the output: they are not protected.
    """
    import json

    loaded, found, account = _before_release(model, data, threads, given)
    vectors = loaded.encode(
        found.texts,
        epsilon=given["epsilon"],
        ledger=account,
        texts_per_person=given["texts_per_person"],
    )
    _written(given["out"], "".join(json.dumps({"vector": row}) + "\n" for row in vectors.tolist()))
    return 0


@text.command(epilog=examples("dplitmus text rewrite model texts.txt --epsilon 100"))
@click.argument("model")
@click.argument("data")
@_config
@_data
@_release
@click.option("--temperature", type=float, default=0.0, show_default=True, help="0: the likeliest words.")
@_THREADS
def rewrite(model: str, data: str, threads: int, temperature: float, **given: Any) -> int:
    """Rewrite every text of DATA from its noised latent vector, one per line."""
    loaded, found, account = _before_release(model, data, threads, given)
    rewrites = loaded.rewrite(
        found.texts,
        epsilon=given["epsilon"],
        ledger=account,
        texts_per_person=given["texts_per_person"],
        temperature=temperature,
    )
    _written(given["out"], "".join(f"{line}\n" for line in rewrites))
    return 0


def _before_release(
    model: str, data: str, threads: int, given: dict[str, Any]
) -> tuple[Any, Dataset, Ledger | None]:
    from dplitmus import store
    from dplitmus.text.data import read

    loaded = _loaded(model, threads)
    names = ("text_column", "label_column", "private_columns", "form", "drop_missing")
    found = read(data, **{name: given[name] for name in names})
    if given["out"]:
        store.prepare_file(given["out"])
    account = _ledger(given["ledger_file"], given["budget"], given["epsilon"] or loaded.layer.budget)
    return loaded, found, account


@text.command(
    epilog=examples(
        "dplitmus text attack model --demo",
        "dplitmus text attack model data.csv --label-column label --private-column gender",
    )
)
@click.argument("model")
@click.argument("data", required=False)
@_config
@_data
@click.option("--demo", is_flag=True, help="Attack texts of the generated corpus.")
@click.option("--epsilon", type=float, help="Epsilon of the release. [default: the model's]")
@click.option("--seed", type=Count(), default=1, show_default=True, help="Of the split and the attacks.")
@click.option("--json", "json_file", help="Also write the scores to this file.")
@_THREADS
def attack(
    model: str,
    data: str | None,
    demo: bool,
    epsilon: float | None,
    seed: int,
    json_file: str | None,
    threads: int,
    **columns: Any,
) -> int:
    """Attack releases of DATA: labels and private attributes, linkage, rewrites, membership.

    Half of the texts train the attackers, the other half is attacked. A weak attack is no evidence of
    privacy.
    """
    from dplitmus import store
    from dplitmus.report import json
    from dplitmus.text.report import attack_report

    loaded = _loaded(model, threads)
    found, name = _dataset(data, demo, columns)
    file = store.prepare_file(json_file) if json_file else None
    known, attacked = found.split(0.5, seed)
    report = attack_report(loaded, known, attacked, epsilon=epsilon, seed=seed)
    say(f"{loaded.name}: {name}\n")
    say(report.text())
    if file:
        store.write(
            file, json.dumps({"schema": 1, "kind": "text-attack", "version": __version__, **report.plain()})
        )
    return 0


@text.command(
    epilog=examples("dplitmus text audit model", "dplitmus text audit model --texts texts.txt --view texts")
)
@click.argument("model")
@_config
@click.option("--texts", help="File of texts to find the worst pair in. [default: generated ones]")
@click.option("--text-column", default="text", show_default=True, help="Column of the texts.")
@click.option("--epsilon", type=float, help="The claim. [default: the model's]")
@click.option(
    "--view",
    default="vectors",
    show_default=True,
    help="'vectors', 'raw' (no statistics) or 'texts' (rewrites).",
)
@click.option("--samples", type=Count(), default=200_000, show_default=True, help="Releases in all, at most.")
@click.option("--seconds", type=float, help="Stop after so many seconds.")
@click.option("--alpha", type=float, default=1e-6, show_default=True, help="Probability of a false alarm.")
@click.option("--seed", type=Count(), help="Same seed, same result. [default: a fresh one]")
@click.option(
    "--stop", default="violated", show_default=True, help="'violated', or 'never' for the best bound."
)
@click.option("--json", "json_file", help="Also write the result to this file.")
@click.option("--update-card", is_flag=True, help="Write the verdict into the model directory.")
@_THREADS
def audit(
    model: str,
    texts: str | None,
    text_column: str,
    json_file: str | None,
    update_card: bool,
    threads: int,
    **given: Any,
) -> int:
    """Try to refute the declared epsilon of a trained MODEL directory.

    The two texts whose bounded latents are farthest apart are released again and again, and an attacker is
    trained to tell them apart. Exit status: 0 nothing found, 1 violated.
    """
    from dplitmus import store
    from dplitmus.report import json
    from dplitmus.report import text as report
    from dplitmus.text.auditing import audit_model
    from dplitmus.text.corpus import generated
    from dplitmus.text.data import read
    from dplitmus.verdict import Verdict

    loaded = _loaded(model, threads)
    found = read(texts, text_column=text_column).texts if texts else generated(_DEMO_ROWS).texts
    file = store.prepare_file(json_file) if json_file else None
    with progress_bar(given["samples"], "releases") as progress:
        result = audit_model(loaded, found, progress=progress, **given)
    finding = json.dumps(json.audit(result, version=__version__))
    violated = result.verdict is Verdict.VIOLATED
    if file is None and violated:
        file = finding_file(result.mechanism, finding)
    if file:
        store.write(file, finding)
    if update_card:
        loaded.save_pretrained(model)
    again = ["dplitmus", "text", "audit", model, *(["--texts", texts] if texts else [])]
    again += ["--view", given["view"], "--samples", str(given["samples"]), "--seed", str(result.seed)]
    again += ["--epsilon", str(given["epsilon"])] * (given["epsilon"] is not None)
    say(report.audit(result, reproduce=shlex.join(again)))
    return FOUND if violated else 0


@text.command(
    epilog=examples(
        "dplitmus text compare --demo",
        "dplitmus text compare data.csv --label-column label --private-column gender --epsilon 1",
    )
)
@click.argument("data", required=False)
@_config
@_data
@click.option("--demo", is_flag=True, help="Compare on the generated corpus, in about three minutes.")
@click.option("--system", "systems", multiple=True, help="dptext or adept; repeatable. [default: both]")
@click.option(
    "--epsilon",
    "epsilons",
    type=float,
    multiple=True,
    help="Repeatable. [default: 1, 10, 100; demo: 1, 3, 10]",
)
@click.option("--reading", default="zero", show_default=True, help="DPText as published: 'zero' or 'redraw'.")
@click.option("--epochs", type=Count(), help="Passes over the data, for both systems.")
@click.option("--truncate", is_flag=True, help="Cut texts that are too long.")
@click.option("--test-share", type=float, default=0.3, show_default=True, help="Held back and released.")
@click.option("--samples", type=Count(), help="Releases per audit. [default: 200,000; demo: 20,000]")
@click.option("--seed", type=Count(), default=1, show_default=True, help="Of split, training and audits.")
@click.option("--out", default="text-compare", show_default=True, help="Directory of the page.")
@_THREADS
def compare(
    data: str | None,
    demo: bool,
    systems: tuple[str, ...],
    epsilons: tuple[float, ...],
    test_share: float,
    samples: int | None,
    seed: int,
    out: str,
    **given: Any,
) -> int:
    """Published and corrected side by side: one table, and one offline page with plots.

    Exit status: 1 if a corrected system was refuted, and 0 otherwise (the published ones are expected to be).
    """
    from dplitmus import store
    from dplitmus.errors import one_of, positive_number
    from dplitmus.text import page
    from dplitmus.text.adept import ADePTSettings
    from dplitmus.text.comparing import Plan
    from dplitmus.text.comparing import compare as run
    from dplitmus.text.dptext import DPTextSettings

    chosen = tuple(one_of("system", name, ("dptext", "adept")) for name in systems) or ("dptext", "adept")
    claims = sorted({positive_number("epsilon", value) for value in epsilons}) or (
        [1.0, 3.0, 10.0] if demo else [1.0, 10.0, 100.0]
    )
    if not 0 < test_share < 1:
        raise bad_value("test_share", test_share, "be between 0 and 1", help="try --test-share 0.3")
    names = ("text_column", "label_column", "private_columns", "form", "drop_missing")
    found, name = _dataset(data, demo, {key: given.pop(key) for key in names})
    if found.labels is None and "dptext" in chosen:
        raise click.UsageError("DPText needs --label-column (or --system adept alone)")
    shared = {"seed": seed, "threads": given["threads"], "truncate": given["truncate"]}
    shared |= {"epochs": given["epochs"]} if given["epochs"] else {}
    folder = store.prepare_directory(out)
    train_set, test_set = found.split(test_share, seed)
    plan = Plan(
        train=train_set,
        test=test_set,
        epsilons=claims,
        dptext=DPTextSettings(
            **{**(_DEMO_SETTINGS["dptext"] if demo else {}), **shared}, reading=given["reading"]
        ),
        adept=ADePTSettings(**{**(_DEMO_SETTINGS["adept"] if demo else {}), **shared}),
        samples=samples or (20_000 if demo else 200_000),
        seed=seed,
        tell=_step,
    )
    command = shlex.join(["dplitmus", *sys.argv[1:]])
    comparison = run(plan, systems=chosen, data=name, command=command)
    say(page.table(comparison))
    store.write(folder / "results.json", page.as_json(comparison, version=__version__))
    store.write(folder / "index.html", page.index_html(comparison))
    say(f"\n{comparison.seconds:.0f} s. Written to {folder}: results.json")
    say(f"Open {folder / 'index.html'}")
    return FOUND if comparison.accused else 0


def _step(words: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"  {words}", err=True)
