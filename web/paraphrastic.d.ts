/** One or more texts. */
export type Texts = string | readonly string[];

/** Texts, or vectors from `encode`, one after the other: (texts, dimension). */
export type TextsOrVectors = Texts | Float32Array;

/** Model files by name: `config.json`, `paraphrastic_tokenizer.json`, `model.safetensors`, `spiece.model`. */
export type Files = Record<string, ArrayBuffer | ArrayBufferView>;

export interface Neighbor {
  /** Index of the text. */
  index: number;
  /** Cosine with the query, -1 to 1. */
  similarity: number;
}

export interface Pair {
  /** Ratio margin: about 1 if the two texts are as near to their neighbors as to each other. */
  score: number;
  /** Index of the text in `source`. */
  source: number;
  /** Index of the text in `target`. */
  target: number;
}

export interface Contributions {
  /** Cosine of the two texts, -1 to 1. */
  cosine: number;
  /** Known tokens of the first text. `▁` marks the start of a word. */
  first: string[];
  /** Known tokens of the second text. */
  second: string[];
  /** Share of each pair of tokens, (first, second). The shares sum to the cosine. */
  pairs: Float64Array;
}

/** A sentence encoder that averages token vectors. */
export class Encoder {
  private constructor();

  /**
   * Load a model.
   *
   * @param source Address of a model directory, its path in Node or Deno, or its files.
   * @param options.wasm Address or content of `paraphrastic.wasm`, if it is not beside this module.
   * @throws Error if a file is missing or damaged, or the model does not average token vectors of a
   *   sentencepiece tokenizer.
   *
   * @example
   * const encoder = await Encoder.load("https://huggingface.co/NAME/resolve/main");
   */
  static load(
    source: string | URL | Files,
    options?: { wasm?: string | URL | ArrayBuffer | ArrayBufferView },
  ): Promise<Encoder>;

  /** Numbers per vector. */
  readonly dimension: number;

  /**
   * Return the vectors of texts, one after the other: (texts, dimension).
   *
   * They equal those of `SentenceEncoder.encode` in Python. Texts without known tokens give zeros.
   *
   * @param options.normalize Scale vectors to unit length.
   * @throws TypeError if a text is not a string.
   */
  encode(texts: Texts, options?: { normalize?: boolean }): Float32Array;

  /** Return the cosine of two texts, 0 if either has no known tokens. */
  similarity(first: string, second: string): number;
  /** Return the cosine of each of `first` with each of `second`: (first, second). */
  similarity(first: TextsOrVectors, second: TextsOrVectors): Float32Array;

  /**
   * Return the `k` texts nearest to a query, best first. Texts without known tokens are not listed.
   *
   * @param options.k Number of neighbors, 10 by default.
   */
  neighbors(query: string, texts: TextsOrVectors, options?: { k?: number }): Neighbor[];
  /** Return the neighbors of each query. */
  neighbors(queries: TextsOrVectors, texts: TextsOrVectors, options?: { k?: number }): Neighbor[][];

  /**
   * Find translations of each other in two lists (Artetxe and Schwenk, 2019), best first.
   *
   * Each text is in one pair at most. Memory grows with the sum of the lengths, time with their product.
   *
   * @param options.k Number of neighbors in the margin, 4 by default.
   * @param options.threshold Lowest score of a pair. No limit by default.
   * @param options.onProgress Receives the share that is done, 0 to 1.
   */
  mine(
    source: TextsOrVectors,
    target: TextsOrVectors,
    options?: { k?: number; threshold?: number; onProgress?: (share: number) => void },
  ): Promise<Pair[]>;

  /** Split the cosine of two texts into the exact shares of all pairs of their tokens. */
  contributions(first: string, second: string): Contributions;

  /** Return the known tokens of a text. `▁` marks the start of a word. */
  tokens(text: string): string[];
}
