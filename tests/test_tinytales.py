"""The models that come with llmlite: held against transformers and a table of counts, and found in a wheel."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from notebook_files import ROOT
from transformers import AutoModelForCausalLM, AutoTokenizer

import llmlite
from llmlite import LLM, cli, fetch
from llmlite import llm as front_door
from llmlite.fetch import EMBEDDED, FetchError, embedded_path
from llmlite.kv_cache import KVCache
from llmlite.transformer import count_parameters

DATA = ROOT / "data" / "tinytales"
GOLDEN = ROOT / "tests" / "golden_tinytales.json"
END = "<|endoftext|>"
MARGIN = 0.01  # no machine's rounding in float32 comes near it

sys.path.insert(0, str(ROOT / "data"))

import evaluate_tinytales  # noqa: E402


@pytest.fixture(scope="module", params=EMBEDDED)
def model(request: pytest.FixtureRequest) -> LLM:
    return llmlite.load(request.param)


@pytest.fixture(scope="module")
def reference(model: LLM) -> torch.nn.Module:
    return AutoModelForCausalLM.from_pretrained(embedded_path(model.name), dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def stories() -> list[str]:
    return (DATA / "held_out.txt").read_text(encoding="utf-8").split(f"\n{END}\n")[:-1]


def test_the_two_share_one_vocabulary_and_differ_tenfold() -> None:
    large, draft = (llmlite.load(name) for name in EMBEDDED)
    assert embedded_path("tinytales") != embedded_path("tinytales-draft")
    texts = [(embedded_path(name) / "tokenizer.json").read_text(encoding="utf-8") for name in EMBEDDED]
    assert texts[0] == texts[1] and 1000 <= len(large.tokenizer) <= 2000
    sizes = [count_parameters(one.model.config) for one in (large, draft)]
    assert 3e6 <= sizes[0] <= 4e6 and 7 <= sizes[0] / sizes[1] <= 12


def test_every_width_fits_the_block_formats_and_the_folder_is_small(model: LLM) -> None:
    c = model.model.config
    heads = (c.num_attention_heads, c.num_key_value_heads)
    widths = [c.vocab_size, c.hidden_size, c.intermediate_size, *(n * c.head_dim for n in heads)]
    assert all(width % 64 == 0 for width in widths)
    assert sum(file.stat().st_size for file in DATA.rglob("*") if file.is_file()) <= 10e6


def test_logits_agree_with_transformers(model: LLM, reference: torch.nn.Module, stories: list[str]) -> None:
    for story in stories[:8]:
        ids = torch.tensor([model.encode(story)])
        with torch.inference_mode():
            assert (model.model(ids) - reference(ids).logits).abs().max() < 1e-3


def test_the_tokenizer_is_the_one_that_transformers_reads(model: LLM, stories: list[str]) -> None:
    theirs = AutoTokenizer.from_pretrained(embedded_path(model.name))
    for text in [*stories[:50], "Zoë ate 12 crêpes,  twice.\n\tWhy? 'Because'", ""]:
        ids = theirs(text, add_special_tokens=False)["input_ids"]
        assert model.tokenizer.encode(text) == ids
        assert model.tokenizer.decode(ids) == text == theirs.decode(ids, clean_up_tokenization_spaces=False)
    assert theirs.eos_token == END and model.eos_ids == {theirs.eos_token_id}


def test_two_hundred_greedy_tokens(model: LLM, reference: torch.nn.Module) -> None:
    """The committed ids are what this engine says, with a cache and without, and what transformers says at every step."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))[model.name]
    prompt, ids = model.encode(golden["prompt"]), golden["ids"]
    assert len(ids) == 200
    with torch.inference_mode():
        whole = torch.tensor([prompt + ids])
        for logits in (model.model(whole), reference(whole).logits):
            best = logits[0, len(prompt) - 1 : -1].topk(2)
            assert best.indices[:, 0].tolist() == ids
            assert (best.values[:, 0] - best.values[:, 1]).min() > MARGIN
        cache, given, said = KVCache(model.model.config, len(prompt) + 200), prompt, []
        for _ in range(200):
            given = [int(model.model(torch.tensor([given]), cache)[0, -1].argmax())]
            said += given
    assert said == ids
    assert model.generate(golden["prompt"], temperature=0, max_tokens=200).ids == ids[: _end(ids, model)]


def _end(ids: list[int], model: LLM) -> int:
    return next((i for i, token in enumerate(ids) if token in model.eos_ids), len(ids))


# --- the baseline ---


def test_the_n_gram_model_is_a_distribution_and_counts_right() -> None:
    table = evaluate_tinytales.NGram(3, vocab_size=6)
    for row in ([5, 0, 1, 2, 5], [5, 0, 1, 3, 5], [5, 4, 1, 2, 5]):
        table.learn(row)
    for history in [(), (5,), (0, 1), (4, 4), (3, 0, 1)]:
        assert math.isclose(sum(table.probability(history, token) for token in range(6)), 1)
    # by hand: 12 tokens of 6 kinds; after 1 come 2, 3, 2; after (0, 1) come 2, 3
    one = (3 - 1 + 6 * (1 / 6)) / (12 + 6)  # the 2 occurs twice
    two = (2 + 2 * one) / (3 + 2)
    assert math.isclose(table.probability((0, 1), 2), (1 + 2 * two) / (2 + 2))
    steps = table.probability((0,), 1) * table.probability((0, 1), 2)
    assert math.isclose(table.surprise([0, 1, 2]), -math.log(steps))


def test_large_predicts_better_than_draft_and_both_better_than_counts() -> None:
    rows = evaluate_tinytales.held_out()[:40]
    table = evaluate_tinytales.NGram(4, 1536)
    for story in evaluate_tinytales.stories(evaluate_tinytales.SEED, 1000):
        ids = evaluate_tinytales.story_ids(story)
        table.learn([ids[-1], *ids])

    def perplexity(llm: LLM) -> float:
        return evaluate_tinytales.perplexity([evaluate_tinytales.model_surprise(llm, row) for row in rows], rows)

    large, draft = (perplexity(llmlite.load(name)) for name in EMBEDDED)
    assert large < draft < evaluate_tinytales.perplexity(map(table.surprise, rows), rows)


# --- it is always there ---


def _packages(folder: Path) -> set[str]:
    return {path.parent.relative_to(folder).as_posix() for path in (folder / "llmlite").rglob("*.py")}


def test_a_wheel_carries_both_models(tmp_path: Path) -> None:
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(ROOT / "llmlite", source / "llmlite", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "data" / "tinytales", source / "data" / "tinytales")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(source)], check=True, timeout=300)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    assert _packages(site) == _packages(ROOT)
    program = """if True:
        import llmlite
        from llmlite.fetch import EMBEDDED, embedded_path
        for name in EMBEDDED:
            print(embedded_path(name), llmlite.load(name).generate("Once upon a time", max_tokens=2).completion_tokens)
    """
    environment = os.environ | {"PYTHONPATH": str(site), "LLMLITE_HOME": str(tmp_path / "nothing here")}
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [f"{site / 'llmlite' / 'tinytales' / part} 2" for part in ("large", "draft")]


def _no_network(name: str, progress: object = None) -> Path:
    if name in EMBEDDED:
        return embedded_path(name)
    raise FetchError("could not download it")


def test_where_smollm2_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(front_door, "fetch", _no_network)
    with pytest.raises(FetchError, match="could not download"):
        llmlite.load("smollm2")
    assert llmlite.load("smollm2", fallback="tinytales").name == "tinytales"
    assert capsys.readouterr().err == "could not download it. Until then, tinytales takes its place.\n"
    assert cli.main(["generate", "Once upon a time", "--max-tokens", "5", "--seed", "1"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Once upon a time,") and shown.err.startswith("could not download it. Until then, tinytales")
    lines = iter(["Once upon a time", "/exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    assert cli.main(["chat", "--max-tokens", "5", "--seed", "1"]) == 0
    assert "out: 5 tokens" in capsys.readouterr().err


def test_names_and_paths(capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch.fetch("tinytales-draft") == embedded_path("tinytales-draft")
    assert cli.main(["fetch", "tinytales"]) == 0 and Path(capsys.readouterr().out.strip()).is_dir()
    assert cli.main(["info", "tinytales"]) == 2 and "Hugging Face" in capsys.readouterr().err
    with pytest.raises(ValueError, match="smollm2, tinytales, tinytales-draft"):
        llmlite.load("tinytale")


def test_a_story_ends_and_keeps_its_hero() -> None:
    """Ten seeds: most stories reach their end within 300 tokens and name their hero more than once."""
    llm, prompt = llmlite.load("tinytales"), "Once upon a time, there was a little girl named Nora."
    told = [llm.generate(prompt, seed=seed, max_tokens=300) for seed in range(10)]
    assert sum(one.finish_reason == "stop" for one in told) >= 8
    assert sum(len(re.findall(r"\bNora\b", one.text)) >= 2 for one in told) >= 8
