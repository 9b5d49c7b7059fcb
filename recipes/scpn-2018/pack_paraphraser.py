"""Write an int8 copy of a paraphraser for the package, from a run of `english-paraphraser`.

python recipes/scpn-2018/pack_paraphraser.py runs/paraphraser src/paraphrastic_hf/assets/paraphraser
"""

from pack_parser import start_folder, write_weights
from safetensors.numpy import load_file

from paraphrastic_hf.encoders.storage.packing import packed
from paraphrastic_hf.generation.templates import load_templates, save_templates
from paraphrastic_hf.io.files import WEIGHTS

COPIED = (
    *("recipe.yaml", "generation_config.json", "paraphrastic_tokenizer.json"),
    *("spiece.model", "tokenizer.json"),
)
MOST_TEMPLATES = 1000


def main() -> None:
    run, output = start_folder(COPIED)
    save_templates(output, list(load_templates(run).items())[:MOST_TEMPLATES])
    tensors = load_file(run / WEIGHTS)
    matrices = {name for name, tensor in tensors.items() if tensor.ndim == 2}
    found = {name: tensor for name, tensor in tensors.items() if name not in matrices}
    found |= {f"{name}.packed": packed(tensors[name], "int8") for name in matrices}
    write_weights(found, output)


if __name__ == "__main__":
    main()
