// --- the numbers of a figure as a table of what the pointer shows ---

function plainText(html) {
  const element = document.createElement("template");
  element.innerHTML = html;
  return element.content.textContent;
}

// "bias 0.12 [0.10, 0.14]" is the number of a column, "32 replicas" is not.
function labelled(line) {
  const found = /^([^\d\[−][^\d\[]*?)(?::| =)? ([−\d\[∞–].*)$/.exec(line);
  return found ? found.slice(1) : ["further", line];
}

function fromHover(text) {
  const [name, ...lines] = text.split("<br>").map(plainText);
  const row = new Map([["what", name]]);
  for (const [label, value] of lines.filter(Boolean).map(labelled)) {
    row.set(label, row.has(label) ? `${row.get(label)}; ${value}` : value);
  }
  return row;
}

function shownNumber(value) {
  if (typeof value === "number") return String(Number(value.toPrecision(5))).replace("-", "−");
  return plainText(String(value ?? "–"));
}

function fromPoints(trace, layout) {
  const isColumn = (values) => Array.isArray(values) && values.length === trace.x.length;
  const names = Object.keys(trace).filter((name) => name !== "text" && isColumn(trace[name]));
  const title = (name) => {
    const id = (trace[`${name}axis`] ?? name).replace(/^[xy]/, (letter) => `${letter}axis`);
    return plainText((layout[id]?.title?.text ?? name).replaceAll("<br>", " "));
  };
  return trace.x.map((_, at) => {
    const row = new Map(trace.name ? [["what", plainText(trace.name)]] : []);
    for (const name of names) row.set(name.length === 1 ? title(name) : name, shownNumber(trace[name][at]));
    return row;
  });
}

function rowsOf(trace, layout) {
  if (trace.hoverinfo === "skip" || trace.x?.[0] === null) return [];
  const texts = trace.customdata ?? trace.hovertext;
  if (texts) return [...new Set([texts].flat(2))].filter(Boolean).map(fromHover);
  return trace.x ? fromPoints(trace, layout) : [];
}

// Rows about the same thing are one, unless they differ in a number.
function merged(rows) {
  const byName = new Map();
  const kept = [];
  for (const row of rows) {
    const same = byName.get(row.get("what"));
    if (same && row.has("what") && [...row].every(([label, value]) => (same.get(label) ?? value) === value)) {
      for (const [label, value] of row) same.set(label, value);
    } else {
      kept.push(row);
      byName.set(row.get("what"), row);
    }
  }
  return kept;
}

function numbersOf({data, layout}) {
  return merged(data.flatMap((trace) => rowsOf(trace, layout)));
}

function tableOf(rows) {
  const labels = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  labels.sort((one, other) => (one === "further") - (other === "further"));
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const label of labels) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = label;
    const cells = rows.filter((row) => row.has(label)).map((row) => row.get(label));
    cell.className = cells.every((text) => EMPTY.includes(text) || /^[−\d\[∞]/.test(text)) ? "number" : "";
    head.append(cell);
  }
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    labels.forEach((label, at) => {
      const cell = document.createElement(at ? "td" : "th");
      if (!at) cell.scope = "row";
      cell.textContent = row.get(label) ?? "–";
      cell.className = head.cells[at].className;
      line.append(cell);
    });
  }
  return table;
}

function folded(summary) {
  const details = document.createElement("details");
  details.innerHTML = "<summary></summary><div></div>";
  details.firstChild.textContent = summary;
  return details;
}

function addNumbers(chart, current) {
  if (!numbersOf(current()).length) return () => {};
  const details = folded("The numbers of this chart");
  const box = details.lastChild;
  const label = chart.querySelector(".plot").getAttribute("aria-label");
  const fill = () => {
    if (!details.open) return;
    const table = tableOf(numbersOf(current()));
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `Numbers: ${label}`);
    scroll.append(table);
    box.replaceChildren(scroll);
    boxes.observe(scroll);
    enhance(table);
  };
  details.addEventListener("toggle", fill);
  chart.append(details);
  return fill;
}
