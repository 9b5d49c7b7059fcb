// node --expose-gc memory.mjs MODEL: memory in MB, halfway and after loading 40 encoders, then
// halfway and after encoding 200,000 lines of new words.
import { Encoder } from "../../web/paraphrastic.js";

const used = [];
const measure = () => {
  globalThis.gc();
  used.push(process.memoryUsage.rss() / 1e6);
};
let encoder;
for (const count of [20, 20]) {
  for (let i = 0; i < count; i++) encoder = await Encoder.load(process.argv[2]);
  measure();
}
let number = 0;
const line = () => Array.from({ length: 10 }, () => `é${(number++).toString(36)}`).join(" ");
for (const count of [100_000, 100_000]) {
  for (let i = 0; i < count; i += 2000) {
    const vectors = encoder.encode(Array.from({ length: 2000 }, line));
    encoder.neighbors(line(), vectors);
  }
  measure();
}
process.stdout.write(JSON.stringify(used));
