// Lines and columns of text files.

/** Split a text into rows of cells. A file named .csv or .tsv has columns, and quotes in them. */
export function columnsOf(content, name = "") {
  const separator = { csv: content.split("\n", 1)[0].includes(";") ? ";" : ",", tsv: "\t" }[name.toLowerCase().split(".").at(-1)];
  const text = content.replace(/^\ufeff/, "");
  if (!separator) return { columns: text.trim() ? ["text"] : [], longest: 0, rows: text.split(/\r\n|[\r\n]/).map((line) => [line]) };
  const [columns, ...rows] = cells(text, separator);
  const sizes = columns.map((_, k) => rows.reduce((sum, row) => sum + (row[k]?.length ?? 0), 0));
  return { columns, longest: sizes.indexOf(Math.max(...sizes)), rows };
}

/** Return the texts of a column, without empty ones. */
export const linesOf = ({ rows }, column) =>
  rows.map((row) => (row[column] ?? "").replace(/\s+/g, " ").trim()).filter(Boolean);

function cells(text, separator) {
  const rows = [[]];
  let at = 0;
  while (at < text.length) {
    let cell = "";
    if (text[at] === '"') {
      for (let end; ; at = end + 1) {
        end = text.indexOf('"', at + 1);
        if (end < 0) end = text.length;
        cell += text.slice(at + 1, end);
        if (text[end + 1] !== '"') {
          at = end + 1;
          break;
        }
        cell += '"';
      }
    }
    const start = at;
    while (at < text.length && text[at] !== separator && text[at] !== "\n") at++;
    rows.at(-1).push(cell + text.slice(start, at).replace(/\r$/, ""));
    if (text[at] === "\n" && at + 1 < text.length) rows.push([]);
    at++;
  }
  return rows;
}
