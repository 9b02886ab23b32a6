"""The configuration of another implementation: typed access, and rejection of unread attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown

HARMLESS = frozenset(
    """
    _attn_implementation _attn_implementation_autoset _attn_implementation_internal _commit_hash
    _flash_attn_2_enabled _name_or_path _num_labels _output_attentions architectures attention_dropout
    attention_probs_dropout_prob attn_implementation attn_pdrop author auto_map bad_words_ids
    begin_suppress_tokens bos_token_id cache_implementation
    chunk_size_feed_forward classif_dropout classifier_dropout
    classifier_dropout_prob cls_token_id decoder_layerdrop decoder_start_token_id directionality
    diversity_penalty do_sample dropout dropout_rate dtype early_stopping embd_pdrop encoder_layerdrop
    encoder_no_repeat_ngram_size eos_token_id eos_token_ids exponential_decay_length_penalty
    finetuning_task force_bos_token_to_be_generated forced_bos_token_id forced_eos_token_id
    gradient_checkpointing hidden_dropout_prob id2label init_std initializer_cutoff_factor
    initializer_factor initializer_range label2id layerdrop length_penalty mask_token_id max_length
    max_new_tokens max_seq_length max_sequence_length min_length model_max_length neftune_noise_alpha
    no_repeat_ngram_size num_beam_groups num_beams num_labels num_return_sequences output_attentions
    output_hidden_states output_past output_scores pad_token_id pooler_fc_size
    pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type
    predict_special_tokens prefix problem_type qa_dropout remove_invalid_values repetition_penalty
    resid_pdrop return_dict return_dict_in_generate sbert_ce_default_activation_function
    sentence_transformers sep_token_id seq_classif_dropout summary_activation summary_first_dropout
    summary_proj_to_labels summary_type summary_use_proj suppress_tokens task_specific_params
    temperature tf_legacy_loss tokenizer_class top_k top_p torch_dtype torchscript
    transformers.js_config transformers_version typical_p unsloth_fixed unsloth_version use_bfloat16
    use_cache vocab_size_or_config_json_file
    """.split()
)
"""Attributes that affect training, generation or housekeeping, never what the network computes."""

_ABSENT = object()


class ForeignConfig:
    """The values in a config.json, or in an object inside it.

    Attributes:
        source: where they were read, for messages; not always config.json.
    """

    def __init__(self, values: Mapping[str, Any], source: str = "config.json") -> None:
        self.source = source
        self._values = values
        self._read: set[str] = set()

    @classmethod
    def of(cls, raw: RawCheckpoint, name: str = "config.json") -> ForeignConfig | None:
        """The checkpoint's config.json, or another file; None without one.

        Raises:
            CheckpointError: when it is not a JSON object.
        """
        return cls(raw.json(name), name) if name in raw.texts else None

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def leaves_out(self, name: str) -> bool:
        """True if the name is missing: transformers then uses its default, which it does not for null."""
        return name not in self._values

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or the default if it is missing or null; "attn_config.alibi" is one in an object."""
        outer, *inner = name.split(".")
        self._read.add(outer)
        value = self._values.get(outer)
        for part in inner:
            value = value.get(part) if isinstance(value, dict) else None
        return default if value is None else value

    def integer(self, name: str, default: Any = _ABSENT) -> int:
        """A whole number.

        Raises:
            CheckpointError: when it is missing without a default, or not a whole number.
        """
        return self._typed(name, default, int, "a whole number")

    def number(self, name: str, default: Any = _ABSENT) -> float:
        """A number. Raises CheckpointError as `integer` does."""
        try:
            return float(self._typed(name, default, (int, float), "a number"))
        except OverflowError as error:
            raise CheckpointError(
                f"{self.source} says {name} {shown(self.get(name))}: that is too large."
            ) from error

    def flag(self, name: str, default: Any = _ABSENT) -> bool:
        """True or false. Raises CheckpointError as `integer` does."""
        return self._typed(name, default, bool, "true or false")

    def choice(self, name: str, choices: Mapping[str, str], default: Any = _ABSENT) -> str:
        """Our name for a foreign choice.

        Raises:
            CheckpointError: for a choice that our model does not have.
        """
        value = self._typed(name, default, str, "text")
        if value not in choices:
            raise CheckpointError(
                f"{self.source} says {name} {shown(value)}, which Headlight's model does not have: it knows "
                f"{', '.join(choices)}."
            )
        return choices[value]

    def only(self, name: str, *allowed: Any, why: str) -> None:
        """Reject values other than those that our model computes; missing or null is fine.

        Raises:
            CheckpointError: with the attribute, its value, and `why`.
        """
        value = self.get(name, allowed[0])
        if value not in allowed:
            raise CheckpointError(
                f"{self.source} says {name} {shown(value)}: {why}. Headlight's model does not compute that, "
                "and a silently different model would mislead you."
            )

    def refuse_unknown(self, harmless: Iterable[str] = ()) -> None:
        """Reject attributes that were not read and are not known to be harmless, unless null or false.

        Raises:
            CheckpointError: with their names.
        """
        if self.get("quantization_config"):
            raise CheckpointError(
                "The weights are quantised (config.json: quantization_config), and Headlight opens float16, "
                "bfloat16 and float32: load the model with transformers, call its dequantize(), save it with "
                "save_pretrained, and open that."
            )
        known = self._read | HARMLESS | set(harmless) | {"model_type"}
        unknown = [name for name, value in self._values.items() if name not in known and value]
        if unknown:
            listed = ", ".join(f"{shown(name)} ({shown(self._values[name])})" for name in unknown[:3])
            more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            raise CheckpointError(
                f"{self.source} has attributes that Headlight does not know: {listed}{more}. They may change "
                "what the model computes; remove them from a copy of the folder if you know that they don't."
            )

    def _typed(self, name: str, default: Any, kind: type | tuple[type, ...], words: str) -> Any:
        value = self.get(name, default)
        if value is _ABSENT:
            raise CheckpointError(f"{self.source} has no {name}: copy the complete file.")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise CheckpointError(f"{self.source} says {name} {shown(value)}: it must be {words}.")
        return value
