import { Encoder } from "paraphrastic";
import { columnsOf, linesOf } from "tables";
import { examples, lists, sample } from "samples";

const $ = (id) => document.getElementById(id);
const html = document.documentElement;
const NAMES = ["config.json", "paraphrastic_tokenizer.json", "model.safetensors", "spiece.model"];
const PART = 4096; // lines encoded before the page responds again
const RESULTS = 20;
const MOST_LINES = 100_000; // 205 MB of vectors with `english`
const MOST_LINKS = 20_000; // pairs of tokens drawn

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// ---- models

const models = {}; // promises by name

function load(name) {
  models[name] ??= fetchModel(name).catch((error) => {
    delete models[name];
    throw error;
  });
  return models[name];
}

/** Load a model from this file or from the folder beside it, and show the progress. */
async function fetchModel(name) {
  const begin = performance.now();
  const files = {};
  const embedded = (file) => $(`${name}/${file}`)?.textContent;
  if (!embedded(NAMES[0]) && location.protocol === "file:") throw askForFolder(name);
  for (const file of NAMES) {
    const content = embedded(file);
    files[file] = content ? decoded(content) : await download(`${html.dataset.models}${name}/${file}`, name);
  }
  const wasm = $("paraphrastic.wasm")?.textContent;
  const encoder = await Encoder.load(files, wasm ? { wasm: decoded(wasm) } : {});
  const seconds = ((performance.now() - begin) / 1000).toFixed(2);
  $("status").textContent = `${name} is ready: ${encoder.dimension} dimensions, loaded in ${seconds} s`;
  return encoder;
}

const decoded = (base64) =>
  Uint8Array.fromBase64?.(base64) ?? Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

async function download(address, name) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`Cannot load ${address}: ${response.status}`);
  const size = Number(response.headers.get("Content-Length"));
  const parts = [];
  let received = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    received += value.length;
    const share = size >= received ? ` of ${megabytes(size)}` : "";
    $("status").textContent = `Loading ${name}: ${megabytes(received)}${share} MB`;
  }
  return new Blob(parts).arrayBuffer();
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

function askForFolder(name) {
  $("folder").hidden = false;
  $("folder").firstChild.data = `Choose the folder models/${name}`;
  $("folder").querySelector("input").onchange = async ({ target }) => {
    const files = {};
    for (const file of target.files) if (NAMES.includes(file.name)) files[file.name] = await file.arrayBuffer();
    models[name] = Encoder.load(files, { wasm: decoded($("paraphrastic.wasm").textContent) });
    await run(models[name]);
    $("folder").hidden = true;
    $("status").textContent = `${name} is ready`;
    await refresh();
  };
  return new Error(
    `This page was opened from disk, and browsers do not let it read the model beside it. ` +
      `Choose the folder models/${name} below.`,
  );
}

/** Show the error of a promise, if it fails. */
async function run(promise) {
  try {
    $("notice").hidden = true;
    return await promise;
  } catch (error) {
    $("notice").textContent = error.message;
    $("notice").hidden = false;
    $("status").textContent = "Not loaded";
  }
}

const chosen = () => load($("model").value);

// ---- compare

async function compare() {
  const encoder = await run(chosen());
  if (!encoder) return;
  const texts = [$("first").value, $("second").value];
  const count = texts.reduce((product, text) => product * encoder.tokens(text).length, 1);
  const cosine = encoder.similarity(...texts);
  $("cosine").value = count ? signed(cosine.toFixed(2)) : "–";
  $("compare").querySelector(".gauge i").style.width = `${Math.max(0, cosine) * 100}%`;
  const isLong = count > MOST_LINKS;
  $("long").hidden = !isLong;
  $("explained").hidden = isLong;
  const { first, second, pairs } = encoder.contributions(...(isLong ? ["", ""] : texts));
  draw(first, second, pairs);
}

const signed = (number) => number.replace("-", "−");

function draw(first, second, pairs) {
  const share = (i, j) => pairs[i * second.length + j];
  const of = [
    first.map((_, i) => second.reduce((sum, _, j) => sum + share(i, j), 0)),
    second.map((_, j) => first.reduce((sum, _, i) => sum + share(i, j), 0)),
  ];
  const largest = Math.max(0.05, ...of.flat().map(Math.abs));
  const rows = [...$("tokens").querySelectorAll(".tokens")];
  const chips = [first, second].map((tokens, side) => {
    const words = [];
    const made = tokens.map((token, i) => {
      if (!words.length || token.startsWith("▁")) words.push(element("span", { className: "word" }));
      const hundredths = signed((100 * of[side][i]).toFixed(1));
      const chip = element("span", { className: "chip", tabIndex: 0 }, token.replace(/^▁(?=.)/, ""));
      chip.append(element("small", { textContent: hundredths }));
      tint(chip, of[side][i] / largest);
      chip.onmouseenter = chip.onfocus = () => focus(side, i);
      chip.onmouseleave = chip.onblur = () => focus();
      words.at(-1).append(chip);
      return chip;
    });
    rows[side].replaceChildren(...words);
    return made;
  });
  drawing = { chips, share, of, largest };
  focus();
}

function tint(chip, part) {
  chip.style.setProperty("--tone", part < 0 ? "var(--against)" : "var(--with)");
  chip.style.setProperty("--depth", Math.min(1, Math.abs(part)).toFixed(3));
}

let drawing = { chips: [[], []] };

/** Draw the links between tokens, or only those of one token. */
function focus(side, number) {
  const { chips, share, of, largest } = drawing;
  const isOn = (i, j) => side === undefined || (side ? j : i) === number;
  const box = $("tokens").getBoundingClientRect();
  const links = [];
  chips[0].forEach((one, i) =>
    chips[1].forEach((other, j) => {
      const part = share(i, j) / largest;
      if (!isOn(i, j) || Math.abs(part) < 0.04) return;
      const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
      const [x1, y1, x2, y2] = [a.x + a.width / 2 - box.x, a.bottom - box.y, b.x + b.width / 2 - box.x, b.y - box.y];
      const bend = (y1 + y2) / 2;
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", `M${x1} ${y1}C${x1} ${bend} ${x2} ${bend} ${x2} ${y2}`);
      path.setAttribute("stroke-width", 1 + 7 * Math.min(1, Math.abs(part)));
      path.setAttribute("opacity", 0.2 + 0.55 * Math.min(1, Math.abs(part)));
      path.style.stroke = part < 0 ? "var(--against)" : "var(--with)";
      links.push(path);
    }),
  );
  $("tokens").querySelector("svg").replaceChildren(...links);
  $("tokens").classList.toggle("focused", side !== undefined);
  chips.forEach((row, which) =>
    row.forEach((chip, k) => {
      const isSelf = which === side && k === number;
      const value = side === undefined || which === side ? of[which][k] : side ? share(k, number) : share(number, k);
      chip.classList.toggle("on", isSelf || (which !== side && Math.abs(value) / largest >= 0.04));
      chip.lastChild.textContent = signed((100 * value).toFixed(1));
      tint(chip, value / largest);
    }),
  );
}

// ---- search

let table = { columns: [] };
let indexed = { lines: [], vectors: new Float32Array() };
let reading = 0; // number of the latest reading; older ones stop

function showTable(content, name = "") {
  table = { ...columnsOf(content, name) };
  $("columns").hidden = table.columns.length < 2;
  const options = table.columns.map((column, k) => new Option(column, k));
  $("columns").querySelector("select").replaceChildren(...options);
  $("columns").querySelector("select").value = table.longest;
  return readLines();
}

/** Encode the lines of the chosen column, with pauses in which the page responds. */
async function readLines() {
  const own = ++reading;
  const encoder = await run(chosen());
  if (!encoder || !table.columns.length) return;
  const all = linesOf(table, Number($("columns").querySelector("select").value) || 0);
  const lines = all.slice(0, MOST_LINES);
  const vectors = new Float32Array(lines.length * encoder.dimension);
  const begin = performance.now();
  $("indexing").hidden = false;
  for (let start = 0; start < lines.length; start += PART) {
    vectors.set(encoder.encode(lines.slice(start, start + PART)), start * encoder.dimension);
    $("indexing").value = start / lines.length;
    await new Promise((resume) => setTimeout(resume));
    if (own !== reading) return;
  }
  const seconds = (performance.now() - begin) / 1000;
  indexed = { lines, vectors };
  $("indexing").hidden = true;
  const cut = all.length > lines.length ? ` The other ${(all.length - lines.length).toLocaleString()} were left out.` : "";
  $("indexed").textContent = lines.length
    ? `${lines.length.toLocaleString()} lines, read in ${seconds.toFixed(2)} s.${cut}`
    : "The text has no lines.";
  await search();
}

async function search() {
  const encoder = await run(chosen());
  const query = $("query").value.trim();
  const { lines, vectors } = indexed;
  const isReady = encoder && query && vectors.length === lines.length * encoder.dimension;
  const found = isReady ? encoder.neighbors(query, vectors, { k: RESULTS }) : [];
  const items = found.map(({ index, similarity }) => {
    const button = element("button", { type: "button", title: "Search for this line" });
    button.style.setProperty("--share", `${Math.max(0, similarity) * 100}%`);
    button.append(element("b", { textContent: signed(similarity.toFixed(2)) }));
    button.append(element("span", { textContent: shortened(lines[index]) }));
    button.onclick = () => {
      $("query").value = lines[index];
      search();
    };
    return element("li", {}, button);
  });
  if (isReady && lines.length && !items.length)
    items.push(element("li", { className: "note", textContent: `The model knows no word of “${shortened(query)}”.` }));
  $("results").replaceChildren(...items);
}

const shortened = (line) => (line.length > 400 ? `${line.slice(0, 400)}…` : line);

async function openFile(file) {
  if (file) await run(file.text().then((content) => showTable(content, file.name)));
}

// ---- mine

let pairs = [];

async function mine() {
  const encoder = await run(load("multilingual"));
  if (!encoder) return;
  const [source, target] = [$("source"), $("target")].map(({ value }) => linesOf(columnsOf(value), 0));
  const begin = performance.now();
  const threshold = Number($("threshold").value);
  const onProgress = (share) => ($("matching").value = share);
  $("match").disabled = true;
  $("matching").hidden = false;
  const found = await run(encoder.mine(source, target, { threshold, onProgress }));
  $("match").disabled = false;
  $("matching").hidden = true;
  if (!found) return;
  const seconds = ((performance.now() - begin) / 1000).toFixed(2);
  pairs = found.map((pair) => [pair.score.toFixed(3), source[pair.source], target[pair.target]]);
  const shown = pairs.slice(0, 500).map((cells) => element("tr", {}, ...cells.map((cell) => element("td", { textContent: cell }))));
  $("pairs").tBodies[0].replaceChildren(...shown);
  $("pairs").hidden = $("save").hidden = !pairs.length;
  const first = pairs.length > shown.length ? ` The first ${shown.length} are shown.` : "";
  $("matched").textContent =
    `${pairs.length.toLocaleString()} pairs from ${source.length.toLocaleString()} and ` +
    `${target.length.toLocaleString()} lines, in ${seconds} s.${first}`;
}

function save() {
  const rows = pairs.map((cells) => cells.map((cell) => cell.replaceAll("\t", " ")).join("\t"));
  const address = URL.createObjectURL(new Blob([rows.join("\n"), "\n"], { type: "text/tab-separated-values" }));
  element("a", { href: address, download: "pairs.tsv" }).click();
  URL.revokeObjectURL(address);
}

// ---- the page

function show() {
  const name = ["compare", "search", "mine"].find((id) => location.hash === `#${id}`) ?? "compare";
  for (const section of document.querySelectorAll("section")) section.hidden = section.id !== name;
  for (const link of document.querySelectorAll("nav a"))
    link.hash === `#${name}` ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  $("model").parentElement.hidden = name === "mine"; // which has a model of its own
  if (name === "compare" && drawing.share) focus();
}

const refresh = () => Promise.all([compare(), readLines()]);

for (const [name, first, second] of examples) {
  const button = element("button", { type: "button", className: "quiet", textContent: name });
  button.onclick = () => {
    [$("first").value, $("second").value] = [first, second];
    compare();
  };
  $("examples").append(button);
}
$("first").oninput = $("second").oninput = compare;
$("query").oninput = search;
$("model").onchange = refresh;
$("columns").onchange = readLines;
$("file").onchange = ({ target }) => openFile(target.files[0]);
$("sample").onclick = () => run(showTable(sample));
$("paste").onclick = () => {
  $("lines").hidden = false;
  $("lines").focus();
};
$("lines").oninput = () => showTable($("lines").value);
$("drop").ondragover = (event) => {
  event.preventDefault();
  $("drop").classList.add("over");
};
$("drop").ondragleave = () => $("drop").classList.remove("over");
$("drop").ondrop = (event) => {
  event.preventDefault();
  $("drop").classList.remove("over");
  openFile(event.dataTransfer.files[0]);
};
$("match").onclick = mine;
$("match-sample").onclick = () => {
  [$("source").value, $("target").value] = lists;
};
$("save").onclick = save;
$("theme").onclick = () => {
  const isDark = getComputedStyle(html).colorScheme === "dark" ||
    (!html.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  html.dataset.theme = isDark ? "light" : "dark";
};
addEventListener("hashchange", show);
addEventListener("resize", () => drawing.share && focus());
show();
compare();
