// Line charts as SVG, which print, scale and follow the theme.

const SVG = "http://www.w3.org/2000/svg";
const MARGINS = { left: 52, right: 14, top: 22, bottom: 40 };

function shape(tag, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== "") made.textContent = text;
  return made;
}

/** Round numbers that part an axis; there is no half of what is counted in `whole` numbers. */
function ticks(low, high, { log, whole }) {
  if (whole) return ticks(low, high, {}).filter(Number.isInteger);
  if (log) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const digit of high / low < 300 ? [1, 2, 5] : [1]) found.push(digit * 10 ** power);
    }
    const inside = found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
    if (inside.length > 1) return inside; // otherwise the range is so small that even steps do
  }
  const rough = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = [1, 2, 5, 10].find((digit) => digit * power >= rough) * power;
  const found = [];
  for (let k = Math.ceil(low / unit - 1e-9); k * unit <= high * (1 + 1e-9); k++) found.push(k * unit);
  return found;
}

function short(value) {
  if (value !== 0 && (Math.abs(value) < 0.001 || Math.abs(value) >= 1e5)) return value.toExponential(0);
  return String(Number(value.toPrecision(3)));
}

/**
 * A chart. `series` are { name, colour, x, y, wide, faint, band: [lows, highs] }: those with a name are in the legend
 * and are told when pointed at. `x` and `y` are axes { label, log, whole, low, high, unit }; `marks` are { from, to, label }.
 * A chart scales with its place, up to letters a quarter larger than the page's.
 */
function lineChart({ series, x, y, marks = [], width = 600, height = 290 }) {
  const { left, right, top, bottom } = MARGINS;
  const root = shape("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img" });
  root.style.maxWidth = `${1.25 * width}px`;
  const numbers = (which) => series.flatMap((one) => one[which]).filter((value) => value !== null && (value > 0 || !(which === "x" ? x : y).log));
  const range = (axis, which) => {
    const all = numbers(which);
    const low = axis.low ?? (all.length ? min(all) : 0);
    const high = axis.high ?? (all.length ? max(all) : 1);
    return low === high ? [low === 0 ? 0 : low * 0.9, low === 0 ? 1 : high * 1.1] : [low, high];
  };
  const [[x0, x1], [y0, y1]] = [range(x, "x"), range(y, "y")];
  const scaled = (value, low, high, log) =>
    log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  const px = (value) => left + clamp(scaled(value, x0, x1, x.log), 0, 1) * (width - left - right);
  const py = (value) => height - bottom - clamp(scaled(value, y0, y1, y.log), 0, 1) * (height - top - bottom);

  for (const { from, to } of marks) {
    const box = { x: px(from), y: top, width: px(to) - px(from), height: height - top - bottom, class: "mark" };
    root.append(shape("rect", box));
  }
  for (const value of ticks(y0, y1, y)) {
    root.append(shape("line", { x1: left, x2: width - right, y1: py(value), y2: py(value), class: "rule" }));
    root.append(shape("text", { x: left - 6, y: py(value) + 4, class: "tick end" }, short(value) + (y.unit || "")));
  }
  for (const value of ticks(x0, x1, x)) {
    root.append(shape("text", { x: px(value), y: height - bottom + 15, class: "tick middle" }, short(value)));
  }
  root.append(shape("text", { x: (left + width - right) / 2, y: height - 6, class: "axis middle" }, x.label));
  const path = (xs, ys) => {
    let [line, down] = ["", false];
    ys.forEach((value, at) => {
      const drawn = value !== null && (value > 0 || !y.log);
      if (drawn) line += `${down ? "L" : "M"}${px(xs[at]).toFixed(1)} ${py(value).toFixed(1)}`;
      down = drawn;
    });
    return line;
  };
  for (const one of series) {
    if (one.band) {
      const [lows, highs] = one.band;
      const there = path(one.x, highs);
      const back = path([...one.x].reverse(), [...lows].reverse()).replace("M", "L");
      root.append(shape("path", { d: `${there}${back}Z`, class: `band ${one.colour}` }));
    }
  }
  for (const one of series) {
    const kind = `line ${one.colour}${one.faint ? " faint" : ""}${one.wide ? " wide" : ""}`;
    root.append(shape("path", { d: path(one.x, one.y), class: kind }));
    if (one.dots || one.x.length === 1) for (const [at, value] of one.y.entries()) root.append(shape("circle", { cx: px(one.x[at]), cy: py(value), r: 3, class: `dot ${one.colour}` }));
  }
  for (const { from, label } of marks) root.append(shape("text", { x: px(from), y: top - 9 }, label)); // above all curves
  return withPointer(root, series, { px, x, y, width, top, foot: height - bottom });
}

/** The chart with its legend, which tells the numbers below the mouse. */
function withPointer(root, series, { px, x, y, width, top, foot }) {
  const needle = shape("line", { y1: top, y2: foot, class: "needle", visibility: "hidden" });
  root.append(needle);
  const named = series.filter((one) => one.name);
  const others = series.filter((one) => one.faint).length;
  const where = element("span", { class: "where" });
  const entries = named.map((one) => {
    const value = element("b");
    return { one, value, item: element("span", { class: `entry ${one.colour}` }, one.name, " ", value) };
  });
  const legend = element("div", { class: "chart-legend" }, ...entries.map(({ item }) => item));
  if (others) legend.append(element("span", { class: "entry others" }, others > 1 ? "the other seeds" : "the other seed"));
  legend.append(where);
  const figure = element("figure", {}, root, legend);
  const tell = (event) => {
    const [first] = named;
    if (!first || !first.x.length) return;
    const box = root.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    let nearest = 0;
    first.x.forEach((value, index) => {
      if (Math.abs(px(value) - at) < Math.abs(px(first.x[nearest]) - at)) nearest = index;
    });
    needle.setAttribute("x1", px(first.x[nearest]));
    needle.setAttribute("x2", px(first.x[nearest]));
    needle.setAttribute("visibility", "visible");
    where.textContent = `${x.label} ${first.x[nearest]}`;
    for (const { one, value } of entries) {
      const number = one.y[nearest];
      const band = one.band ? ` (${one.band[0][nearest].toFixed(0)} to ${one.band[1][nearest].toFixed(0)})` : "";
      value.textContent = number === null || number === undefined ? "–" : short(number) + (y.unit || "") + band;
    }
  };
  const leave = () => {
    needle.setAttribute("visibility", "hidden");
    where.textContent = "";
    for (const { value } of entries) value.textContent = "";
  };
  root.addEventListener("pointermove", tell);
  root.addEventListener("pointerleave", leave);
  return figure;
}
