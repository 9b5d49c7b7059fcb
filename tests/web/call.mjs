// node call.mjs MODEL METHOD ARGUMENTS: prints the result of a method of the encoder as JSON.
import { Encoder } from "../../web/paraphrastic.js";

const [model, method, given] = process.argv.slice(2);
const encoder = await Encoder.load(model);
const found = await encoder[method](...JSON.parse(given));
process.stdout.write(JSON.stringify(ArrayBuffer.isView(found) ? [...found] : found, (_, value) =>
  ArrayBuffer.isView(value) ? [...value] : value));
