// node encode.mjs FOLDER MODEL: embeddings of texts.json as vectors.f32.
import { readFile, writeFile } from "node:fs/promises";
import { Encoder } from "../../web/paraphrastic.js";

const [folder, model] = process.argv.slice(2);
const encoder = await Encoder.load(model);
const texts = JSON.parse(await readFile(`${folder}/texts.json`, "utf8"));
await writeFile(`${folder}/vectors.f32`, encoder.encode(texts));
