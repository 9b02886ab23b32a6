"""Tokenizers with sentencepiece.bpe.model and fairseq's ids: mBART, XLM-R and CamemBERT.

The pieces are the file's, but their ids are not: each model has special tokens before and after them.
Everything matches version 5 of Hugging Face's library.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tokenizers import AddedToken, Tokenizer, models, normalizers

from transformer.checkpoints.reading.raw import Texts
from transformer.checkpoints.tokenizers.library import LibraryTokenizer
from transformer.checkpoints.tokenizers.piece_model import UNIGRAM, PieceModel
from transformer.checkpoints.tokenizers.sentence_pieces import (
    control_pieces,
    cut_at_spaces,
    normalize_spaces,
    open_pieces,
)
from transformer.checkpoints.tokenizers.settings import (
    FAIRSEQ_TOKENS,
    TokenizerSettings,
    add_special_tokens,
    frame_with,
)

FILE = "sentencepiece.bpe.model"
MBART_LANGUAGES = tuple(
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM "
    "ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN".split()
)
MBART_50_LANGUAGES = MBART_LANGUAGES + tuple(
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE "
    "sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI".split()
)
CAMEMBERT_UNUSED = ("<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED")
_UNK_ID = 3
_NEVER_CHOSEN = -100.0

ScoredPieces = list[tuple[str, float]]
"""Pieces by id, with their log-probabilities."""


def build_mbart(texts: Texts, settings: TokenizerSettings, *, fifty: bool) -> LibraryTokenizer:
    """Build mBART's tokenizer, or mBART-50's, which also normalizes characters.

    Ids: <s>, <pad>, </s>, <unk>, then the pieces from the fourth on, the language codes, and <mask>.

    Raises:
        CheckpointError: when the file is not such a model.
    """
    model, tokens = open_pieces(texts, FILE, UNIGRAM), _tokens(settings)
    languages = MBART_50_LANGUAGES if fifty else MBART_LANGUAGES
    tokenizer = _unigram([*_after_four(model, tokens), *_sure(*languages, tokens["mask_token"])])
    if fifty:
        normalize_spaces(tokenizer, model)
    else:
        cut_at_spaces(tokenizer)
    codes = [AddedToken(name, special=True) for name in languages]
    built = _with_special_tokens(tokenizer, settings, [*control_pieces(model), *codes], wide_mask=True)
    return frame_with_language(built, settings, first=fifty)


def build_xlm_roberta(texts: Texts, settings: TokenizerSettings) -> LibraryTokenizer:
    """Build XLM-R's tokenizer: mBART's without the language codes, with <s> and </s> around a sentence.

    Raises:
        CheckpointError: when the file is not such a model.
    """
    model, tokens = open_pieces(texts, FILE, UNIGRAM), _tokens(settings)
    tokenizer = _unigram([*_after_four(model, tokens), *_sure(tokens["mask_token"])])
    _normalize_characters(tokenizer, settings, model)
    built = _with_special_tokens(tokenizer, settings, control_pieces(model), wide_mask=False)
    frame_with(tokenizer, [tokens["bos_token"]], [tokens["eos_token"]])
    return built


def build_camembert(texts: Texts, settings: TokenizerSettings) -> LibraryTokenizer:
    """Build CamemBERT's tokenizer.

    Ids: <s>NOTUSED, <pad>, </s>NOTUSED, <unk>, <unk>NOTUSED, then the pieces from the second on, beginning
    with <s> and </s>, and <mask>.

    Raises:
        CheckpointError: when the file is not such a model.
    """
    model, tokens = open_pieces(texts, FILE, UNIGRAM), _tokens(settings)
    begin, end, unknown = CAMEMBERT_UNUSED
    first = _sure(begin, tokens["pad_token"], end, tokens["unk_token"])
    pieces = [(piece.text, piece.score) for piece in model.pieces[1:]]
    tokenizer = _unigram([*first, (unknown, _NEVER_CHOSEN), *pieces, *_sure(tokens["mask_token"])])
    _normalize_characters(tokenizer, settings, model)
    built = _with_special_tokens(tokenizer, settings, control_pieces(model), wide_mask=True)
    frame_with(tokenizer, [tokens["bos_token"]], [tokens["eos_token"]])
    return built


def frame_with_language(
    built: LibraryTokenizer, settings: TokenizerSettings, *, first: bool, usual: str = "en_XX"
) -> LibraryTokenizer:
    """Put the source language code before a sentence and </s> after it, or both after it.

    Args:
        built: the tokenizer, which is changed.
        settings: settings that name the languages.
        first: whether the code is first, as in mBART-50 and NLLB, or last, as in mBART.
        usual: the source language if the settings have none.
    """
    source = settings.text("src_lang") or usual
    target = settings.text("tgt_lang")
    end = built.named.get("eos_token", "</s>")
    if first:
        frame_with(built.tokenizer, [source], [end])
    else:
        frame_with(built.tokenizer, [], [end, source])
    return replace(built, languages=(source, target))


def _tokens(settings: TokenizerSettings) -> dict[str, str]:
    return FAIRSEQ_TOKENS | {name: token.content for name, token in settings.named.items()}


def _after_four(model: PieceModel, tokens: dict[str, str]) -> ScoredPieces:
    """Replace the file's <unk>, <s> and </s> with four special tokens in fairseq's order."""
    four = _sure(*(tokens[name] for name in ("bos_token", "pad_token", "eos_token", "unk_token")))
    return [*four, *((piece.text, piece.score) for piece in model.pieces[3:])]


def _sure(*names: str) -> ScoredPieces:
    return [(name, 0.0) for name in names]


def _unigram(scores: ScoredPieces) -> Tokenizer:
    return Tokenizer(models.Unigram(scores, unk_id=_UNK_ID, byte_fallback=False))


def _with_special_tokens(
    tokenizer: Tokenizer, settings: TokenizerSettings, extra: Iterable[AddedToken], *, wide_mask: bool
) -> LibraryTokenizer:
    """Add the special tokens; a wide mask includes the spaces before it."""
    mask = AddedToken(_tokens(settings)["mask_token"], lstrip=wide_mask, special=True)
    named = add_special_tokens(tokenizer, settings, FAIRSEQ_TOKENS | {"mask_token": mask}, extra)
    return LibraryTokenizer(tokenizer, "marks", named, settings.flag("clean_up_tokenization_spaces", False))


def _normalize_characters(tokenizer: Tokenizer, settings: TokenizerSettings, model: PieceModel) -> None:
    """Normalize characters, then split at spaces."""
    if model.charsmap:
        tokenizer.normalizer = normalizers.Precompiled(model.charsmap)
    cut_at_spaces(tokenizer, mark_words=settings.flag("add_prefix_space", True))
