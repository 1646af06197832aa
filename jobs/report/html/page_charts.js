// --- charts: drawn for the width that there is, with their numbers as tables ---

const NARROW = 600;
const PAPER = 660; // A4 within its margins, in pixels
const LETTER = 7; // pixels, on average
const settings = {displaylogo: false, modeBarButtons: [["toImage", "resetScale2d"]]};

// --- what fits ---

function wrapped(text, letters) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line && line.length + word.length >= letters) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines.join("<br>");
}

function axesOf(layout, letter) {
  return Object.keys(layout).filter((name) => name.startsWith(`${letter}axis`)).map((name) => layout[name]);
}

function fitAxis(axis, room, isNarrow) {
  const text = axis.title?.text;
  if (text) axis.title.text = wrapped(text, room / LETTER);
  if (isNarrow && !axis.tickvals && !axis.dtick) axis.nticks = Math.max(2, Math.floor(room / 45));
}

// Of labels of many lines, a phone has room for two; the numbers below the chart have the others.
function shortenLabels(axis) {
  if (!axis.ticktext?.some((text) => text.includes("<br>"))) return;
  const shortened = (text) => text.split("<br>").slice(0, 2).map((line) => wrapped(line, 18)).join("<br>");
  Object.assign(axis, {ticktext: axis.ticktext.map(shortened), tickfont: {size: 11}});
}

// A legend or a scale of colours beside the plot leaves no room for it on a phone: there they stand below.
function legendBelow(layout, data) {
  const num = data.filter((trace) => trace.showlegend !== false && trace.name).length;
  const room = 24 * Math.ceil(num / 2) + 40;
  const title = {...layout.legend.title, side: "top"};
  layout.legend = {orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom", font: {size: 12}, title};
  makeRoomBelow(layout, room);
}

function scaleBelow(layout, bar) {
  const isClear = axesOf(layout, "x").some((axis) => axis.side === "top" || axis.visible === false);
  const y = -(isClear ? 10 : 70) / Math.max(layout.height - 150, 50);
  layout.height += 80; // Plotly sets the margin itself.
  const title = {...bar.title, text: bar.title?.text?.replaceAll("<br>", " "), side: "bottom"};
  return {...bar, title, orientation: "h", x: 0.5, y, yanchor: "top", len: 0.8};
}

function makeRoomBelow(layout, room) {
  layout.height += room;
  layout.margin = {...layout.margin, b: (layout.margin?.b ?? 50) + room};
}

function fitMarkers(layout, trace, width) {
  if (width < NARROW && trace.type === "bar") return {...trace, textfont: {size: 10}};
  if (width >= NARROW || !trace.marker?.colorbar) return {...trace};
  return {...trace, marker: {...trace.marker, colorbar: scaleBelow(layout, trace.marker.colorbar)}};
}

function fitHeatmap(layout, trace, width) {
  const fitting = {...trace};
  if (width < NARROW && trace.showscale !== false) fitting.colorbar = scaleBelow(layout, trace.colorbar ?? {});
  if ((width - 130) / trace.z[0].length >= 38) return fitting;
  for (const axis of axesOf(layout, "x")) standUpright(layout, axis);
  return {...fitting, texttemplate: ""};
}

// Labels of narrow columns, with room for the longest.
function standUpright(layout, axis) {
  if (!axis.ticktext || axis.tickangle === -90) return;
  const ticktext = axis.ticktext.map((text) => text.replaceAll("<br>", " "));
  Object.assign(axis, {ticktext, tickangle: -90, tickfont: {size: 12}});
  const side = axis.side === "top" ? "t" : "b";
  const [given, needed] = [layout.margin?.[side] ?? 50, Math.max(...ticktext.map((text) => text.length)) * LETTER + 15];
  if (needed <= given) return;
  layout.height += needed - given;
  layout.margin = {...layout.margin, [side]: needed};
}

function fitted(figure, width) {
  const isNarrow = width < NARROW;
  const layout = structuredClone(figure.layout);
  const share = ({domain: [from, to] = [0, 1]}) => to - from;
  for (const axis of axesOf(layout, "x")) fitAxis(axis, share(axis) * (width - 80), isNarrow);
  for (const axis of axesOf(layout, "y")) fitAxis(axis, share(axis) * (layout.height - 90), false);
  if (isNarrow) axesOf(layout, "y").forEach(shortenLabels);
  if (isNarrow && layout.legend?.orientation === "v") legendBelow(layout, figure.data);
  if (layout.width > width) layout.width = width;
  const data = figure.data.map((trace) => (trace.type === "heatmap" ? fitHeatmap : fitMarkers)(layout, trace, width));
  return {data, layout};
}

// --- lines that are shown at will, where some are not shown at first ---

function linesOf(data) {
  const lines = new Map();
  data.forEach((trace, at) => {
    const group = trace.legendgroup ?? String(at);
    if (!lines.has(group)) lines.set(group, {traces: []});
    lines.get(group).traces.push(at);
    if (trace.showlegend !== false) lines.get(group).name = trace.name;
  });
  return [...lines.values()].filter(({name}) => name).reverse();
}

function addChoice(chart, plot, current) {
  if (!current().data.some((trace) => trace.visible === "legendonly")) return () => {};
  const details = folded("Choose what is shown");
  const box = details.lastChild;
  box.className = "choices";
  const fill = () => {
    box.replaceChildren();
    for (const {name, traces} of linesOf(current().data)) {
      const label = document.createElement("label");
      label.innerHTML = '<input type="checkbox" autocomplete="off"> <span></span>';
      const field = label.firstChild;
      label.lastChild.textContent = plainText(name);
      field.checked = plot.data[traces[0]].visible !== "legendonly";
      const choose = () => Plotly.restyle(plot, {visible: field.checked ? true : "legendonly"}, traces);
      field.addEventListener("change", choose);
      box.append(label);
    }
  };
  details.addEventListener("toggle", fill);
  chart.append(details);
  return fill;
}

// --- drawing ---

const redraws = new Map();
const plots = new ResizeObserver((entries) => entries.forEach(({target}) => redraws.get(target)?.()));

function loadPlotly() {
  if (globalThis.Plotly) return;
  const script = document.createElement("script");
  script.textContent = unpacked(document.getElementById("library").textContent);
  document.head.append(script);
}

function show(chart) {
  loadPlotly();
  const figures = JSON.parse(unpacked(chart.querySelector("script").textContent));
  const [plot, select] = [chart.querySelector(".plot"), chart.querySelector("select")];
  const current = () => figures[Number(select?.value ?? 0)];
  let drawnFor = "";
  const draw = (limit = Infinity) => {
    const width = Math.min(plot.clientWidth, limit);
    const purpose = `${width} ${select?.value}`;
    if (!width || purpose === drawnFor) return;
    drawnFor = purpose;
    const {data, layout} = fitted(current(), width);
    // What a reader hid or enlarged stays so when the width changes.
    layout.uirevision = select?.value ?? "0";
    plot.style.minHeight = `${layout.height}px`;
    const displayModeBar = width < NARROW ? false : "hover";
    Plotly.react(plot, data, {...layout, width: layout.width ?? width}, {...settings, displayModeBar});
    // Its label and the table of its numbers say it better than letters in the order of drawing.
    plot.querySelectorAll("svg.main-svg").forEach((svg) => svg.setAttribute("aria-hidden", "true"));
    plot.dataset.drawn = purpose;
  };
  draw();
  const renew = [addChoice(chart, plot, current), addNumbers(chart, current)];
  select?.addEventListener("change", () => {
    draw();
    renew.forEach((fill) => fill());
  });
  redraws.set(plot, draw);
  plots.observe(plot);
}

function tryToShow(chart) {
  try {
    show(chart);
  } catch (problem) {
    const plot = chart.querySelector(".plot");
    plot.removeAttribute("role");
    plot.style.minHeight = "0";
    plot.textContent =
      `This chart can't be drawn by this browser (${problem.message}). The tables beside this file hold its numbers.`;
  }
}

// Those in view are there when the page is; the others follow one by one, so that it can be read meanwhile.
async function showAll() {
  const [near, far] = [[], []];
  for (const chart of document.querySelectorAll(".chart")) {
    (chart.getBoundingClientRect().top < innerHeight ? near : far).push(chart);
  }
  near.forEach(tryToShow);
  for (const chart of far) {
    await new Promise((done) => setTimeout(done));
    tryToShow(chart);
  }
}

const drawn = showAll();
// The window keeps its width while it is printed.
window.addEventListener("beforeprint", () => redraws.forEach((draw) => draw(PAPER)));
window.addEventListener("afterprint", () => redraws.forEach((draw) => draw()));
