// --- a figure for files, as the page shows it at a desk: as Kaleido asks for it, or with its size and its numbers, as JSON ---

const DESK = 992; // pixels
const USUAL_HEIGHT = 450;

// Parts of a drawing have random names; these are the same each time.
let state = 1;
Math.random = () => {
  state = (state * 48271) % 2147483647;
  return state / 2147483647;
};

function axisOf(layout, trace, letter) {
  return layout[(trace[`${letter}axis`] ?? letter).replace(letter, `${letter}axis`)] ?? {};
}

// Of dots that say nothing under the pointer: on which line each stands, its number, and the line of its interval.
function fromDots({data, layout}) {
  const dots = data.filter((trace) => trace.mode?.includes("markers") && trace.x && trace.x[0] !== null);
  return dots.flatMap((trace) => {
    const isInterval = ({mode, x, xaxis, legendgroup}) =>
      mode === "lines" && x.length === 3 * trace.x.length && xaxis === trace.xaxis && legendgroup === trace.legendgroup;
    const interval = data.findLast(isInterval);
    const [across, up] = [axisOf(layout, trace, "x"), axisOf(layout, trace, "y")];
    const title = plainText((across.title?.text || "x").replaceAll("<br>", " "));
    const label = (y) => plainText((up.ticktext?.[up.tickvals.indexOf(Math.round(y))] ?? shownNumber(y)).replaceAll("<br>", " "));
    return trace.x.map((x, at) => {
      const row = new Map([["what", label(trace.y[at])], ...(trace.name ? [["group", plainText(trace.name)]] : [])]);
      row.set(title, shownNumber(x));
      if (interval) ["from", "to"].forEach((end, place) => row.set(end, shownNumber(interval.x[3 * at + place])));
      return row;
    });
  });
}

function sizeOf(layout) {
  return {width: layout.width ?? DESK, height: layout.height ?? USUAL_HEIGHT};
}

function numbersIn(figure) {
  const rows = numbersOf(figure);
  const table = tableOf(rows.length ? rows : fromDots(figure));
  const heads = [...table.tHead.rows[0].cells];
  return {
    headings: heads.map((head) => head.textContent),
    numeric: heads.filter((head) => head.className === "number").map((head) => head.textContent),
    rows: [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)),
  };
}

const drawing = Plotly.toImage;
Plotly.toImage = async ({config, ...figure}, options) => {
  const shown = fitted(figure, DESK);
  const size = sizeOf(shown.layout);
  const drawn = await drawing({...shown, config}, {...options, ...size, format: "svg"});
  return options.format === "full-json" ? JSON.stringify({svg: drawn, size, ...numbersIn(figure)}) : drawn;
};
