"""Print what published models compute, in an interpreter without the tests; run by
`tests/hub/fresh.py`.

Arguments: `present` or `absent` (this package), repositories with their Auto class as JSON, a text.
Prints weights, ids and outputs, or errors, by repository as JSON.
"""

import importlib.util
import json
import sys
from typing import Any

import transformers

IS_THERE = importlib.util.find_spec("paraphrastic_hf") is not None
TRUST = {} if IS_THERE else {"trust_remote_code": True}
STEPS = {"do_sample": False, "num_beams": 1, "max_new_tokens": 8}


def output(model: Any, tokenizer: Any, text: str) -> list[float]:
    """A few numbers that depend on every part of a model."""
    inputs = tokenizer([text], return_tensors="pt")
    if hasattr(model.config, "max_words"):  # it reads the words of a sentence one by one
        words = tokenizer(text.split(), return_tensors="pt", padding=True)
        index = inputs["input_ids"].new_tensor([range(len(text.split()))])
        return _rounded(model(words["input_ids"], words["attention_mask"], word_index=index)[0])
    if getattr(model, "reads_template", False):  # ids of some brackets and labels
        inputs["template_ids"] = inputs["input_ids"] * 0 + 3
    if hasattr(model, "tasks"):  # it writes from latent variables, and encodes beside
        named = {key: inputs[key] for key in ("input_ids", "attention_mask")}
        written = model.generate(**named, task=model.tasks()[0], **STEPS)
        return [*_rounded(model(**named).pooler_output), *map(float, written[0])]
    if model.can_generate():
        inputs.pop("token_type_ids", None)
        return list(map(float, model.generate(**inputs, **STEPS)[0]))
    found = model(**inputs)
    return _rounded(found.pooler_output if "pooler_output" in found else found.logits)


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 4) for value in values.flatten()]


def given(repository: str, auto: str, text: str) -> dict[str, Any]:
    """Results of one model in transformers, and in sentence-transformers for encoders."""
    said: dict[str, Any] = {}
    try:
        model = getattr(transformers, auto).from_pretrained(repository, **TRUST).eval().float()
        tokenizer = transformers.AutoTokenizer.from_pretrained(repository, **TRUST)
        state = sorted(model.state_dict().items())
        said["weights"] = round(float(sum(value.double().abs().sum() for _, value in state)), 6)
        said["ids"] = tokenizer(text)["input_ids"]
        said["output"] = output(model, tokenizer, text)
    except Exception as error:  # whatever it is, the table says it
        said["AutoModel"] = f"{type(error).__name__}: {str(error).strip()[:300]}"
    if auto == "AutoModel":
        try:
            from sentence_transformers import SentenceTransformer

            encoder = SentenceTransformer(repository, trust_remote_code=True).float()
            said["vector"] = [round(float(value), 4) for value in encoder.encode([text])[0]]
        except Exception as error:
            said["SentenceTransformer"] = f"{type(error).__name__}: {str(error).strip()[:300]}"
    return said


def main() -> None:
    state, repositories, text = sys.argv[1:]
    assert (state == "present") == IS_THERE, sys.path
    if IS_THERE:
        importlib.import_module("paraphrastic_hf")  # registers its classes
    found = {name: given(name, auto, text) for name, auto in json.loads(repositories).items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
