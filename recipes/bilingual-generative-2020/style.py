"""Style transfer on text that no recipe trains on, by rule (thesis, 5.7.3, Table 53).

Sources are every second distinct sentence of SICK's trial split, from its first; the style of each
is the sentence five places on. Prints how near the output is to either, and the first samples as
they come.
"""

from __future__ import annotations

import argparse

import numpy as np

from paraphrastic_hf import LatentGenerator, SentenceEncoder, Writing, load_dataset
from paraphrastic_hf.markdown import literal, markdown_table

STEP, SHIFT = 2, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="output of `paraphrastic train` with a generative recipe")
    parser.add_argument("--data", required=True, help="the folder of official files, DATA/eval")
    parser.add_argument("--count", type=int, default=300, help="sources, at most")
    parser.add_argument("--samples", type=int, default=8, help="samples shown")
    parser.add_argument("--language", default="en")
    args = parser.parse_args()

    rows = load_dataset("sick", split="validation", data_dir=args.data)
    texts = list(dict.fromkeys(row["sentence1"] for row in rows))
    sources = texts[:-SHIFT:STEP][: args.count]
    styles = texts[SHIFT::STEP][: len(sources)]
    sources = sources[: len(styles)]

    generator = LatentGenerator.from_pretrained(args.model)
    written = generator.transfer(
        sources, styles, language=args.language, writing=Writing(max_tokens=60), progress=True
    )
    outputs = [sentences[0].text for sentences in written]
    judge = SentenceEncoder.from_pretrained("english")

    def words(lines: list[str]) -> np.ndarray:
        return np.array([len(line.split()) for line in lines], float)

    def near(lines: list[str]) -> list[str]:
        cosine = float(judge.similarity_pairwise(outputs, lines).mean())
        length = float(np.corrcoef(words(outputs), words(lines))[0, 1])
        return [f"{cosine:.2f}", f"{length:.2f}"]

    columns = ["beside", "meaning: mean cosine by `english`", "length: Pearson's r of words"]
    rows = [["the source", *near(sources)], ["the style", *near(styles)]]
    print(f"{len(outputs)} outputs, {sum(not text for text in outputs)} of them empty.\n")
    print("\n".join(markdown_table(columns, rows)), "\n")
    triples = list(zip(sources, styles, outputs, strict=True))[: args.samples]
    shown = [[literal(text) for text in triple] for triple in triples]
    print("\n".join(markdown_table(["source", "style", "output"], shown, "lll")))


if __name__ == "__main__":
    main()
