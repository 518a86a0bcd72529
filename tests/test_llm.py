"""The front door: on scripted models, on a random Hugging Face folder, and on SmolLM2 against transformers."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer as RustTokenizer
from tokenizers import decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import llmlite
from llmlite.chat import ChatTemplate
from llmlite.gguf import ModelFileError
from llmlite.llm import LLM, Stream, ms_per_token
from llmlite.tokenizer import Tokenizer
from llmlite.transformer import Config

Scripted = Callable[..., LLM]
END, TURN = 257, 258


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


# --- how a completion ends (B08) ---


@pytest.mark.parametrize("end", [END, TURN])
def test_any_of_the_end_tokens_ends_the_answer(scripted: Scripted, end: int) -> None:
    done = scripted([*b"hi", end, *b"never"], eos_ids=frozenset({END, TURN})).generate("x", temperature=0)
    assert (done.text, done.ids, done.finish_reason) == ("hi", list(b"hi"), "stop")
    assert (done.prompt_tokens, done.completion_tokens) == (1, 2)


def test_without_an_end_token_the_answer_ends_with_max_tokens(scripted: Scripted) -> None:
    done = scripted([*b"hi there"], eos_ids=frozenset({END})).generate("abc", temperature=0, max_tokens=5)
    assert (done.text, done.finish_reason, done.prompt_tokens, done.completion_tokens) == ("hi th", "length", 3, 5)


def test_an_end_token_at_once_gives_an_empty_answer(scripted: Scripted) -> None:
    done = scripted([END], eos_ids=frozenset({END})).generate("x")
    assert (done.text, done.ids, done.finish_reason, done.decode_ms_per_token) == ("", [], "stop", 0.0)


def test_a_control_token_that_is_no_end_token_is_text(scripted: Scripted) -> None:
    assert scripted([TURN, ord("a")]).generate("x", max_tokens=2).text == "<turn>a"


@pytest.mark.parametrize("max_tokens", [61, 62, 1000, None])
def test_the_context_ends_the_answer(tiny: LLM, max_tokens: int | None) -> None:
    done = LLM(tiny.model, tiny.tokenizer).generate([1, 2, 3], max_tokens=max_tokens)
    assert (done.completion_tokens, done.finish_reason) == (61, "length")


@pytest.mark.parametrize("length", [64, 65])
def test_a_prompt_that_fills_the_context_is_refused_before_the_first_piece(tiny: LLM, length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} tokens.*context of 64"):
        tiny.stream([1] * length)


# --- stop strings ---


@pytest.mark.parametrize(
    ("said", "stop", "text", "count"),
    [
        (b"one\ntwo", "\n", "one", 4),
        (b"say <stop> x", "<stop>", "say ", 10),
        (b"a then b", ["b", "the"], "a ", 5),
        (b"abcd", ["abcd", "bc"], "a", 3),
        ("좋아요 끝".encode(), "끝", "좋아요 ", 13),
    ],
)
def test_text_ends_before_a_stop_string_that_spans_tokens(
    scripted: Scripted, said: bytes, stop: Any, text: str, count: int
) -> None:
    done = scripted([*said, *b"....."]).generate("x", stop=stop, max_tokens=20)
    assert (done.text, done.finish_reason, done.completion_tokens) == (text, "stop", count)


def test_the_beginning_of_a_stop_string_is_text_where_the_rest_does_not_come(scripted: Scripted) -> None:
    done = scripted([*b"a <sto", END], eos_ids=frozenset({END})).generate("x", stop="<stop>")
    assert done.text == "a <sto"


def test_a_stop_string_within_one_token_is_found(scripted: Scripted) -> None:
    assert scripted([ord("t"), 256, ord("n")]).generate("x", stop=["e"], max_tokens=3).text == "th"


def test_a_stop_string_in_what_the_decoder_held_back_counts(scripted: Scripted) -> None:
    done = scripted([ord("a"), 0xE2]).generate("x", stop="\ufffd", max_tokens=2)
    assert (done.text, done.finish_reason) == ("a", "stop")


# --- streaming ---


def test_pieces_join_to_the_text_and_fill_the_completion_up(scripted: Scripted) -> None:
    stream = scripted([*"hé 😀 안녕".encode(), END], eos_ids=frozenset({END})).stream("x")
    assert isinstance(stream, Stream) and stream.completion.text == ""
    pieces = []
    for piece in stream:
        pieces.append(piece)
        assert stream.completion.text == "".join(pieces)
    assert pieces == ["h", "é", " ", "😀", " ", "안", "녕"]


@pytest.mark.parametrize("options", [{"seed": 1}, {"seed": 2, "stop": ["a", "�"]}, {"seed": 3, "temperature": 2.0}])
def test_streaming_equals_generating(tiny: LLM, options: dict[str, Any]) -> None:
    stream, done = tiny.stream("hello", **options), tiny.generate("hello", **options)
    assert "".join(stream) == stream.completion.text == done.text
    assert (stream.completion.ids, stream.completion.finish_reason) == (done.ids, done.finish_reason)


def test_bytes_that_are_not_text_become_replacement_characters(scripted: Scripted) -> None:
    done = scripted([0xE2, 0x82, ord("x"), 0xE2]).generate("x", max_tokens=4)
    assert done.text == "\ufffdx\ufffd" == bytes(done.ids).decode(errors="replace")


def test_times_are_counted_per_phase(tiny: LLM) -> None:
    done = LLM(tiny.model, tiny.tokenizer).generate([1] * 20, max_tokens=9)
    assert done.decode_steps == 8 and done.prefill_seconds > 0 and done.decode_seconds > 0
    assert done.prefill_ms_per_token == pytest.approx(1000 * done.prefill_seconds / 20)
    assert done.decode_ms_per_token == pytest.approx(1000 * done.decode_seconds / 8)
    assert ms_per_token(1.0, 0) == 0.0


# --- no state between calls (B27, B33) ---


def test_each_call_starts_afresh(tiny: LLM) -> None:
    alone = tiny.generate("second", seed=1).ids
    tiny.generate("first", seed=2)
    assert tiny.generate("second", seed=1).ids == alone
    half = iter(tiny.stream("first", seed=2))
    next(half)
    assert tiny.generate("second", seed=1).ids == alone


def test_two_streams_at_once_do_not_disturb_each_other(tiny: LLM) -> None:
    alone = [tiny.generate(text, temperature=0, max_tokens=20).text for text in ("one", "two")]
    streams = [tiny.stream(text, temperature=0, max_tokens=20) for text in ("one", "two")]
    iterators = [iter(stream) for stream in streams]
    while any([next(iterator, None) is not None for iterator in iterators]):  # noqa: C419 (all of them take a step)
        pass
    assert [stream.completion.text for stream in streams] == alone


# --- what is refused ---


@pytest.mark.parametrize("call", ["stream", "generate", "chat"])
def test_an_unknown_option_is_refused_by_name(tiny: LLM, call: str) -> None:
    with pytest.raises(ValueError, match="no option is called 'temprature'; known: temperature, top_k"):
        getattr(tiny, call)("x", temprature=0.5)


@pytest.mark.parametrize("options", [{"temperature": -1}, {"top_p": 0}, {"max_tokens": 0}, {"stop": ""}, {"stop": None}])
def test_a_bad_option_is_refused_before_the_first_piece(tiny: LLM, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        tiny.stream("x", **options)


@pytest.mark.parametrize("ids", [[-1], [259], [271], [10**12], [1.5], [1, 1.0], [True], [1, None], [1, "2"]])
def test_ids_that_the_vocabulary_lacks_are_refused(tiny: LLM, ids: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"token id .* is not a whole number from 0 to 258"):
        tiny.stream(ids)


TEMPLATE = ChatTemplate("{% for m in messages %}<turn>{{ m.content }}{% endfor %}<turn>")


@pytest.mark.parametrize("template", [None, TEMPLATE])
@pytest.mark.parametrize("prompt", ["", [], ()])
def test_an_empty_prompt_is_refused_before_the_first_piece(tiny: LLM, prompt: Any, template: ChatTemplate | None) -> None:
    with pytest.raises(ValueError, match="the prompt is empty"):
        LLM(tiny.model, tiny.tokenizer, template).stream(prompt)


def test_an_empty_prompt_starts_from_the_beginning_token_where_there_is_one(tiny: LLM) -> None:
    tokenizer = Tokenizer.from_merges([], control=("<s>",))
    tokenizer.bos_id, tokenizer.add_bos = 256, True
    done = LLM(tiny.model, tokenizer).generate("", max_tokens=3)
    assert (done.prompt_tokens, done.completion_tokens) == (1, 3)


@pytest.mark.parametrize("prompt", [" ", "\n", "\t \u3000"])
def test_white_space_is_a_prompt(tiny: LLM, prompt: str) -> None:
    assert tiny.generate(prompt, max_tokens=1).prompt_tokens == len(prompt.encode())


@pytest.mark.parametrize("messages", [None, 5, {"role": "user", "content": "hi"}, ["hi"], [{"role": "user"}], [user(None)]])
def test_messages_of_a_wrong_kind_are_refused(tiny: LLM, messages: Any) -> None:
    llm = LLM(tiny.model, tiny.tokenizer, TEMPLATE)
    for call in (llm.chat, llm.generate, llm.stream):
        with pytest.raises(ValueError, match="message"):
            call(messages)


def test_a_model_without_a_template_says_so(tiny: LLM) -> None:
    with pytest.raises(ValueError, match="tiny has no chat template; give it a text"):
        tiny.chat("hi")


def test_a_text_in_chat_is_one_message_from_the_user(tiny: LLM) -> None:
    llm = LLM(tiny.model, tiny.tokenizer, TEMPLATE)
    assert llm.chat("<turn>", seed=1).ids == llm.chat([user("<turn>")], seed=1).ids
    assert llm.encode([user("<turn>")]) == [TURN, *b"<turn>", TURN]


# --- loading ---


@pytest.mark.parametrize("name", ["no-such-model", "/no/such/file.gguf", Path("nowhere") / "model.gguf", ""])
def test_what_is_not_there_is_refused_with_the_known_names(name: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"smollm2|config\.json|tokenizer\.json"):
        llmlite.load(name)


@pytest.mark.parametrize("device", ["cuda:99", "nonsense"])
def test_a_device_that_is_not_there_is_refused(folder: Path, device: str) -> None:
    with pytest.raises(ValueError, match=f"device '{device}' cannot be used"):
        llmlite.load(folder, device=device)


TEXTS = ["the cat sat on the mat", "a dog and a cat", "한국어 문장도 있다", "def f(x): return x + 1", "0123456789"] * 3


@pytest.fixture(scope="module")
def reference() -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """A random Llama and a tokenizer trained on a few lines, both built by Hugging Face's libraries."""
    rust = RustTokenizer(models.BPE())
    rust.pre_tokenizer, rust.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>", "<end>"]
    rust.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=320, initial_alphabet=alphabet, special_tokens=special))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=rust, bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = "{% for m in messages %}{{ bos_token }}{{ m.content }}{{ eos_token }}{% endfor %}"
    torch.manual_seed(0)
    shape = {"hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 6}
    config = LlamaConfig(vocab_size=320, num_key_value_heads=2, max_position_embeddings=128, initializer_range=0.3, **shape)
    return LlamaForCausalLM(config).eval(), tokenizer


@pytest.fixture(scope="module")
def saved(reference: tuple[LlamaForCausalLM, PreTrainedTokenizerFast], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hf") / "a model 모델"
    model, tokenizer = reference
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy of the saved folder, to be changed at will."""
    return Path(shutil.copytree(saved, tmp_path / "model"))


def edit(path: Path, **changes: Any) -> None:
    spec = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.write_text(json.dumps({k: v for k, v in (spec | changes).items() if v != "gone"}), encoding="utf-8")


def greedy(model: LlamaForCausalLM, ids: list[int], count: int, ends: list[int] | None = None) -> list[int]:
    options = {"do_sample": False, "use_cache": True, "eos_token_id": ends, "pad_token_id": 0}
    with torch.inference_mode():
        new = model.generate(torch.tensor([ids]), max_new_tokens=count, **options)[0, len(ids) :].tolist()
    return new[:-1] if ends and new[-1] in ends else new


def test_a_folder_generates_what_transformers_generates(reference: Any, folder: Path) -> None:
    model, tokenizer = reference
    llm = llmlite.load(folder)
    llm.eos_ids = frozenset()
    for text in ("the cat", "한국어 and 😀", "  0123"):
        ids = llm.encode(text)
        assert ids == tokenizer(text)["input_ids"]
        assert llm.generate(text, temperature=0, max_tokens=40).ids == greedy(model, ids, 40)


@pytest.mark.parametrize(
    ("config", "generation", "expected"),
    [
        (None, [1, 2], {1, 2}),
        (None, 2, {1, 2}),
        ([0, 2], None, {0, 1, 2}),
        (0, 2, {0, 1, 2}),
        (None, None, {1}),
    ],
)
def test_every_end_token_that_a_folder_names_counts(config: Any, generation: Any, expected: set[int], folder: Path) -> None:
    edit(folder / "config.json", eos_token_id=config)
    edit(folder / "generation_config.json", eos_token_id=generation)
    assert llmlite.load(folder).eos_ids == expected


def test_a_named_end_token_ends_the_answer_as_in_transformers(reference: Any, folder: Path) -> None:
    model, _ = reference
    ids = llmlite.load(folder).encode("the cat")
    free = greedy(model, ids, 40)
    end = next(token for n, token in enumerate(free) if n > 3 and token not in free[:n])
    edit(folder / "generation_config.json", eos_token_id=[2, end])
    done = llmlite.load(folder).generate("the cat", temperature=0, max_tokens=40)
    assert (done.ids, done.finish_reason) == (greedy(model, ids, 40, [2, end]), "stop")
    assert end not in done.ids and len(done.ids) > 3


def test_a_folder_without_optional_files_loads(folder: Path) -> None:
    for name in ("generation_config.json", "tokenizer_config.json", "chat_template.jinja", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    llm = llmlite.load(folder)
    assert (llm.template, llm.name) == (None, "model")
    assert llm.generate("the cat", max_tokens=2).completion_tokens <= 2


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_without_a_needed_file_names_it(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelFileError, match=name.removeprefix("model")):
        llmlite.load(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"model": {}}', '{"model": 5}', '{"model": {"vocab": [], "merges": 3}}'])
def test_a_damaged_tokenizer_file_is_a_model_file_error(folder: Path, text: str) -> None:
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError, match="tokenizer"):
        llmlite.load(folder)


@pytest.mark.parametrize("spelling", ["jinja file", "config text"])
def test_the_template_of_a_folder_is_found_in_either_place(reference: Any, folder: Path, spelling: str) -> None:
    _, tokenizer = reference
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    if spelling == "jinja file":
        (folder / "chat_template.jinja").write_text(tokenizer.chat_template, encoding="utf-8")
    else:
        edit(folder / "tokenizer_config.json", chat_template=tokenizer.chat_template)
    messages = [user("the cat"), user("</s> 한국어")]
    assert llmlite.load(folder).encode(messages[:1]) == tokenizer.apply_chat_template(messages[:1], return_dict=False)
    assert llmlite.load(folder).encode(messages).count(1) == 2


@pytest.mark.parametrize("add", [True, False])
@pytest.mark.parametrize("token", ["<s>", {"content": "<s>", "lstrip": False}])
def test_one_beginning_token_where_the_folder_asks_for_it(folder: Path, add: bool, token: Any) -> None:
    edit(folder / "tokenizer_config.json", add_bos_token=add, bos_token=token)
    llm = llmlite.load(folder)
    assert llm.encode("the")[:1] == ([0] if add else llm.tokenizer.encode("the")[:1])
    assert llm.encode([user("the")]).count(0) == 1


def test_a_model_is_loaded_in_the_precision_asked_for(folder: Path) -> None:
    llm = llmlite.load(folder, dtype=torch.bfloat16)
    assert llm.dtype == torch.bfloat16 and llm.device.type == "cpu"
    assert llm.generate("the cat", max_tokens=3).prompt_tokens > 0


# --- SmolLM2 against transformers ---

SHAPE = [name for name in Config.__annotations__ if name not in ("attention_bias", "output_bias", "qk_norm", "rope_scaling")]
LONG = " ".join(f"Line {n}: the {'red' if n % 2 else 'blue'} fox number {n * n} jumps over {n + 3} dogs." for n in range(1, 28))
PROMPTS = [
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "1, 2, 3, 4, 5, 6,",
    [user("Why is the sky blue?")],
    LONG,
]


@pytest.fixture(scope="session")
def hf_smollm2(smollm2: LLM) -> LlamaForCausalLM:
    """transformers' Llama on the very tensors of our model, which are not copied."""
    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig(**{name: getattr(smollm2.model.config, name) for name in SHAPE}))
    weights = {f"model.{name}": tensor for name, tensor in smollm2.model.state_dict().items()}
    missing, unexpected = model.load_state_dict(weights, strict=False, assign=True)
    assert missing in ([], ["lm_head.weight"]) and not unexpected
    model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(model.config)
    return model.eval()


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: str(prompt)[:16])
def test_smollm2_says_what_transformers_says(smollm2: LLM, hf_smollm2: LlamaForCausalLM, prompt: Any) -> None:
    ids = smollm2.encode(prompt)
    assert len(ids) >= 500 or prompt is not LONG
    done = smollm2.generate(prompt, temperature=0, max_tokens=64)
    with torch.inference_mode():
        logits = hf_smollm2(torch.tensor([ids + done.ids])).logits[0, len(ids) - 1 :]
    likeliest = logits.argmax(-1).tolist()  # at every step, after the same ids
    assert done.ids == likeliest[:-1]
    assert len(done.ids) == 64 or (done.finish_reason == "stop" and likeliest[-1] in smollm2.eos_ids)
    assert done.text == smollm2.tokenizer.decode(done.ids)


def test_the_perplexity_of_smollm2_is_that_of_transformers(smollm2: LLM, hf_smollm2: LlamaForCausalLM) -> None:
    ids = torch.tensor([smollm2.encode(LONG)])[:, :300]
    with torch.inference_mode():
        loss = hf_smollm2(ids, labels=ids).loss
    text = smollm2.tokenizer.decode(ids[0].tolist())
    assert smollm2.perplexity(text) == pytest.approx(loss.exp().item(), rel=1e-4)


def test_smollm2_answers_and_stops(smollm2: LLM) -> None:
    done = smollm2.chat("What is the capital of France?", temperature=0)
    assert "Paris" in done.text and "<|im_end|>" not in done.text and done.finish_reason == "stop"
    assert smollm2.eos_ids == {0, 2} and smollm2.name == "smollm2"
