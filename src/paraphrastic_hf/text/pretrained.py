"""Base class of tokenizers that `AutoTokenizer` loads with code of this package."""

from typing import Any

from transformers import PreTrainedTokenizer

from paraphrastic_hf.io.remote_code import write_remote_code


class OwnTokenizer(PreTrainedTokenizer):
    """Tokenizer without special tokens in the text. Subclasses define `_tokenize`."""

    model_input_names = ["input_ids", "attention_mask"]

    def save_pretrained(self, save_directory: Any, **kwargs: Any) -> Any:
        """Save as transformers does, with the code that `trust_remote_code=True` loads."""
        name = write_remote_code(type(self), save_directory)
        self.init_kwargs["auto_map"] = {"AutoTokenizer": [name, None]} if name else {}
        return super().save_pretrained(save_directory, **kwargs)

    def tokenize(self, text: str, **kwargs: Any) -> list[str]:
        return self._tokenize(text)

    def convert_tokens_to_ids(self, tokens: str | list[str]) -> int | list[int]:
        if isinstance(tokens, str):
            return 0 if tokens == "<pad>" else self._convert_token_to_id(tokens)
        return [self._convert_token_to_id(token) for token in tokens]

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        return token_ids_0 + (token_ids_1 or [])
