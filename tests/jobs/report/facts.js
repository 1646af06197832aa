// What holds for every page; evaluated in the page by test_pages.py.

async function settled() {
  const end = performance.now() + 20000;
  const plots = () => [...document.querySelectorAll(".plot")].filter((plot) => plot.clientWidth);
  const isDrawn = (plot) => plot.dataset.drawn?.startsWith(`${plot.clientWidth} `);
  do await new Promise((done) => setTimeout(done, 50));
  while (!plots().every(isDrawn) && performance.now() < end);
}

function facts() {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const luminance = (colour) => {
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return colour !== "rgba(0, 0, 0, 0)" || !element.parentElement ? colour : ground(element.parentElement);
  };
  const contrast = (element) => {
    const [low, high] = [getComputedStyle(element).color, ground(element)].map(luminance).sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const written = all("body *").filter((element) => !element.closest("svg, script, .plot, .skip") &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    layers: all(".main-svg").length,
    undrawn: all(".plot").filter((plot) => !plot.querySelector(".trace, .hm, .bars, .annotation")).length,
    wide: all(".plot").filter((plot) => plot.scrollWidth > plot.clientWidth).length,
    headings: all("h1, h2, h3").map((heading) => Number(heading.tagName[1])),
    unnamed: all(".plot, .scroll, pre").filter((box) => !box.getAttribute("aria-label")).length,
    unlabelled: all("select, input").filter((field) => !field.labels.length).length,
    unreachable: all(".scroll, pre").filter((box) => box.clientWidth && box.scrollWidth > box.clientWidth && box.tabIndex < 0).length,
    failed: all(".plot:not([data-drawn])").map((plot) => plot.textContent),
    untold: all(".chart").filter((chart) => !chart.querySelector("figcaption").textContent).length,
    faint: written.filter((element) => contrast(element) < 4.5).map((element) => element.textContent),
    requests: performance.getEntriesByType("resource").length,
  };
}
