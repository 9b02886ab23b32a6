"""Which of Hugging Face's tokenizers wrote a folder's files: those of one name are not read alike."""

from __future__ import annotations

from transformer.checkpoints.tokenizers.settings import Texts, TokenizerSettings, json_object

USUAL = {
    "bart": "RobertaTokenizer",
    "bert": "BertTokenizer",
    "camembert": "CamembertTokenizer",
    "distilbert": "BertTokenizer",
    "gpt2": "GPT2Tokenizer",
    "llama": "LlamaTokenizer",
    "marian": "MarianTokenizer",
    "mbart": "MBartTokenizer",
    "mistral": "LlamaTokenizer",
    "mt5": "T5Tokenizer",
    "qwen2": "Qwen2Tokenizer",
    "qwen3": "Qwen2Tokenizer",
    "roberta": "RobertaTokenizer",
    "t5": "T5Tokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
}
"""Type of a model, or its family -> the tokenizer that it usually has."""

ALIASES = {
    "BartTokenizer": "RobertaTokenizer",
    "DistilBertTokenizer": "BertTokenizer",
    "LEDTokenizer": "RobertaTokenizer",
    "LongformerTokenizer": "RobertaTokenizer",
    "MT5Tokenizer": "T5Tokenizer",
}
_OF_ANY_KIND = ("PreTrainedTokenizer", "PythonBackend", "TokenizersBackend")


def class_of(texts: Texts, settings: TokenizerSettings, family: str) -> str:
    """Name the class as Hugging Face's library does, without "Fast"; empty where nothing tells it.

    tokenizer_config.json goes first, then config.json: what it says of the tokenizer, then of the model.

    Args:
        texts: the folder's small files.
        settings: what they say of the tokenizer.
        family: of the model, for a folder that says none of that.

    Raises:
        CheckpointError: for a config.json that is no JSON object.
    """
    config = json_object(texts, "config.json")
    for told in (settings.values.get("tokenizer_class"), config.get("tokenizer_class")):
        name = told.removesuffix("Fast") if isinstance(told, str) else ""
        if name and name not in _OF_ANY_KIND:
            return ALIASES.get(name, name)
    return USUAL.get(str(config.get("model_type"))) or USUAL.get(family, "")
