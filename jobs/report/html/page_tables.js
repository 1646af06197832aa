"use strict";

// --- tables: sorted by any column, and filtered where they are long ---

const LONG = 30;
const SHORT = 20;
const FOLLOWS = {none: "ascending", ascending: "descending", descending: "none"};
const EMPTY = ["", "–", "undefined"];
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const collator = new Intl.Collator(document.documentElement.lang, {numeric: true});

// The first number of a text such as "−0.12 [−0.25, 0.01]", "1,234", "1.2 × 10⁻³" or "1e−09"; null if there is none.
function numberIn(text) {
  const found = /([-−]?)(∞|\d[\d,]*(?:\.\d+)?)(?:\s*×\s*10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)|e([-−+]\d+))?/.exec(text);
  if (!found) return null;
  const [, sign, digits, power = "", written = ""] = found;
  const size = digits === "∞" ? Infinity : Number(digits.replaceAll(",", ""));
  const exponent = Array.from(power, (digit) => (digit === "⁻" ? "-" : RAISED.indexOf(digit))).join("");
  return (sign ? -size : size) * 10 ** Number(exponent || written.replace("−", "-"));
}

function keyOf(row, column, isNumeric) {
  const text = row.cells[column].textContent.trim();
  if (isNumeric) return numberIn(text);
  return EMPTY.includes(text) ? null : text;
}

// Rows by a column, those without a value last; rows that are alike keep their order.
function sorted(rows, column, isNumeric, direction) {
  const keyed = rows.map((row) => ({row, key: keyOf(row, column, isNumeric)}));
  keyed.sort((one, other) => {
    if (one.key === null || other.key === null) return (one.key === null) - (other.key === null);
    return direction * (isNumeric ? one.key - other.key : collator.compare(one.key, other.key));
  });
  return keyed.map(({row}) => row);
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const published = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  if (published.length < 2) return;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort: ascending, descending, as published";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const state = FOLLOWS[head.getAttribute("aria-sort") ?? "none"];
      for (const other of heads) other.removeAttribute("aria-sort");
      if (state !== "none") head.setAttribute("aria-sort", state);
      const isNumeric = head.classList.contains("number");
      const direction = state === "descending" ? -1 : 1;
      body.append(...(state === "none" ? published : sorted(published, column, isNumeric, direction)));
      body.dispatchEvent(new Event("sorted"));
    });
  });
}

// The first rows of a long table, with a field that filters all of them by words and a button that shows them.
function makeShort(table) {
  const body = table.tBodies[0];
  const num = body.rows.length;
  const isLong = num > LONG;
  if (!isLong && !table.classList.contains("list")) return;
  const textOf = (row) => Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase();
  const texts = new Map(Array.from(body.rows, (row) => [row, textOf(row)]));
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.innerHTML =
    '<label>Filter rows <input type="search" autocomplete="off"></label> ' +
    '<button type="button"></button> <span role="status"></span>';
  const [field, button, status] = tools.querySelectorAll("input, button, span");
  let isShort = isLong;
  button.hidden = !isLong;
  const show = () => {
    const wanted = field.value.trim().toLowerCase();
    const words = wanted.split(/\s+/);
    let found = 0;
    for (const row of body.rows) {
      const fits = words.every((word) => texts.get(row).includes(word));
      found += fits;
      row.hidden = !fits || (isShort && found > SHORT);
    }
    const shown = isShort ? Math.min(found, SHORT) : found;
    status.textContent = `${shown} of ${wanted ? `${found} that fit, of ` : ""}${num} rows`;
    button.textContent = isShort ? `Show all ${num} rows` : `Show ${SHORT} rows`;
  };
  field.addEventListener("input", show);
  button.addEventListener("click", () => {
    isShort = !isShort;
    show();
  });
  body.addEventListener("sorted", show);
  table.closest(".scroll").before(tools);
  show();
}

function enhance(table) {
  makeSortable(table);
  makeShort(table);
}

document.querySelectorAll("table").forEach(enhance);

// --- boxes: a stop of the tab key where there is something to scroll ---

const boxes = new ResizeObserver((entries) => {
  for (const {target: box} of entries) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (scrolls) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
});
document.querySelectorAll(".scroll, pre").forEach((box) => boxes.observe(box));
