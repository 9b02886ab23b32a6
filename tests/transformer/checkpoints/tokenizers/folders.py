"""Small tokenizers of every kind, each trained once, in folders that Hugging Face's library opens."""

from __future__ import annotations

import io
import json
import shutil
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import sentencepiece
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import (
    BertTokenizer,
    CamembertTokenizer,
    GPT2Tokenizer,
    LlamaTokenizer,
    M2M100Tokenizer,
    MarianTokenizer,
    MBart50Tokenizer,
    MBartTokenizer,
    NllbTokenizer,
    PegasusTokenizer,
    PreTrainedTokenizerBase,
    Qwen2Tokenizer,
    RobertaTokenizer,
    T5Tokenizer,
    XLMRobertaTokenizer,
)
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES as M2M_100_LANGUAGES

CORPUS = (
    "The cat isn't in the garden; the dogs don't see it, do they?",
    "Il gatto dorme sul divano, ma l'amica dell'orso non lo vede!",
    "naïve café, l'été à Orléans: perché no? ÀÉÎÕÜ straße",
    "你好，世界。我喜欢猫和狗。",
    "שלום עולם, مرحبا بالعالم",
    "3.14 and 2,718 cost 5 € (five euros), or $ 6.",
    "def f(x):\n\treturn x + 1  # two  spaces",
    "🦝 and 👩‍👩‍👧 are emoji; ﬁve ﬂags and Ｆｕｌｌ width ½",
) * 3

NASTY = [
    "",
    " ",
    "   \t\n ",
    "a",
    "The cat isn't in the garden.",
    " leading and trailing  ",
    "two  spaces, three   spaces\tand a tab\nand lines\r\n\n",
    "Don't \"quote\" 'me' “or” ‘him’ — they're l'amica's",
    "e\u0301 is not é; n\u0303o\u0308 a\u0300\u0301\u0302",
    "no\u00a0break\u2003em\u3000ideographic\u202fnarrow",
    "\u2581a \u2581 typed \u2581marks a\u2581b \u2581\u2581",
    "nul\x00bell\x07del\x7fescape\x1b[0m \x85 \u2028 \u2029",
    "zero\u200bwidth\u200djoin\u2060er so\u00adft \ufeffbom \u202eturned\u202c",
    "我喜欢你好吗，世界。abc猫def 𠀀𠀁",
    "שלום עולם! مرحبا 123 بالعالم",
    "🦝👩‍👩‍👧🇮🇹 ❤️ 👍🏽 x🦝y",
    "ﬁve ﬂags Ｆｕｌｌ ½ ² ℌ ﷺ İı ß ẞ Σς",
    "x" * 150 + " " + "supercalifragilistic" * 12,
    "a" * 90 + "1234567890" * 9,
    "3.14 -2,718 1e-5 10% $5 €9,99 #tag @me a/b\\c {x} <y> ~^_`|",
    "HELLO World ÀÉÎ ÉCOLE naïve CAFÉ",
    "<s> </s> <pad> <unk> <mask> [CLS] [SEP] [MASK] [PAD] [UNK] <|endoftext|>",
    "<s>joined</s>words<mask>here[MASK]too <mask> , [SEP]. x </s>y </S> [mask]",
    "<extra_id_0> then <extra_id_99><extra_id_7>x <extra_id_100> en_XX it_IT de_DE >>fra<< hello >>x<<y",
    "<0x41> <0x0A> ##ing Ġword Ċ <unk",
    "\ufffd \ufdd0 \U000e0001 \U0010ffff \ue000",
    "ends with a space ",
    "\n",
    "a\nb",
    ".",
    "...!!!???",
]
"""Texts on which tokenizers differ."""


def word_piece(folder: Path, **settings: Any) -> PreTrainedTokenizerBase:
    """Make BERT's folder: vocab.txt and the settings."""
    _write(folder, "vocab.txt", _word_pieces())
    _settings(folder, settings)
    return BertTokenizer.from_pretrained(folder)


@lru_cache
def _word_pieces() -> str:
    """Train BERT's vocab.txt."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special_tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    lowered = [line.lower() for line in CORPUS]
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special_tokens, show_progress=False)
    tokenizer.train_from_iterator([*CORPUS, *lowered], trainer)
    tokens = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    return "".join(f"{token}\n" for token, _ in tokens)


def byte_level(folder: Path, *, like_roberta: bool, **settings: Any) -> PreTrainedTokenizerBase:
    """Make GPT-2's or RoBERTa's folder: vocab.json, merges.txt and the settings."""
    _write_byte_pairs(folder, *(("<s>", "<pad>", "</s>", "<unk>") if like_roberta else ("<|endoftext|>",)))
    _settings(folder, settings)
    return (RobertaTokenizer if like_roberta else GPT2Tokenizer).from_pretrained(folder)


def qwen2(folder: Path, **settings: Any) -> PreTrainedTokenizerBase:
    """Make the folder of Qwen 2 and 3, whose special tokens are only in the settings."""
    size = _write_byte_pairs(folder)
    tokens = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    said = {
        "tokenizer_class": "Qwen2Tokenizer",
        "added_tokens_decoder": {
            str(size + number): {"content": token, "normalized": False, "special": True}
            for number, token in enumerate(tokens)
        },
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "unk_token": None,
    }
    _settings(folder, said | settings)
    return Qwen2Tokenizer.from_pretrained(folder)


def _write_byte_pairs(folder: Path, *special_tokens: str) -> int:
    """Write vocab.json and merges.txt; returns the number of tokens."""
    model = _byte_pairs(special_tokens)
    _write(folder, "vocab.json", json.dumps(model["vocab"], ensure_ascii=False))
    merges = "".join(f"{left} {right}\n" for left, right in model["merges"])
    _write(folder, "merges.txt", f"#version: 0.2\n{merges}")
    return len(model["vocab"])


@lru_cache
def _byte_pairs(special_tokens: tuple[str, ...]) -> dict[str, Any]:
    """Train byte-pair encoding as for GPT-2 and its kin."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=[*special_tokens], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    model: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return model


def t5(folder: Path, make: Any = T5Tokenizer, **settings: Any) -> PreTrainedTokenizerBase:
    """Make T5's or Pegasus' folder: spiece.model and the settings."""
    model = sentence_pieces("unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    _write_bytes(folder, "spiece.model", model)
    _settings(folder, settings)
    return make.from_pretrained(folder)


def pegasus(folder: Path, **settings: Any) -> PreTrainedTokenizerBase:
    """Make Pegasus' folder."""
    return t5(folder, PegasusTokenizer, **settings)


def mbart(folder: Path, *, fifty: bool = False, **settings: Any) -> PreTrainedTokenizerBase:
    """Make mBART's folder: sentencepiece.bpe.model and the settings."""
    return _sentence_pieces_of(MBart50Tokenizer if fifty else MBartTokenizer, folder, settings)


def xlm_roberta(folder: Path, **settings: Any) -> PreTrainedTokenizerBase:
    """Make XLM-R's folder, with the same kind of file as mBART's."""
    return _sentence_pieces_of(XLMRobertaTokenizer, folder, settings)


def camembert(folder: Path, **settings: Any) -> PreTrainedTokenizerBase:
    """Make CamemBERT's folder, with the same kind of file as mBART's."""
    return _sentence_pieces_of(CamembertTokenizer, folder, settings)


def _sentence_pieces_of(tokenizer: Any, folder: Path, settings: dict[str, Any]) -> PreTrainedTokenizerBase:
    _write_bytes(folder, "sentencepiece.bpe.model", sentence_pieces("unigram"))
    _settings(folder, {"tokenizer_class": tokenizer.__name__} | settings)
    return tokenizer.from_pretrained(folder)


def llama(folder: Path, **settings: Any) -> PreTrainedTokenizerBase:
    """Make Llama's folder: tokenizer.model and the settings."""
    model = sentence_pieces(
        "bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False
    )
    _write_bytes(folder, "tokenizer.model", model)
    _settings(folder, settings)
    return LlamaTokenizer.from_pretrained(folder)


def marian(folder: Path, **settings: Any) -> PreTrainedTokenizerBase:
    """Make Marian's folder: source.spm, target.spm, vocab.json and the settings."""
    source = sentence_pieces("unigram", corpus=CORPUS[:5], size=150)
    target = sentence_pieces("unigram", corpus=CORPUS[3:8], size=130)
    _write_bytes(folder, "source.spm", source)
    _write_bytes(folder, "target.spm", target)
    separate = settings.get("separate_vocabs", False)
    _write(folder, "vocab.json", _marian_vocabulary(source, *([] if separate else [target])))
    if separate:
        _write(folder, "target_vocab.json", _marian_vocabulary(target))
    _settings(folder, settings)
    return MarianTokenizer.from_pretrained(folder)


def m2m_100(folder: Path, **settings: Any) -> PreTrainedTokenizerBase:
    """Make M2M-100's folder: sentencepiece.bpe.model, vocab.json and the settings."""
    model = sentence_pieces("bpe")
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = [processor.id_to_piece(index) for index in range(3, len(processor))]
    known = ["<s>", "<pad>", "</s>", "<unk>", *(piece for piece in reversed(pieces) if piece != "x")]
    _write_bytes(folder, "sentencepiece.bpe.model", model)
    _write(folder, "vocab.json", json.dumps({piece: index for index, piece in enumerate(known)}))
    languages = [f"__{code}__" for code in M2M_100_LANGUAGES["m2m100"]]
    said = {
        "tokenizer_class": "M2M100Tokenizer",
        "bos_token": "<s>",
        "sep_token": "</s>",
        "additional_special_tokens": languages,
    }
    _settings(folder, said | settings)
    return M2M100Tokenizer.from_pretrained(folder)


def nllb(folder: Path, **settings: Any) -> PreTrainedTokenizerBase:
    """Make NLLB's folder: tokenizer.json and the settings."""
    made = folder / "made"
    _write_bytes(made, "sentencepiece.bpe.model", sentence_pieces("bpe"))
    languages = ["eng_Latn", "ita_Latn", "deu_Latn"]
    NllbTokenizer.from_pretrained(made, extra_special_tokens=languages).save_pretrained(folder)
    shutil.rmtree(made)
    said = json.loads((folder / "tokenizer_config.json").read_text())
    _settings(folder, said | settings)
    return NllbTokenizer.from_pretrained(folder)


def _marian_vocabulary(*models: bytes) -> str:
    """Give ids to most pieces of the models, in a different order."""
    pieces: dict[str, None] = {}
    for model in models:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces |= dict.fromkeys(processor.id_to_piece(index) for index in range(3, len(processor)))
    known = [piece for piece in reversed(pieces) if piece not in ("▁ca", "x")]
    return json.dumps({piece: n for n, piece in enumerate(["</s>", "<unk>", "<pad>", *known, ">>fra<<"])})


def older(make: Any, mask: str, folder: Path) -> PreTrainedTokenizerBase:
    """Add special_tokens_map.json and added_tokens.json, as older versions wrote them."""
    tokens = len(make(folder))
    token = {"content": mask, "lstrip": True, "rstrip": False, "single_word": False}
    _write(folder, "special_tokens_map.json", json.dumps({"mask_token": token}))
    _write(folder, "added_tokens.json", json.dumps({"newword": tokens, "<sp>": tokens + 1}))
    return make(folder)


@cache
def sentence_pieces(kind: str, corpus: tuple[str, ...] = CORPUS, size: int = 330, **options: Any) -> bytes:
    """Train a sentencepiece model."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line.replace("\n", " ") for line in corpus]),
        model_writer=model,
        model_type=kind,
        vocab_size=size + 256 * bool(options.get("byte_fallback")),
        hard_vocab_limit=kind == "bpe",
        minloglevel=2,
        num_threads=1,
        **options,
    )
    return model.getvalue()


def texts_of(folder: Path) -> dict[str, str | bytes]:
    """Read a folder's small files, as the reader of checkpoints does."""
    return {
        path.name: path.read_bytes() if path.suffix in (".model", ".spm") else path.read_bytes().decode()
        for path in folder.iterdir()
    }


def _settings(folder: Path, settings: dict[str, Any]) -> None:
    if settings:
        _write(folder, "tokenizer_config.json", json.dumps(settings))


def _write(folder: Path, name: str, text: str) -> None:
    _write_bytes(folder, name, text.encode())


def _write_bytes(folder: Path, name: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
