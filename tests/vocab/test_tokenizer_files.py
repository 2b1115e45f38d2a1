"""Vocabularies from paths: what the files of a folder say besides the tokens, and what is imported to read them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import sentencepiece
from tokenizers import AddedToken, Tokenizer
from tokenizers.implementations import ByteLevelBPETokenizer

import grammarlm as gl

from . import built
from .texts import assert_spells_text, random_texts, spelled


def folder_with(folder: Path, config: dict | None = None, **files: dict) -> Path:
    """The byte-level tokenizer, whose ids end with </s>, <think> and "a b", and other files."""
    built.byte_level().save(str(folder / "tokenizer.json"))
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


END, THINK, SPACED = (built.byte_level().token_to_id(token) for token in (built.END, "<think>", "a b\n"))


def added(content: str, *, special: bool) -> dict:
    flags = {"__type": "AddedToken", "lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    return {"content": content, "special": special, **flags}


def test_a_folder_and_its_file_and_the_object_are_the_same(tmp_path):
    folder = folder_with(tmp_path, {"eos_token": built.END})
    vocab = gl.Vocabulary.from_tokenizer(folder)
    assert vocab == gl.Vocabulary.from_tokenizer(str(folder))
    assert vocab == gl.Vocabulary.from_tokenizer(folder / "tokenizer.json")
    assert vocab == gl.Vocabulary.from_tokenizer(built.byte_level(), stop_ids=[END])


@pytest.mark.parametrize(
    ("config", "files", "stops", "special"),
    [
        ({"eos_token": "</s>"}, {}, [END], [END]),
        ({"eos_token": added("</s>", special=True)}, {}, [END], [END]),
        ({"eos_token": "<think>"}, {}, [THINK], [END, THINK]),
        ({"eos_token": "a"}, {}, [built.byte_level().token_to_id("a")], [built.byte_level().token_to_id("a"), END]),
        ({"eos_token": "Ġ"}, {}, [built.byte_level().token_to_id("Ġ")], [built.byte_level().token_to_id("Ġ"), END]),
        ({}, {"generation_config": {"eos_token_id": 5}}, [5], [END]),
        ({}, {"generation_config": {"eos_token_id": [5, END, 9]}}, [5, 9, END], [END]),
        ({"eos_token": "</s>"}, {"generation_config": {"eos_token_id": [5]}}, [5, END], [END]),
        ({"eos_token": "</s>"}, {"generation_config": {"eos_token_id": [5, 10**6]}}, [5, END], [END]),
        (None, {"special_tokens_map": {"eos_token": "</s>"}}, [END], [END]),
        ({"eos_token": "</s>"}, {"special_tokens_map": {"eos_token": "a"}}, [END], [END]),
        ({"eos_token": "</s>", "pad_token": "<think>"}, {}, [END], [END, THINK]),
        ({"eos_token": "</s>", "additional_special_tokens": ["<think>"]}, {}, [END], [END, THINK]),
        ({"eos_token": "</s>", "extra_special_tokens": {"x_token": "<think>"}}, {}, [END], [END, THINK]),
        (
            {"eos_token": "</s>", "added_tokens_decoder": {str(THINK): added("<think>", special=True)}},
            {},
            [END],
            [END, THINK],
        ),
    ],
)
def test_which_ids_are_special_and_which_end_a_text(tmp_path, config, files, stops, special):
    vocab = gl.Vocabulary.from_tokenizer(folder_with(tmp_path, config, **files))
    assert (vocab.stop_ids, vocab.special_ids) == (tuple(stops), tuple(special))
    assert not {*stops, *special} & set(vocab.text_ids.tolist())
    if not files:
        import transformers

        if "extra_special_tokens" in config and int(transformers.__version__.split(".")[0]) < 5:
            pytest.skip("transformers 4 does not know extra_special_tokens")
        assert gl.Vocabulary.from_tokenizer(transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)) == vocab


def test_tokens_that_only_the_config_adds(tmp_path):
    config = {"eos_token": "</s>", "added_tokens_decoder": {str(SPACED + 1): added("<new>", special=False)}}
    vocab = gl.Vocabulary.from_tokenizer(folder_with(tmp_path, config))
    assert vocab.token_bytes(SPACED + 1) == b"<new>"
    assert vocab.text_ids[-1] == SPACED + 1


@pytest.mark.parametrize("config", [None, {}, {"eos_token": None}, {"eos_token": "</none>"}])
def test_no_end_of_sequence(tmp_path, config):
    folder = folder_with(tmp_path, config)
    with pytest.raises(gl.TokenizerError, match="end of sequence is not known"):
        gl.Vocabulary.from_tokenizer(folder)
    assert gl.Vocabulary.from_tokenizer(folder, stop_ids=[SPACED]).stop_ids == (SPACED,)


def test_given_stop_ids_replace_the_tokenizers(tmp_path):
    vocab = gl.Vocabulary.from_tokenizer(folder_with(tmp_path, {"eos_token": "</s>"}), stop_ids=[0, 3])
    assert (vocab.stop_ids, vocab.special_ids) == ((0, 3), (END,))
    assert not {0, 3, END} & set(vocab.text_ids.tolist())


def test_widths(tmp_path):
    folder = folder_with(tmp_path, {"eos_token": "</s>"})
    assert gl.Vocabulary.from_tokenizer(folder, size=640).size == 640
    narrow = gl.Vocabulary.from_tokenizer(folder, size=100, stop_ids=[0])
    assert (narrow.size, len(narrow.offsets), narrow.special_ids) == (100, 101, ())
    with pytest.raises(gl.TokenizerError, match="size is 0: the width of the logits is an integer"):
        gl.Vocabulary.from_tokenizer(folder, size=0)
    with pytest.raises(gl.TokenizerError, match=f"found only \\[{END}\\], beyond the size 100"):
        gl.Vocabulary.from_tokenizer(folder, size=100)


def test_truncation_and_padding_are_no_part_of_a_text(tmp_path):
    tokenizer = Tokenizer.from_str(built.byte_level().to_str())
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=50)
    folder = built.saved(tmp_path, tokenizer)
    wrapped = ByteLevelBPETokenizer()
    wrapped._tokenizer = tokenizer
    for source in (folder, tokenizer, wrapped):
        vocab = gl.Vocabulary.from_tokenizer(source, stop_ids=[END])
        assert_spells_text(vocab, "a text of more than three tokens")
    assert len(tokenizer.encode("a").ids) == 50  # the object itself is as it was


def test_a_tokenizer_that_puts_special_tokens_around(tmp_path):
    from tokenizers import processors

    tokenizer = Tokenizer.from_str(built.byte_level().to_str())
    tokenizer.post_processor = processors.TemplateProcessing(single="</s> $0 </s>", special_tokens=[("</s>", END)])
    assert tokenizer.encode("a").ids[0] == END
    assert_spells_text(gl.Vocabulary.from_tokenizer(built.saved(tmp_path, tokenizer)), "a")


def test_old_files_without_the_models_type(tmp_path):
    file = json.loads(built.byte_level().to_str())
    del file["model"]["type"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    vocab = gl.Vocabulary.from_tokenizer(tmp_path, stop_ids=[END])
    assert vocab == gl.Vocabulary.from_tokenizer(built.byte_level(), stop_ids=[END])


@pytest.mark.parametrize("name", ["llama_like", "gemma_like", "unigram", "wordpiece", "composed"])
def test_files_of_every_family(tmp_path, name):
    folder = built.saved(tmp_path, getattr(built, name)())
    # Not the trained object: its scores may differ from the file's in the last bit, and that decides between equals.
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    vocab = gl.Vocabulary.from_tokenizer(folder, stop_ids=[1])
    assert vocab == gl.Vocabulary.from_tokenizer(tokenizer, stop_ids=[1])
    for text in random_texts(20):
        assert vocab.encode(text) == tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("options", [{}, {"model_type": "unigram", "byte_fallback": False}])
def test_sentencepiece_files(tmp_path, options):
    model = built.sentencepiece_model(**options)
    (tmp_path / "tokenizer.model").write_bytes(model)
    vocab = gl.Vocabulary.from_tokenizer(tmp_path / "tokenizer.model")
    processor = built.processor(model)
    assert vocab == gl.Vocabulary.from_tokenizer(processor)
    assert vocab.encode("a b") == processor.encode("a b")


def test_a_processor_that_adds_ids_encodes_the_text_alone():
    model = built.sentencepiece_model()
    plain = built.processor(model).encode("a b")
    adding = sentencepiece.SentencePieceProcessor(model_proto=model, add_bos=True, add_eos=True, reverse=True)
    assert adding.encode("a b") != plain
    assert gl.Vocabulary.from_tokenizer(adding).encode("a b") == plain


def test_no_library_is_imported_to_read_a_file(tmp_path):
    folder = folder_with(tmp_path, {"eos_token": "</s>"})
    (tmp_path / "tokenizer.model").write_bytes(built.sentencepiece_model())
    program = f"""
import sys, grammarlm as gl
gl.Vocabulary.from_tokenizer({str(folder)!r}), gl.Vocabulary.from_tokenizer({str(folder / "tokenizer.model")!r})
heavy = {{"torch", "transformers", "tokenizers", "sentencepiece", "tiktoken", "numba"}} & set(sys.modules)
vocab = gl.Vocabulary.from_tokenizer({str(folder)!r})
print(sorted(heavy), vocab.encode("a") == [{built.byte_level().token_to_id("a")}], "tokenizers" in sys.modules)
"""
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.split("\n")[0] == "[] True True"


def test_added_tokens_are_encoded_as_the_tokenizer_does(tmp_path):
    tokenizer = Tokenizer.from_str(built.byte_level().to_str())
    tokenizer.add_tokens([AddedToken("::", special=False)])
    vocab = gl.Vocabulary.from_tokenizer(built.saved(tmp_path, tokenizer))
    ids = vocab.encode("x::y</s>")
    assert tokenizer.token_to_id("::") in ids
    assert ids[-1] == END
    assert spelled(vocab, ids) == b"x::y</s>"
