// Sentence embeddings in browsers, workers, Node and Deno. `paraphrastic.wasm` computes them.

const FILES = ["config.json", "paraphrastic_tokenizer.json", "model.safetensors", "spiece.model"];
const FORMATS = { F32: "f", F16: "f", BF16: "H", I8: "b", U8: "B" }; // of tables, in `_rows.h`
const ITEM_BYTES = { F32: 4, F16: 2, BF16: 2, I8: 1, U8: 1 };
const SCALE_BYTES = 4; // at the end of an int8 or int4 row
const BATCH = 512; // texts encoded together
const BATCH_BYTES = 1 << 20;
const TILE = 1024; // vectors compared together
const SMALLEST_MEAN = 0.1; // means near 0 would make the ratio meaningless

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** See `paraphrastic.d.ts`. */
export class Encoder {
  #engine;
  #lowercase;
  #input; // buffer of a batch's texts
  #inputSize = 0;
  #sizes; // their lengths in bytes
  #counts; // their numbers of tokens
  #output; // their vectors

  static async load(source, { wasm = new URL("./paraphrastic.wasm", import.meta.url) } = {}) {
    const isAddress = typeof source === "string" || source instanceof URL;
    const files = FILES.map((name) => {
      if (isAddress) return read(`${source}`.replace(/\/*$/, `/${name}`));
      if (!source?.[name]) throw new Error(`The model has no file ${name}`);
      return bytes(source[name]);
    });
    const code = typeof wasm === "string" || wasm instanceof URL ? read(`${wasm}`) : wasm;
    const [module, ...contents] = await Promise.all([code, ...files]);
    const { instance } = await WebAssembly.instantiate(module);
    return new Encoder(instance.exports, ...contents);
  }

  constructor(engine, config, tokenizer, tensors, pieces) {
    const settings = checked(JSON.parse(decoder.decode(config)), JSON.parse(decoder.decode(tokenizer)));
    const { format, rows, numbers } = readTable(tensors, settings.dimension);
    engine._initialize();
    this.#engine = engine;
    this.#lowercase = settings.lowercase;
    this.dimension = settings.dimension;
    const { lowercase, keep_unknown } = settings;
    const count = engine.model(this.#copy(pieces), pieces.length, +lowercase, +keep_unknown);
    if (count !== rows) throw new Error(`spiece.model has ${count} pieces, but the table has ${rows} rows`);
    this.#check(engine.table(this.#copy(numbers), format.charCodeAt(0), rows, this.dimension));
    this.#input = engine.allocate(0);
    this.#sizes = engine.allocate(4 * BATCH);
    this.#counts = engine.allocate(4 * BATCH);
    this.#output = engine.allocate(4 * BATCH * this.dimension);
  }

  encode(texts, { normalize = false } = {}) {
    const list = typeof texts === "string" ? [texts] : texts;
    if (!Array.isArray(list)) throw new TypeError(`texts must be a string or an array of strings, got ${list}`);
    const vectors = new Float32Array(list.length * this.dimension);
    for (let start = 0; start < list.length; ) {
      const count = this.#encodeBatch(list, start, normalize);
      const batch = this.#view(Float32Array, this.#output, count * this.dimension);
      vectors.set(batch, start * this.dimension);
      start += count;
    }
    return vectors;
  }

  similarity(first, second) {
    const [one, other] = [this.#vectors(first), this.#vectors(second)];
    const width = other.length / this.dimension;
    const cosines = new Float32Array((one.length / this.dimension) * width);
    for (const { row, column, rows, columns, values } of this.#tiles(one, other))
      for (let i = 0; i < rows; i++)
        for (let j = 0; j < columns; j++)
          cosines[(row + i) * width + column + j] = clipped(values[i * columns + j]);
    return typeof first === "string" && typeof second === "string" ? cosines[0] : cosines;
  }

  neighbors(queries, texts, { k = 10 } = {}) {
    const [one, other] = [this.#vectors(queries), this.#vectors(texts)];
    const best = new Best(one.length / this.dimension, k, other.length / this.dimension);
    for (const { row, column, rows, columns, values } of this.#tiles(one, other))
      for (let i = 0, at = 0; i < rows; i++)
        for (let j = 0; j < columns; j++) best.offer(row + i, column + j, values[at++]);
    const found = Array.from({ length: best.rows }, (_, row) => best.list(row));
    return typeof queries === "string" ? found[0] : found;
  }

  async mine(source, target, { k = 4, threshold = -Infinity, onProgress = () => {} } = {}) {
    const [one, other] = [this.#vectors(source), this.#vectors(target)];
    const [height, width] = [one.length / this.dimension, other.length / this.dimension];
    const [forward, backward] = [new Best(height, k, width), new Best(width, k, height)];
    for (const { row, column, rows, columns, values } of this.#tiles(one, other)) {
      for (let i = 0, at = 0; i < rows; i++)
        for (let j = 0; j < columns; j++, at++) {
          forward.offer(row + i, column + j, values[at]);
          backward.offer(column + j, row + i, values[at]);
        }
      onProgress((row + (rows * (column + columns)) / width) / height);
      await new Promise((resume) => setTimeout(resume)); // lets the page respond
    }
    return link(forward, backward, threshold);
  }

  contributions(first, second) {
    const [one, other] = [this.#parts(first), this.#parts(second)];
    const pairs = new Float64Array(one.length * other.length);
    one.forEach((a, i) =>
      other.forEach((b, j) => {
        for (let d = 0; d < this.dimension; d++) pairs[i * other.length + j] += a[d] * b[d];
      }),
    );
    const cosine = clipped(pairs.reduce((sum, share) => sum + share, 0));
    return { cosine, first: this.tokens(first), second: this.tokens(second), pairs };
  }

  tokens(text) {
    return Array.from(this.#ids(text), (id) => {
      const size = this.#engine.piece_size(id);
      return decoder.decode(this.#view(Uint8Array, this.#engine.piece(id), size));
    });
  }

  /** Encode a batch of texts from `start` into the output buffer and return their number. */
  #encodeBatch(texts, start, normalize) {
    let [count, used] = [0, 0];
    for (; count < BATCH && start + count < texts.length && used < BATCH_BYTES; count++) {
      const text = texts[start + count];
      if (typeof text !== "string") throw new TypeError(`texts[${start + count}] must be a string, got ${text}`);
      const room = 3 * text.length; // bytes of UTF-8 at most
      if (used + room > this.#inputSize) this.#grow(used, used + room);
      const { written } = encoder.encodeInto(text, this.#view(Uint8Array, this.#input + used, room));
      this.#view(Uint32Array, this.#sizes, BATCH)[count] = written;
      used += written;
    }
    const engine = this.#engine;
    this.#check(engine.encode(this.#input, this.#sizes, count, +normalize, this.#output, this.#counts));
    if (engine.asked_size()) {
      const words = decoder.decode(this.#view(Uint8Array, engine.asked(), engine.asked_size()));
      const lines = encoder.encode(normalized(words, this.#lowercase));
      const copy = this.#copy(lines);
      this.#check(engine.answer(copy, lines.length));
      engine.release(copy);
    }
    return count;
  }

  #grow(used, size) {
    const grown = this.#engine.allocate(2 * size);
    this.#check(+!grown);
    this.#view(Uint8Array, grown, used).set(this.#view(Uint8Array, this.#input, used));
    this.#engine.release(this.#input);
    [this.#input, this.#inputSize] = [grown, 2 * size];
  }

  /** Yield the cosines of all rows with all columns in tiles; NaN for zero vectors. */
  *#tiles(one, other) {
    const [dimension, engine] = [this.dimension, this.#engine];
    const [height, width] = [one.length / dimension, other.length / dimension];
    const sizes = [TILE * dimension, TILE * dimension, TILE * TILE];
    const buffers = sizes.map((size) => engine.allocate(4 * size));
    this.#check(+buffers.includes(0));
    const part = (vectors, from) => vectors.subarray(from * dimension, (from + TILE) * dimension);
    try {
      for (let row = 0; row < height; row += TILE) {
        const rows = Math.min(TILE, height - row);
        this.#view(Float32Array, buffers[0], sizes[0]).set(part(one, row));
        engine.normalize(buffers[0], rows, dimension);
        for (let column = 0; column < width; column += TILE) {
          const columns = Math.min(TILE, width - column);
          this.#view(Float32Array, buffers[1], sizes[1]).set(part(other, column));
          engine.cosines(buffers[0], rows, buffers[1], columns, dimension, buffers[2]);
          const values = this.#view(Float32Array, buffers[2], rows * columns);
          yield { row, column, rows, columns, values };
        }
      }
    } finally {
      buffers.forEach((buffer) => engine.release(buffer));
    }
  }

  #vectors(side) {
    if (!(side instanceof Float32Array)) return this.encode(side);
    if (side.length % this.dimension) throw new RangeError(`${side.length} numbers are not vectors of ${this.dimension}`);
    return side;
  }

  #ids(text) {
    this.#encodeBatch([text], 0, false);
    const [count] = this.#view(Int32Array, this.#counts, 1);
    return this.#view(Int32Array, this.#engine.ids(), count).slice();
  }

  /** Return the token vectors of a text, divided by the length of their sum. */
  #parts(text) {
    const rows = Array.from(this.#ids(text), (id) => {
      this.#engine.row(id, this.#output);
      return Float64Array.from(this.#view(Float32Array, this.#output, this.dimension));
    });
    const total = new Float64Array(this.dimension).map((_, d) => rows.reduce((sum, row) => sum + row[d], 0));
    const length = Math.hypot(...total);
    return rows.map((row) => row.map((value) => (length ? value / length : 0)));
  }

  #view(Kind, address, length) {
    return new Kind(this.#engine.memory.buffer, address, length);
  }

  #copy(content) {
    const address = this.#engine.allocate(content.length);
    this.#check(+!address);
    this.#view(Uint8Array, address, content.length).set(content);
    return address;
  }

  #check(failed) {
    if (failed) throw new RangeError("Out of memory: encode fewer or shorter texts at a time");
  }
}

/** The `k` highest scores of each row. Among equal ones, the first counts. */
class Best {
  constructor(rows, k, columns) {
    if (!(Number.isInteger(k) && k >= 1)) throw new RangeError(`k must be a positive integer, got ${k}`);
    this.rows = rows;
    this.k = Math.min(k, columns);
    this.scores = new Float32Array(rows * this.k).fill(-Infinity);
    this.indices = new Uint32Array(rows * this.k);
  }

  offer(row, index, score) {
    const first = row * this.k;
    let at = first + this.k - 1;
    if (!(score > this.scores[at])) return; // NaN never is
    for (; at > first && score > this.scores[at - 1]; at--) {
      this.scores[at] = this.scores[at - 1];
      this.indices[at] = this.indices[at - 1];
    }
    this.scores[at] = score;
    this.indices[at] = index;
  }

  list(row) {
    const found = [];
    for (let at = row * this.k; at < (row + 1) * this.k && this.scores[at] > -Infinity; at++)
      found.push({ index: this.indices[at], similarity: clipped(this.scores[at]) });
    return found;
  }
}

/** Choose pairs by the ratio margin, each text once, best first. */
function link(forward, backward, threshold) {
  const lists = [forward, backward].map((best) => Array.from({ length: best.rows }, (_, row) => best.list(row)));
  const means = lists.map((side) =>
    side.map((list) => list.reduce((sum, { similarity }) => sum + similarity, 0) / list.length),
  );
  const candidates = new Map(); // each text with the neighbor of the highest score
  lists.forEach((side, which) =>
    side.forEach((list, row) => {
      let best = { score: -Infinity };
      for (const { index, similarity } of list) {
        const mean = (means[which][row] + means[1 - which][index]) / 2;
        const score = Math.fround(similarity / Math.max(mean, SMALLEST_MEAN));
        const [source, target] = which ? [index, row] : [row, index];
        if (score > best.score) best = { score, source, target };
      }
      if (list.length && best.score >= threshold) candidates.set(best.source * backward.rows + best.target, best);
    }),
  );
  const used = [new Set(), new Set()];
  const order = (a, b) => b.score - a.score || a.source - b.source || a.target - b.target;
  return [...candidates.values()].sort(order).filter(({ source, target }) => {
    const isFree = !used[0].has(source) && !used[1].has(target);
    if (isFree) used[0].add(source), used[1].add(target);
    return isFree;
  });
}

const clipped = (cosine) => Math.max(-1, Math.min(1, cosine || 0)); // 0 for NaN

const bytes = (content) =>
  ArrayBuffer.isView(content)
    ? new Uint8Array(content.buffer, content.byteOffset, content.byteLength)
    : new Uint8Array(content);

async function read(address) {
  if (globalThis.process?.versions?.node && !/^(https?|data|blob):/.test(address)) {
    const { readFile } = await import("node:fs/promises");
    return readFile(address.startsWith("file:") ? new URL(address) : address);
  }
  const response = await fetch(address);
  if (!response.ok) throw new Error(`Cannot load ${address}: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** Return the settings of a model, if it can run here. */
function checked(config, tokenizer) {
  if (config.model_type !== "paraphrastic-averaging")
    throw new Error(`Only averaging models run here, and this one is ${config.model_type}`);
  if (tokenizer.kind !== "sentencepiece" || tokenizer.marks)
    throw new Error(`Only sentencepiece tokenizers without marks run here, and this one is ${tokenizer.kind}`);
  const { lowercase, keep_unknown } = tokenizer;
  return { dimension: config.hidden_size, lowercase, keep_unknown };
}

/** Read the token table of a safetensors file. */
function readTable(content, dimension) {
  const damaged = (what) => new Error(`model.safetensors is damaged (${what}). Download the model again`);
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const size = content.length < 8 ? Infinity : Number(view.getBigUint64(0, true));
  if (8 + size > content.length) throw damaged("its header is cut short");
  const header = JSON.parse(decoder.decode(content.subarray(8, 8 + size)));
  const tensor = header["embedding.packed"] ?? header["embedding.weight"];
  const format = FORMATS[tensor?.dtype];
  if (!format) throw damaged("it has no token table");
  const [rows, columns] = tensor.shape;
  const [start, end] = tensor.data_offsets;
  let numbers = content.subarray(8 + size + start, 8 + size + end);
  if (numbers.length !== rows * columns * ITEM_BYTES[tensor.dtype]) throw damaged("its table is cut short");
  const wide = { b: dimension + SCALE_BYTES, B: Math.ceil(dimension / 2) + SCALE_BYTES };
  if (columns !== (wide[format] ?? dimension)) throw damaged(`its table has ${columns} columns`);
  if (tensor.dtype === "F16") numbers = bytes(widened(numbers));
  return { format, rows, numbers };
}

/** Convert float16 numbers to float32. */
function widened(numbers) {
  const values = Float32Array.from({ length: 1 << 16 }, (_, bits) => {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size = exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24;
    return bits >> 15 ? -size : size;
  });
  const halves = new Uint16Array(new Uint8Array(numbers).buffer);
  const wide = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) wide[i] = values[halves[i]];
  return wide;
}

// Characters that newer versions of Unicode compose or reorder. Models were trained without.
const NEWER = new RegExp(`([${`
  7fd 897-89f 8ca-8d3 9fe c3c d3b-d3c eba 1715 1abf-1add 1ae0-1aeb 1df6-1dfa 32ff
  a7f1-a7f4 a82c ab69 10781-10785 10787-107b0 107b2-107ba 10d24-10d27 10d69-10d6d
  10eab-10eac 10efa-10efb 10efd-10eff 10f46-10f50 10f82-10f85 11070 1133b 113ce-113d0
  1145e 11839-1183a 1193d-1193e 11943 119e0 11a34 11a47 11a99 11d42 11d44-11d45 11d97
  11f41-11f42 1612f 16ff0-16ff1 1ccd6-1ccf9 1e030-1e06d 1e08f 1e130-1e136 1e2ae
  1e2ec-1e2ef 1e4ec-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5 1f16c 1fbf0-1fbf9
`.trim().replace(/\s+/g, " ").replace(/[^ -]+/g, "\\u{$&}").replaceAll(" ", "")}]+)`, "u");

/** Normalize lines of text as `text/normalize.py` does. Each line stays a line. */
function normalized(lines, lowercase) {
  let text = lines.replaceAll("\u00ad", "");
  const compose = (form) => text.split(NEWER).map((part, i) => (i % 2 ? part : part.normalize(form))).join("");
  text = compose("NFKC");
  if (lowercase) {
    text = text.replaceAll("\u03a3", "\u03c3").toLowerCase(); // a final sigma stays a plain one
    text = compose("NFC");
  }
  return text
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/(?:(?!\n)[\s\p{Cc}\p{Cf}\u2581\ufffd])+/gu, " ");
}
