from __future__ import annotations

import gzip
import io
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from safetensors.numpy import load_file
from transformers import AutoTokenizer

from paraphrastic_hf import packaged_model
from paraphrastic_hf.encoders.storage import locate
from paraphrastic_hf.encoders.storage.packing import scales
from paraphrastic_hf.generation.paraphrase import SyntacticParaphraser
from paraphrastic_hf.generation.templated import TemplatedWriter
from paraphrastic_hf.generation.writing import GenerationOptions
from paraphrastic_hf.syntax.parse_tokens import checked_tree
from paraphrastic_hf.syntax.parse_tree import read_tree, template
from paraphrastic_hf.syntax.parsed import FAILED, ParsedLine
from tests.generation import scpn
from tests.recipes.test_recipe_scripts import script_of

ROWS = [line.split("\t") for line in scpn.PAIRS.read_text(encoding="utf-8").splitlines()]
KNOWN = {row[side]: row[2 + side] for row in ROWS for side in (0, 1)}


class LookUp:
    """Stub of a `SentenceParser` that knows the trees of the made pairs."""

    @classmethod
    def from_pretrained(cls, _: str) -> LookUp:
        return cls()

    def parse(self, lines: Sequence[str]) -> list[ParsedLine]:
        return [
            ParsedLine(line.split(), read_tree(KNOWN[line]))
            if line in KNOWN
            else ParsedLine.without_tree(line.split(), FAILED)
            for line in lines
        ]


@pytest.fixture
def script(monkeypatch):
    def load(name: str, *arguments: Any) -> Any:
        module = script_of(f"scpn-2018/{name}.py")
        monkeypatch.setattr(module, "SentenceParser", LookUp, raising=False)
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        return module

    return load


@pytest.mark.parametrize("suffix", [".tsv", ".csv.gz"])
def test_pairs_get_trees_and_held_out_pairs_are_disjoint(script, tmp_path, suffix):
    path = tmp_path / f"pairs{suffix}"
    pairs = [row[:2] for row in ROWS[:30]] + [["nobody parses", "this one ."], ["x", "y"]]
    if suffix == ".tsv":
        path.write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    else:
        lines = ["source,target", *(f'"{a}","{b}"' for a, b in pairs)]
        path.write_bytes(gzip.compress("\n".join(lines).encode("utf-8")))
    out = tmp_path / "parsed.tsv"
    script("parse_pairs", path, "--parser", "any", "--held-out", 5, "--output", out).main()
    kept, held_out = (
        [line.split("\t") for line in each.read_text(encoding="utf-8").splitlines()]
        for each in (out, tmp_path / "parsed.held-out.tsv")
    )
    assert len(held_out) == 5
    assert len(kept) + 5 <= 30
    assert not {s for row in held_out for s in row[:2]} & {s for row in kept for s in row[:2]}
    for row in kept:
        assert [read_tree(tree) for tree in row[2:]] == [read_tree(KNOWN[s]) for s in row[:2]]


def test_dissimilar_pairs_are_left_out(script, tmp_path):
    path, out = tmp_path / "pairs.tsv", tmp_path / "parsed.tsv"
    near = next(row[:2] for row in ROWS if row[2] != row[3])
    words = set(near[0].split())
    far = [near[0], min(KNOWN, key=lambda text: len(words & set(text.split())))]
    path.write_text("".join("\t".join(pair) + "\n" for pair in (near, far)), encoding="utf-8")
    kept = []
    for options in ([], ["--min-similarity", 0.8]):
        script("parse_pairs", path, "--parser", "any", "--output", out, *options).main()
        kept.append([row.split("\t")[:2] for row in out.read_text("utf-8").splitlines()])
    assert sorted(kept[0]) == sorted([near, far])
    assert kept[1] == [near]


@pytest.mark.slow
def test_control_measures_template_matches(script, tmp_path, capsys):
    models = {kind: scpn.make(kind, tmp_path) for kind in ("scpn", "parse-generator")}
    path, outputs = tmp_path / "pairs.tsv", tmp_path / "right.txt"
    path.write_text("".join("\t".join(row) + "\n" for row in ROWS[:4]), encoding="utf-8")
    outputs.write_text("".join(row[1] + "\n" for row in ROWS[:4]), encoding="utf-8")
    given = [models["scpn"], path, "--generator", models["parse-generator"], "--parser", "any"]
    table = tmp_path / "control.md"
    script("control", *given, "--system", f"right={outputs}", "--output", table).main()
    rows = {
        cells[1]: cells
        for line in capsys.readouterr().out.splitlines()
        if len(cells := [cell.strip() for cell in line.split("|")]) > 5
    }
    assert {"source", "gold parse", "generated parse", "generator alone", "right"} <= set(rows)
    assert rows["system"][2:5] == ["match", "match source", "TED"]
    assert rows["right"][2] == "100.0"
    assert rows["right"][4] == "0.0"
    assert rows["source"][3] == "100.0"
    assert (tmp_path / "control.gold-parse.txt").exists()


def test_the_script_reproduces_the_made_pairs(script, tmp_path):
    made = script("make_pairs")
    made.__file__ = str(tmp_path / "make_pairs.py")
    made.main()
    assert (tmp_path / "pairs.tsv").read_text(encoding="utf-8") == scpn.PAIRS.read_text("utf-8")


SIZE, WIDE, LAYERS = 16, 24, {"encoder": 3, "decoder": 1}


def bergamot_weights(rows: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Return weights with the names and shapes of Marian. Those of float32 end in _b or a norm."""
    shapes = {"Wemb": (rows, SIZE), "decoder_ff_logit_out_b": (1, rows)}
    for side, count in LAYERS.items():
        attention = "self" if side == "encoder" else "context"
        for layer in (f"{side}_l{number + 1}" for number in range(count)):
            shapes |= {f"{layer}_{attention}_W{k}": (SIZE, SIZE) for k in "qkvo"}
            shapes |= {f"{layer}_{attention}_b{k}": (1, SIZE) for k in "qkvo"}
            shapes |= {f"{layer}_ffn_W1": (SIZE, WIDE), f"{layer}_ffn_b1": (1, WIDE)}
            shapes |= {f"{layer}_ffn_W2": (WIDE, SIZE), f"{layer}_ffn_b2": (1, SIZE)}
            norms = [f"{attention}_Wo", "ffn_ffn"]
            if side == "decoder":
                shapes |= {f"{layer}_rnn_W": (SIZE, SIZE), f"{layer}_rnn_Wf": (SIZE, SIZE)}
                shapes |= {f"{layer}_rnn_bf": (1, SIZE)}
                norms += ["rnn_ffn"]
            shapes |= {
                f"{layer}_{norm}_ln_{k}": (1, SIZE) for norm in norms for k in ("scale", "bias")
            }
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def write_marian(path: Path, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Write Marian's binary format, with some matrices as int8. Return the rounded weights."""
    kinds, blocks, rounded = [], [], {}
    for number, (name, numbers) in enumerate(weights.items()):
        if len(numbers) == 1 or (number % 2 and name != "Wemb"):
            kind, data, rounded[name] = 0x404, numbers.tobytes(), numbers
        else:
            scale = np.float32(127 / np.abs(numbers).max())
            bits = np.rint(numbers * scale).astype(np.int8)
            stored = bits if name == "Wemb" else bits.T
            kind, data = 0x4101, stored.tobytes() + struct.pack("<f", scale)
            rounded[name] = bits.astype(np.float32) / scale
        kinds.append(kind)
        blocks.append(data.ljust(-(-len(data) // 256) * 256, b"\0"))
    names = [name.encode() + b"\0" for name in weights]
    with path.open("wb") as file:
        file.write(struct.pack("<2Q", 1, len(weights)))
        for name, kind, block in zip(names, kinds, blocks, strict=True):
            file.write(struct.pack("<4Q", len(name), kind, 2, len(block)))
        file.write(b"".join(names))
        for numbers in weights.values():
            file.write(struct.pack("<2i", *numbers.shape))
        gap = -(file.tell() + 8) % 256
        file.write(struct.pack("<Q", gap) + bytes(gap) + b"".join(blocks))
    return rounded


def bergamot(folder: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """Write a small Bergamot model. Return its weights and the pieces of its vocabulary."""
    folder.mkdir()
    vocabulary = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([row[0] for row in ROWS]),
        model_writer=vocabulary,
        vocab_size=50,
        **{"eos_id": 0, "unk_id": 1, "bos_id": -1, "pad_id": -1, "minloglevel": 2},
    )
    (folder / "vocab.pten.spm").write_bytes(vocabulary.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_proto=vocabulary.getvalue())
    pieces = processor.id_to_piece(list(range(len(processor))))
    assert pieces[:2] == ["</s>", "<unk>"]
    weights = bergamot_weights(len(pieces), np.random.default_rng(0))
    return write_marian(folder / "model.pten.bin", weights), pieces


def test_a_bergamot_model_keeps_its_weights(script, tmp_path):
    weights, pieces = bergamot(tmp_path / "pten")
    text, out = tmp_path / "text.txt", tmp_path / "out"
    text.write_text("the girl wrote a letter .\n" * 25, encoding="utf-8")
    with pytest.raises(SystemExit):
        script("convert_bergamot", tmp_path / "pten", "--output", out).main()
    sizes = []
    for options in (["--every-piece"], [text]):
        script("convert_bergamot", tmp_path / "pten", *options, "--output", out).main()
        tokenizer = AutoTokenizer.from_pretrained(out)
        kept = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        assert [kept[0], kept[1], kept[-1]] == ["<pad>", "<unk>", "</s>"]
        rows = [pieces.index(piece) for piece in kept[1:]]
        sizes.append(len(kept))
        state = load_file(out / "model.safetensors")
        np.testing.assert_array_equal(state["encoder.table.weight"][1:], weights["Wemb"][rows])
        bias = weights["decoder_ff_logit_out_b"][0, rows]
        np.testing.assert_array_equal(state["output.bias"][2:], bias[1:])
    assert sizes[0] == len(pieces) + 1 > sizes[1]
    writer = TemplatedWriter.from_pretrained(out)
    ((written,),) = writer.write(["the girl"], [[""]], GenerationOptions(max_tokens=5))
    assert written[0].ids

    def check(name: str, *parts: str) -> None:
        wanted = np.concatenate([weights[part].T for part in parts])
        np.testing.assert_array_equal(state.pop(name), np.squeeze(wanted))

    def check_dense(name: str, *parts: str) -> None:
        check(f"{name}.weight", *parts)
        biases = [f"{part[:-2]}b{part[-1]}" for part in parts]
        check(f"{name}.bias", *biases)

    def check_norm(name: str, part: str) -> None:
        check(f"{name}.weight", f"{part}_ln_scale")
        check(f"{name}.bias", f"{part}_ln_bias")

    for number in range(3):
        block, layer = f"encoder.blocks.{number}", f"encoder_l{number + 1}"
        check_dense(f"{block}.attention.query", f"{layer}_self_Wq")
        check_dense(f"{block}.attention.key_value", f"{layer}_self_Wk", f"{layer}_self_Wv")
        check_dense(f"{block}.attention.output", f"{layer}_self_Wo")
        check_dense(f"{block}.widen", f"{layer}_ffn_W1")
        check_dense(f"{block}.narrow", f"{layer}_ffn_W2")
        check_norm(f"{block}.attention_norm", f"{layer}_self_Wo")
        check_norm(f"{block}.dense_norm", f"{layer}_ffn_ffn")
    check("blocks.0.candidate.weight", "decoder_l1_rnn_W")
    check_dense("blocks.0.forget", "decoder_l1_rnn_Wf")
    check_dense("encoder.key_value", "decoder_l1_context_Wk", "decoder_l1_context_Wv")
    check_dense("blocks.0.query", "decoder_l1_context_Wq")
    check_dense("blocks.0.output", "decoder_l1_context_Wo")
    check_dense("blocks.0.widen", "decoder_l1_ffn_W1")
    check_dense("blocks.0.narrow", "decoder_l1_ffn_W2")
    for number, part in enumerate(("rnn_ffn", "context_Wo", "ffn_ffn")):
        check_norm(f"blocks.0.norms.{number}", f"decoder_l1_{part}")
    left = {"encoder.table.weight", "encoder.template_table.weight", "output.bias"}
    assert set(state) == left


CLAUSE = "(SBAR (WHADVP (WRB {})) (S (NP (PRP it)) (VP (VBD rained))))"
YEAR = "(PP (IN {}) (NP (CD 1990)))"
MOVED = [  # a sentence with its phrase at the end, the moved sentence, phrase, rest of the tree
    ("She left when it rained.", "When it rained, she left.", CLAUSE, "when", "(PRP {})", "she"),
    ("I left when it rained.", "When it rained, I left.", CLAUSE, "when", "(PRP {})", "I"),
    ("Ann left in 1990!", "In 1990, Ann left!", YEAR, "in", "(NNP {})", "Ann"),
    ("The US left in 1990.", "In 1990, the US left.", YEAR, "in", "(DT {}) (NNP US)", "the"),
    ("NATO left in 1990.", "In 1990, NATO left.", YEAR, "in", "(NN {})", "NATO"),
    ("We left recently.", "Recently, we left.", "(ADVP (RB {}))", "recently", "(PRP {})", "we"),
]


@pytest.mark.parametrize("row", MOVED, ids=[row[0] for row in MOVED])
def test_a_moved_phrase_moves_back(script, row):
    last, first, phrase, word, subject, name = row
    moved, end = script("move_phrases").moved, first[-1]
    upper, capital = ((text[:1].upper() + text[1:]) for text in (word, name))
    at_end = f"(S (NP {subject.format(capital)}) (VP (VBD left) {phrase.format(word)}) (. {end}))"
    at_front = (
        f"(S {phrase.format(upper)} (, ,) (NP {subject.format(name)}) (VP (VBD left)) (. {end}))"
    )
    templates = [str(template(checked_tree(tree))) for tree in (at_end, at_front)]
    assert list(moved(last, at_end)) == [(last, first, *templates)]
    assert list(moved(first, at_front)) == [(first, last, *templates[::-1])]


@pytest.mark.parametrize(
    ("line", "tree"),
    [
        (
            "She lives in Rome.",
            "(S (NP (PRP She)) (VP (VBZ lives) (PP (IN in) (NP (NNP Rome)))) (. .))",
        ),
        ("She left when?", "(S (NP (PRP She)) (VP (VBD left) (SBAR (WRB when))) (. ?))"),
        ("He left.", "(S (NP (PRP She)) (VP (VBD left) (ADVP (RB recently))) (. .))"),
        ("She left recently.", ""),
        ("", ""),
        (
            "When it rained she left.",
            f"(S {CLAUSE.format('When')} (NP (PRP she)) (VP (VBD left)) (. .))",
        ),
    ],
)
def test_other_sentences_do_not_move(script, line, tree):
    assert not list(script("move_phrases").moved(line, tree))


class Cosines:
    """Stub of a `SentenceEncoder` to which the first pair is dissimilar."""

    @classmethod
    def from_pretrained(cls) -> Cosines:
        return cls()

    def similarity_pairwise(self, first: list[str], second: list[str]) -> list[float]:
        return [
            0.7 if list(pair) == ROWS[0][:2] else 0.8 for pair in zip(first, second, strict=True)
        ]


@pytest.mark.parametrize("end", ["\n", ""])
def test_training_pairs_have_different_templates(script, tmp_path, monkeypatch, end):
    last, first, phrase, word, subject, _ = MOVED[0]
    tree = f"(S (NP {subject.format('She')}) (VP (VBD left) {phrase.format(word)}) (. .))"
    given = {
        "lines": [*(row[1] for row in ROWS[:8]), last, ROWS[8][1]],
        "trees": [*(row[3] for row in ROWS[:8]), tree, ROWS[8][3]],
        "back": [*(row[0] for row in ROWS[:8]), "", "not parsed"],
        "back-trees": [*(row[2] for row in ROWS[:8]), "", "(S (NP"],
    }
    for name, lines in given.items():
        (tmp_path / name).write_text("\n".join(lines) + end, encoding="utf-8")
    people = tmp_path / "people.tsv"
    people.write_text(f"{ROWS[1][1]}\t{ROWS[0][1]}\n{last}\tunknown words\n", encoding="utf-8")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "recipes" / "scpn-2018")
    options = [word for name in given for word in (f"--{name}", tmp_path / name)]
    out = tmp_path / "pairs.tsv"
    module = script("paraphrase_pairs", *options, "--people", people, "--output", out)
    monkeypatch.setattr(module, "SentenceEncoder", Cosines)
    module.main()

    def cut(text: str) -> str:
        return str(template(checked_tree(text)))

    plain, fronted = cut(tree), "(ROOT (S (SBAR) (,) (NP) (VP) (.)))"
    wanted = {(a, b, cut(tree)) for a, b, other, tree in ROWS[1:8] if cut(other) != cut(tree)}
    wanted |= {(last, first, fronted), (first, last, plain)}
    both = [(row[1], cut(row[3])) for row in ROWS[:2]]
    wanted |= {(both[1][0], *both[0]), (both[0][0], *both[1])}
    found = [tuple(line.split("\t")) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(found) == len(set(found))
    assert set(found) == wanted


def test_a_packed_paraphraser_loads_within_rounding(script, tmp_path, monkeypatch):
    run = scpn.make("ssru", tmp_path, "--tokenizer.kind", "sentencepiece", "--vocab_size", "60")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "recipes" / "scpn-2018")
    script("pack_paraphraser", run, tmp_path / "assets" / "paraphraser").main()
    stored = load_file(tmp_path / "assets" / "paraphraser" / "model.safetensors")
    monkeypatch.setattr(locate, "ASSETS", tmp_path / "assets")
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "cache"))
    assert packaged_model("paraphraser").is_relative_to(tmp_path / "cache")
    packed, given = (
        SyntacticParaphraser.from_pretrained(parser=list),
        SyntacticParaphraser.from_pretrained(run),
    )
    assert packed.templates == given.templates
    assert packed.templates
    lines = ["the girl wrote a letter ."]
    assert packed.writer.count_tokens(lines) == given.writer.count_tokens(lines)
    weights = given.writer.model.state_dict()
    found = packed.writer.model.state_dict()
    assert found.keys() == weights.keys()
    names = [name.removesuffix(".packed") for name in stored if name.endswith(".packed")]
    assert set(names) == {
        name for name in load_file(run / "model.safetensors") if weights[name].ndim == 2
    }
    for name, wanted in weights.items():
        if wanted.ndim == 1:
            np.testing.assert_array_equal(found[name], wanted)
    for name in names:
        wanted = weights[name].numpy()
        most = scales(stored[f"{name}.packed"]) / 2 + np.abs(wanted) * 2.0**-10  # int8, float16
        assert (np.abs(found[name].numpy() - wanted) <= most).all(), name
