// A contender of browser.py: loads an encoder, warms it up and times it, in Node or in a page.

const OURS = "/web/paraphrastic.js";
const PEER = "/peer/@huggingface/transformers/dist/";
const BATCH = 64; // texts per call of the peer

/** Return milliseconds to the first vector, to encode `lines`, and the first vector. */
export async function measure({ kind, model, warm, lines }, root = "") {
  const begin = performance.now();
  const encode = kind === "ours" ? await ours(root, model) : await peer(root, kind, model);
  const first = await encode(["A cat is asleep on the couch."]);
  const opened = performance.now() - begin;
  await encode(warm);
  const start = performance.now();
  await encode(lines);
  return { opened, encoded: performance.now() - start, vector: [...first] };
}

async function ours(root, model) {
  const { Encoder } = await import(root + OURS);
  const encoder = await Encoder.load(`${root}/models/${model}`);
  return async (texts) => encoder.encode(texts, { normalize: true });
}

async function peer(root, kind, model) {
  const { env, pipeline } = await import(root + PEER + (root ? "transformers.node.mjs" : "transformers.min.js"));
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.localModelPath = `${root}/models/`;
  if (!root) {
    env.backends.onnx.wasm.wasmPaths = `${location.origin}/peer/onnxruntime-web/dist/`;
    env.backends.onnx.wasm.numThreads = 1;
  }
  const session_options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
  const dtype = kind === "static" ? "fp32" : "q8";
  const extract = await pipeline("feature-extraction", model, { dtype, session_options });
  return async (texts) => {
    let found;
    for (let start = 0; start < texts.length; start += BATCH)
      found = await extract(texts.slice(start, start + BATCH), { pooling: "mean", normalize: true });
    return found.data;
  };
}

if (globalThis.process?.versions?.node) {
  const { readFile } = await import("node:fs/promises");
  const [root, name] = process.argv.slice(2);
  const given = JSON.parse(await readFile(name, "utf8"));
  console.log(JSON.stringify(await measure(given, root)));
}
