"""Both systems: training, releasing, rewriting, saving."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import dplitmus.text
from dplitmus.errors import InputError
from dplitmus.text import networks, saving
from dplitmus.text.adept import ADePT
from dplitmus.text.corpus import generated
from dplitmus.text.data import Dataset
from dplitmus.text.dptext import DPText
from dplitmus.text.ledger import Ledger
from dplitmus.text.releasing import GRID
from dplitmus.text.system import TextSystem

Halves = tuple[Dataset, Dataset]
SMALL: dict[str, Any] = {"hidden": 8, "embedding": 8, "epochs": 1, "least_count": 1}


def accuracy(model: DPText, test: Dataset) -> float:
    guesses = model.predict(model.encode(test.texts))
    return float(np.mean([one == other for one, other in zip(guesses, test.labels or [], strict=True)]))


def test_the_corrected_default_is_small_honest_and_useful(corrected: DPText, halves: Halves) -> None:
    assert corrected.honest
    assert corrected.layer.bound.dimension == 1
    assert accuracy(corrected, halves[1]) > 0.7


def test_a_corrected_release_lies_on_the_grid_and_never_repeats(corrected: DPText, halves: Halves) -> None:
    one, other = (corrected.encode(halves[1].texts) for _ in range(2))
    assert np.array_equal(np.rint(one / GRID), one / GRID)
    assert not np.array_equal(one, other)


def test_published_dptext_releases_half_of_the_numbers_as_they_are(published: DPText, halves: Halves) -> None:
    clean = published.bounded(halves[1].texts)
    released = published.encode(halves[1].texts)
    assert not published.honest
    assert float((released == clean).mean()) == pytest.approx(0.5, abs=0.05)
    assert bool((released >= clean).all())


def test_a_ledger_is_charged_by_honest_models_only(corrected: DPText, published: DPText) -> None:
    ledger = Ledger(15.0)
    corrected.encode("the room was clean", ledger=ledger)
    assert ledger.spent() == 10.0
    with pytest.raises(InputError, match="epsilon=10 must be at most 5"):
        corrected.rewrite("the room was clean", ledger=ledger)
    corrected.privatize("the room was clean", ledger=ledger, epsilon=5.0)
    with pytest.raises(InputError, match="its claim is false"):
        published.encode("the room was clean", ledger=ledger)


def test_the_scale_follows_the_declared_epsilon_not_a_learned_one(halves: Halves) -> None:
    model = DPText(**SMALL, epsilon=4.0, learn_epsilon=True).fit(halves[0].texts, halves[0].labels)
    model.network.layer.raw_epsilon.data.fill_(-20.0)
    z = model.bounded(["the room was clean"] * 4000)
    noise = model.encode(["the room was clean"] * 4000) - z
    assert float(np.abs(noise).mean()) == pytest.approx(2.0 / 4.0, abs=0.06)
    assert len(model.history["epsilon"]) == math.ceil(len(halves[0]) / model.settings.batch_size)


def test_a_learned_epsilon_grows_towards_its_cap(halves: Halves) -> None:
    settings = {**SMALL, "epochs": 12, "batch_size": 16, "learning_rate": 2e-2, "latent": 4, "bound": "box"}
    model = DPText(**settings, epsilon=10.0, learn_epsilon=True).fit(halves[0].texts, halves[0].labels)
    path = model.history["epsilon"]
    assert path[0] + 1 < path[-1] <= 10.0


def test_published_at_epsilon_is_correct_at_epsilon_times_the_root_of_n(adept: ADePT, halves: Halves) -> None:
    """With shared noise, exactly: 16 dimensions, so that the root is 4."""
    wrong = adept.with_sensitivity("published")
    right = adept.with_sensitivity("correct")
    z = torch.from_numpy(adept.bounded(halves[1].texts[:20]))
    for epsilon in (0.5, 10.0, 100.0):
        one, other = (
            model.layer.perturbed(z, torch.tensor(claimed).double(), torch.Generator().manual_seed(7))
            for model, claimed in ((wrong, epsilon), (right, epsilon * 4))
        )
        assert torch.equal(one, other)
        assert wrong.decode(one.numpy()) == right.decode(other.numpy())
    assert wrong.layer.sensitivity * 4 == right.layer.sensitivity
    assert not wrong.honest
    assert right.honest


def test_an_l1_clip_makes_2c_correct() -> None:
    model = ADePT(**SMALL, bound="l1", radius=3.0).fit(generated(60).texts)
    assert model.honest
    assert model.layer.sensitivity == 6.0
    with pytest.raises(InputError, match="be 'l2' as published"):
        ADePT(bound="l1", sensitivity="published")


def test_adept_is_clipped_in_training_and_noised_only_when_rewriting(adept: ADePT, halves: Halves) -> None:
    texts = halves[1].texts[:10]
    norms = np.linalg.norm(adept.bounded(texts), axis=1)
    assert norms.max() <= 1 + 1e-9
    assert adept.decode(adept.bounded(texts)) == adept.decode(adept.bounded(texts))
    assert adept.rewrite(texts, epsilon=1.0) != adept.rewrite(texts, epsilon=1.0)


def test_the_decoder_sees_nothing_but_the_latent_vector(adept: ADePT, halves: Halves) -> None:
    latents = adept.bounded(halves[1].texts[:5])
    swapped = latents[::-1].copy()
    assert adept.decode(swapped) == adept.decode(latents)[::-1]


def test_rewriting_recovers_words_without_noise(adept: ADePT, halves: Halves) -> None:
    rewrites = adept.decode(adept.bounded(halves[0].texts[:50]))
    originals = [set(text.split()) for text in halves[0].texts[:50]]
    written = [set(text.split()) for text in rewrites]
    own = np.mean([len(a & b) / len(a) for a, b in zip(originals, written, strict=True)])
    others = np.mean([len(a & b) / len(a) for a, b in zip(originals, written[1:], strict=False)])
    assert own > others + 0.05


def test_sampled_decoding_varies_and_repeats_with_its_seed(adept: ADePT, halves: Halves) -> None:
    latents = adept.bounded(halves[1].texts[:8])
    one, same, other = (adept.decode(latents, temperature=1.0, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_privatize_is_an_alias(adept: ADePT, corrected: DPText) -> None:
    assert all(isinstance(text, str) for text in adept.privatize(["the room was clean"], epsilon=5.0))
    assert corrected.privatize(["the room was clean"]).shape == (1, 1)


def test_the_same_seed_trains_the_same_model_and_leaves_torch_alone() -> None:
    texts = generated(60).texts
    torch.manual_seed(11)
    before = torch.random.get_rng_state()
    one, other = (ADePT(**SMALL, latent=4).fit(texts) for _ in range(2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert np.array_equal(one.bounded(texts), other.bounded(texts))


def test_several_classes_get_a_small_l1_ball() -> None:
    data = generated(90)
    labels = [f"{a}{b}" for a, b in zip(data.labels or [], data.private["home"], strict=True)]
    model = DPText(**SMALL).fit(data.texts, labels)
    assert (model.layer.bound.dimension, model.layer.bound.kind) == (4, "l1")


@pytest.mark.parametrize("reading", ["zero", "redraw", "one-scalar"])
def test_published_readings_train_with_finite_losses(reading: str) -> None:
    data = generated(90)
    model = DPText(**SMALL, mode="published", reading=reading, latent=6, epsilon=1.0)
    model.fit(data.texts, data.labels, data.private)
    assert all(math.isfinite(loss) for loss in model.history["loss"])
    assert not model.honest


@pytest.mark.parametrize("kind", ["published", "corrected", "adept"])
def test_a_saved_model_is_the_same_model(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, halves: Halves
) -> None:
    model = request.getfixturevalue(kind)
    folder = model.save_pretrained(tmp_path / "model")
    again = type(model).from_pretrained(folder)
    texts = halves[1].texts[:5]
    assert np.array_equal(model.bounded(texts), again.bounded(texts))
    assert again.claim() == model.claim()
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "vocabulary.json",
    ]
    card = (folder / "README.md").read_text()
    assert ("THE CLAIM IS FALSE" in card) == (kind == "published")
    for word in ("declared epsilon", "bound", "sensitivity", "any two texts", "audit"):
        assert word in card


@pytest.fixture
def folder(adept: ADePT, tmp_path: Path) -> Path:
    return adept.save_pretrained(tmp_path / "model")


def changed(folder: Path, **changes: object) -> None:
    """Change the configuration and sign it anew: what lies behind the digest must hold too."""
    config = {**json.loads((folder / "config.json").read_text()), **changes}
    (folder / "config.json").write_text(json.dumps({**config, "digest": saving._digest(config)}))


def test_a_model_of_the_other_system_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="holds a model of adept"):
        DPText.from_pretrained(folder)


def test_another_version_is_refused_by_name(folder: Path) -> None:
    changed(folder, format=2, version="9.9")
    with pytest.raises(InputError, match=r"has format 2 \(dplitmus 9.9\)"):
        dplitmus.text.load(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.json"])
def test_a_tampered_file_is_refused(folder: Path, name: str) -> None:
    data = bytearray((folder / name).read_bytes())
    data[-2] ^= 1
    (folder / name).write_bytes(bytes(data))
    with pytest.raises(InputError, match="was changed after the model was saved"):
        dplitmus.text.load(folder)


@pytest.mark.parametrize("change", [{"audit": {"verdict": "not-found"}}, {"labels": ["b", "a"]}])
def test_a_configuration_that_was_edited_is_refused(folder: Path, change: dict[str, Any]) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(InputError, match=r"config\.json' was changed after the model was saved"):
        dplitmus.text.load(folder)


def test_another_layout_of_the_same_configuration_is_the_same(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(dict(reversed(config.items()))))
    assert dplitmus.text.load(folder).name == "adept"


def test_a_tampered_claim_is_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    changed(folder, claim={**config["claim"], "epsilon": 0.1})
    with pytest.raises(InputError, match=r"the claim in .* was changed"):
        dplitmus.text.load(folder)
    changed(folder, claim=config["claim"], settings={**config["settings"], "epsilon": 0.1})
    with pytest.raises(InputError, match="the saved layer"):
        dplitmus.text.load(folder)


def test_foreign_directories_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no model directory"):
        dplitmus.text.load(tmp_path / "nothing")
    (folder / "config.json").write_text("[1]")
    with pytest.raises(InputError, match="is no model of dplitmus"):
        dplitmus.text.load(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        dplitmus.text.load(folder)


def test_foreign_weights_are_refused(folder: Path) -> None:
    import hashlib

    save_file({"other": torch.zeros(2)}, str(folder / "model.safetensors"))
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    files = json.loads((folder / "config.json").read_text())["files"]
    changed(folder, files={**files, "model.safetensors": digest})
    with pytest.raises(InputError, match="not those of its configuration"):
        dplitmus.text.load(folder)


def test_paths_that_leave_the_directory_are_refused(folder: Path) -> None:
    changed(folder, files={"../../secret": "0"})
    with pytest.raises(InputError, match="DP223"):
        dplitmus.text.load(folder)


def test_a_diverging_training_keeps_the_last_good_weights() -> None:
    data = generated(80)
    settings = {**SMALL, "epochs": 3, "learning_rate": 1e30, "latent": 4}
    for model in (ADePT(**settings), DPText(**settings)):
        with pytest.raises(InputError, match="DP226"):
            model.fit(data.texts, data.labels, data.private)
        assert all(bool(torch.isfinite(weight).all()) for weight in model.network.state_dict().values())


@pytest.mark.parametrize(
    ("texts", "labels", "words"),
    [
        ([], [], "must hold at least one text"),
        (["a b", " "], ["x", "y"], "text 2 is empty"),
        (["a b", "c d"], ["x", "x"], "single class"),
        (["a b", "c d"], ["x"], "1 entries for 2 texts"),
        (["a b"] * 2, None, "needs a task label"),
        (["a b", "c d"], ["x", None], "labels must be strings, and entry 2 is None"),
        (["a b", "c d"], np.array([0, 1]), "labels must be strings, and entry 1 is np.int64"),
        ([1, 2], ["x", "y"], "list of strings"),
        ([" ".join("ab" for _ in range(99)), "ab"], ["x", "y"], "99 tokens, and the limit is 40"),
    ],
)
def test_unusable_training_data_is_refused(texts: list[str], labels: list[str] | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        DPText(**SMALL).fit(texts, labels)


def test_a_text_of_unknown_words_is_refused(corrected: DPText) -> None:
    with pytest.raises(InputError, match="text 2 has no known word: 'zzz qqq'"):
        corrected.encode(["the room", "zzz qqq"])


def test_a_release_for_no_text_per_person_is_refused(corrected: DPText) -> None:
    with pytest.raises(InputError, match="texts_per_person=0 must be at least 1"):
        corrected.encode(["the room"], texts_per_person=0)


def test_a_corrected_min_max_bound_has_its_own_diameter() -> None:
    data = generated(60)
    model = DPText(**SMALL, bound="min-max", latent=3).fit(data.texts, data.labels)
    assert model.honest
    assert model.layer.sensitivity == 3.0
    with pytest.raises(InputError, match="dimension=1 must be at least 2"):
        DPText(**SMALL, bound="min-max", latent=1).fit(data.texts, data.labels)


def test_private_attributes_are_named_columns() -> None:
    with pytest.raises(InputError, match="private of type list must be a dict"):
        DPText(**SMALL).fit(["a b", "c d"], ["x", "y"], ["p", "q"])  # type: ignore[arg-type]


@pytest.mark.parametrize("vectors", [np.zeros((2, 5)), np.zeros(1), np.full((1, 1), np.nan)])
def test_vectors_of_another_model_are_refused(corrected: DPText, vectors: np.ndarray) -> None:
    for use in (corrected.predict, corrected.decode):
        with pytest.raises(InputError, match="must be finite rows of 1 numbers"):
            use(vectors)


def test_an_untrained_model_and_a_missing_device_are_refused() -> None:
    with pytest.raises(InputError, match="not trained"):
        DPText().encode(["a"])
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="device='cuda'"):
            ADePT(device="cuda").fit(["a b", "a c"])


def test_the_frozen_encoder_needs_no_words_and_cannot_rewrite(halves: Halves, tmp_path: Path) -> None:
    pytest.importorskip("wordllama")
    train, test = halves
    model = DPText(encoder="wordllama", epochs=6, learning_rate=1e-2, epsilon=20.0)
    model.fit(train.texts, train.labels, train.private)
    assert accuracy(model, test) > 0.65
    again = DPText.from_pretrained(model.save_pretrained(tmp_path / "model"))
    assert np.array_equal(again.bounded(test.texts[:3]), model.bounded(test.texts[:3]))
    with pytest.raises(InputError, match="has no decoder"):
        model.rewrite(test.texts[:1])


def test_a_missing_encoder_is_a_sentence_with_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from dplitmus.text import frozen

    monkeypatch.setitem(frozen.ENCODERS, "wordllama", frozen.ENCODERS["wordllama"]._replace(module="no_such"))
    frozen._loaded.cache_clear()
    with pytest.raises(InputError, match=r"pip install 'dplitmus\[encoders\]'"):
        frozen.frozen_vectors("wordllama", ["a"])
    frozen._loaded.cache_clear()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epochs": 0}, "epochs=0 must be at least 1"),
        ({"batch_size": -1}, "batch_size=-1 must be at least 2"),
        ({"hidden": 2.5}, "hidden=2.5 must be a whole number"),
        ({"dropout": 1.0}, "dropout=1.0 must be at least 0 and below 1"),
        ({"word_dropout": math.nan}, "word_dropout=nan must be at least 0"),
        ({"latent": 0}, "latent=0 must be at least 1"),
        ({"radius": math.inf}, "radius=inf must be a finite number"),
        ({"seed": -1}, "seed=-1 must be at least 0"),
        ({"device": "tpu"}, "device='tpu' must be one of"),
        ({"bound": "l3"}, "bound='l3' must be one of"),
        ({"epsilonn": 1.0}, "did you mean 'epsilon'"),
    ],
)
def test_settings_are_checked_before_any_training(changes: dict[str, Any], words: str) -> None:
    for system in (DPText, ADePT):
        with pytest.raises(InputError, match=words):
            system(**changes)


def test_the_base_of_both_systems_is_none_itself() -> None:
    with pytest.raises(TypeError, match="abstract"):
        TextSystem(DPText().settings)  # type: ignore[abstract]


def test_a_centred_latent_is_not_stuck_at_the_end_of_its_box() -> None:
    """Latents that have drifted to -7, where the tanh is flat, as one number does now and then."""
    layer = DPText().settings.resolved(2).layer()
    drifted = (torch.linspace(-8.0, -6.0, 64)[:, None]).requires_grad_()
    for centre, moves in ((networks.Centred(1), True), (torch.nn.Identity(), False)):
        drifted.grad = None
        bounded = layer.bounded(centre(drifted))
        bounded.pow(3).sum().backward()
        assert drifted.grad is not None
        assert (float(bounded.detach().std()) > 0.5) is moves
        assert (float(drifted.grad.abs().max()) > 0.1) is moves


def test_only_the_small_default_is_centred() -> None:
    shapes: list[tuple[dict[str, Any], bool]] = [
        ({}, True),
        ({"mode": "published"}, False),
        ({"latent": 32, "bound": "box"}, False),
        ({"latent": 1, "centre": True}, True),
        ({"centre": False}, False),
    ]
    for changes, centred in shapes:
        assert DPText(**changes).settings.resolved(2).centre is centred
