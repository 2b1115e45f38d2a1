"""The tokenizer of the embedded models: byte-level BPE of 2048 tokens, trained on the corpus.

The pre-tokenizer decides how easily a small model copies. Every digit is a token of its own, and so is the space before a
capitalised word: "Ada" is then the same token in a sentence and after the quote of a JSON string, and copying a name means
repeating tokens. Runs of punctuation stay together, so that `{"`, `":"` and `","` are one token each. All 256 bytes are in the
vocabulary: any text can be encoded.
"""

from typing import TYPE_CHECKING

from grammarlm.models.tiny import VOCABULARY_SIZE
from training.corpus import example

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, END, MASK = "<|pad|>", "<|end|>", "<|mask|>"
CONTEXT = 2048  # what the models take; training rows have up to 512 tokens
PIECES = r"\p{N}|\p{Lu}{3,}| ?\p{Ll}[\p{Ll}_]*|\p{Lu}[\p{Ll}\p{M}]*|[\p{L}\p{M}]+|\s|[^\s\p{L}\p{M}\p{N}]+"


def train_tokenizer(examples: int = 20_000) -> "PreTrainedTokenizerFast":
    """Learns the merges on the first examples of the training split; deterministic."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=[PAD, END, MASK],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = (example("train", index) for index in range(examples))
    bpe.train_from_iterator((text.prompt + text.answer for text in texts), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=PAD,
        eos_token=END,
        mask_token=MASK,
        padding_side="right",
        clean_up_tokenization_spaces=False,
        model_max_length=CONTEXT,
    )
