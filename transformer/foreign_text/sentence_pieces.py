"""Tokenizers of sentencepiece models: T5's, mBART's and Llama's, as Hugging Face's library 5 has them."""

from __future__ import annotations

from collections.abc import Iterator

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from transformer.checkpoints._files import CheckpointError
from transformer.foreign_text.built import Built, add_special_tokens, frame_with
from transformer.foreign_text.piece_model import (
    BPE,
    CONTROL,
    UNIGRAM,
    USER_DEFINED,
    PieceModel,
    read_piece_model,
)
from transformer.foreign_text.settings import Texts, TokenizerSettings
from transformer.foreign_text.spelling import MARK
from transformer.foreign_text.vocabulary_files import frame_by_settings

T5_TOKENS = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
LLAMA_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
MBART_TOKENS = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "cls_token": "<s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
}
MBART_LANGUAGES = tuple(
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM "
    "ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN".split()
)
MBART_50_LANGUAGES = MBART_LANGUAGES + tuple(
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE "
    "sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI".split()
)
_N_EXTRA = 100
_FEWEST_PIECES = 4


def build_t5(texts: Texts, settings: TokenizerSettings) -> Built:
    """Build T5's tokenizer of spiece.model: the pieces, then <extra_id_99> to <extra_id_0>.

    Raises:
        CheckpointError: for a file that is no such model.
    """
    model = _open(texts, "spiece.model", UNIGRAM)
    n_extra = settings.values.get("extra_ids", _N_EXTRA)
    if type(n_extra) is not int or not 0 <= n_extra <= 10_000:
        raise CheckpointError(f"tokenizer_config.json says extra_ids {n_extra!r:.80}: it must be a number.")
    sentinels = [f"<extra_id_{number}>" for number in reversed(range(n_extra))]
    scores = [(piece.text, piece.score) for piece in model.pieces] + [(name, 0.0) for name in sentinels]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=2, byte_fallback=False))
    if model.charsmap:
        tokenizer.normalizer = normalizers.Precompiled(model.charsmap)
    _cut_at_spaces(tokenizer)
    extra = [*_control_pieces(model), *(AddedToken(name, special=True) for name in sentinels)]
    named = add_special_tokens(tokenizer, settings, T5_TOKENS, extra)
    frame_with(tokenizer, [], ["</s>"])
    return Built(tokenizer, "marks", named, settings.flag("clean_up_tokenization_spaces", False))


def build_mbart(texts: Texts, settings: TokenizerSettings) -> Built:
    """Build mBART's tokenizer of sentencepiece.bpe.model, its ids as fairseq counts them.

    <s>, <pad>, </s>, <unk>, then the pieces from the fourth on, the language codes, and <mask>. As in
    Hugging Face's library, mBART-50 normalizes characters, mBART does not.

    Raises:
        CheckpointError: for a file that is no such model.
    """
    model = _open(texts, "sentencepiece.bpe.model", UNIGRAM)
    fifty = "50" in settings.text("tokenizer_class")
    languages = MBART_50_LANGUAGES if fifty else MBART_LANGUAGES
    tokens = MBART_TOKENS | {name: token.content for name, token in settings.named.items()}
    mask = tokens.get("mask_token", "<mask>")
    scores = [(tokens[name], 0.0) for name in ("bos_token", "pad_token", "eos_token", "unk_token")]
    scores += [(piece.text, piece.score) for piece in model.pieces[3:]]
    scores += [(name, 0.0) for name in (*languages, mask)]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=3, byte_fallback=False))
    if fifty:
        _normalize_spaces(tokenizer, model)
    else:
        _cut_at_spaces(tokenizer)
    defaults = MBART_TOKENS | {"mask_token": AddedToken(mask, lstrip=True, special=True)}
    codes = [AddedToken(name, special=True) for name in languages]
    named = add_special_tokens(tokenizer, settings, defaults, [*_control_pieces(model), *codes])
    built = Built(tokenizer, "marks", named, settings.flag("clean_up_tokenization_spaces", False))
    return frame_with_language(built, settings)


def build_llama(texts: Texts, settings: TokenizerSettings) -> Built:
    """Build Llama's tokenizer of tokenizer.model: byte-pair encoding, unknown characters in their bytes.

    With `legacy` in the settings, a space is put before each part of a text that special tokens cut off;
    else before the first alone.

    Raises:
        CheckpointError: for a file that is no such model.
    """
    model = _open(texts, "tokenizer.model", BPE)
    ids = {piece.text: index for index, piece in enumerate(model.pieces)}
    tokenizer = Tokenizer(models.BPE(ids, list(_merges(ids)), fuse_unk=True, byte_fallback=True))
    space = settings.flag("add_prefix_space", True)
    scheme = "always" if settings.flag("legacy", False) else "first"
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement=MARK, prepend_scheme=scheme if space else "never", split=False
    )
    steps = [decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*steps, *([decoders.Strip(content=" ", left=1)] if space else [])])
    named = add_special_tokens(tokenizer, settings, LLAMA_TOKENS, _control_pieces(model))
    frame_by_settings(tokenizer, settings, named)
    return Built(tokenizer, "marks", named, clean_up=False)


def frame_with_language(built: Built, settings: TokenizerSettings) -> Built:
    """Put mBART's </s> and the code of the source language behind a sentence, mBART-50's around it."""
    source = settings.text("src_lang") or "en_XX"
    target = settings.text("tgt_lang")
    end = built.named.get("eos_token", "</s>")
    if "50" in settings.text("tokenizer_class"):
        frame_with(built.tokenizer, [source], [end])
    else:
        frame_with(built.tokenizer, [], [end, source])
    return Built(built.tokenizer, built.spelling, built.named, built.clean_up, languages=(source, target))


def _open(texts: Texts, name: str, algorithm: int) -> PieceModel:
    content = texts[name]
    try:
        model = read_piece_model(content if isinstance(content, bytes) else content.encode())
    except CheckpointError as error:
        raise CheckpointError(f"{name} {error}") from error
    if model.algorithm != algorithm or len(model.pieces) < _FEWEST_PIECES:
        raise CheckpointError(f"{name} is a model of another kind than this file's name promises.")
    return model


def _cut_at_spaces(tokenizer: Tokenizer) -> None:
    """Cut text at its spaces, a mark before each word, and put decoded words together again."""
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="always", split=True),
        ]
    )
    tokenizer.decoder = decoders.Metaspace(replacement=MARK, prepend_scheme="always", split=True)


def _normalize_spaces(tokenizer: Tokenizer, model: PieceModel) -> None:
    """Cut text at its spaces, of which several count as one, after normalizing its characters."""
    _cut_at_spaces(tokenizer)
    steps = [normalizers.Precompiled(model.charsmap)] if model.charsmap else []
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="always", split=True)


def _control_pieces(model: PieceModel) -> list[AddedToken]:
    return [
        AddedToken(piece.text, normalized=False, special=piece.kind == CONTROL)
        for piece in model.pieces
        if piece.kind in (CONTROL, USER_DEFINED)
    ]


def _merges(ids: dict[str, int]) -> Iterator[tuple[str, str]]:
    """The pairs of pieces that make another one, the earliest of those first."""
    for text in ids:
        pairs = ((text[:cut], text[cut:]) for cut in range(1, len(text)))
        yield from ((left, right) for left, right in pairs if left in ids and right in ids)
