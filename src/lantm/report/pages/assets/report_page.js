// The page report.html: the results of a run.

function section(title, ...parts) {
  return element("section", { class: "part" }, element("h2", {}, title), ...parts);
}

/** A curve for every seed: the best and the worst in colour, the others in grey behind them. */
function seedSeries(data, xs, curves, more = () => ({})) {
  const made = curves.map((y, index) => ({ x: xs, y, colour: "other", faint: true, ...more(index) }));
  const several = data.seeds.length > 1;
  const named = [];
  if (several) named.push({ ...made[data.worst], colour: "worst", faint: false, name: `seed ${data.seeds[data.worst]}, the worst` });
  const best = several ? `seed ${data.seeds[data.best]}, the best` : `seed ${data.seeds[0]}`;
  named.push({ ...made[data.best], colour: "best", faint: false, wide: true, name: best });
  const others = made.filter((_, index) => index !== data.best && index !== data.worst);
  return [...others, ...named];
}

/** Whether a run learnt a text: its tests are perplexities, not scores. */
const ofText = (data) => data.tests.some((test) => "perplexity" in test);
const perplexity = (value) => (value === null ? "none" : value.toFixed(2));

const theBest = (data) => `seed ${data.seeds[data.best]}`;

/** How the best seed was chosen, which is not by the scores below: without it they seem to contradict each other. */
function howChosen(data) {
  const chosen = ofText(data) ? "had the lowest perplexity in a test during training" : "did best in the tests during training";
  const so = `“The best” is ${theBest(data)} in all that follows: it ${chosen}.`;
  const but = " The scores below are of other problems, so another seed, or even the median, can be higher.";
  return element("p", { class: "quiet chosen" }, ofText(data) ? so : so + but);
}

function tiles(data) {
  const made = data.rows.map((row) => {
    if (ofText(data)) {
      return element(
        "div",
        { class: "card tile" },
        element("span", { class: "quiet" }, `${row.scale}, ${row.tokens.toLocaleString("en")} words`),
        element("strong", {}, perplexity(row.perplexity)),
        element("span", {}, `perplexity of ${theBest(data)}`),
        element("span", { class: "quiet" }, `median of ${row.seeds} seeds ${perplexity(row.median_perplexity)}`),
      );
    }
    const [low, high] = row.lengths;
    return element(
      "div",
      { class: "card tile" },
      element("span", { class: "quiet" }, `${row.scale}, ${low === high ? `length ${low}` : `lengths ${low} to ${high}`}`),
      element("strong", {}, `${row.solved} of ${row.seeds}`),
      element("span", {}, row.seeds === 1 ? "seed solves it" : "seeds solve it"),
      element("span", { class: "quiet" }, `${theBest(data)}: ${row.coarse.toFixed(1)}%${row.interval ? `, 95% interval ${row.interval[0].toFixed(1)} to ${row.interval[1].toFixed(1)}%` : ""}`),
    );
  });
  return element("div", { class: "tiles" }, ...made);
}

function perplexityTable(data) {
  const heads = ["text", "words", theBest(data), "median", "by seed"];
  const table = element("table", {}, element("tr", {}, ...heads.map((head) => element("th", {}, head))));
  for (const row of data.rows) {
    const bySeed = row.perplexity_by_seed.map(perplexity).join(", ");
    const cells = [row.scale, row.tokens.toLocaleString("en"), perplexity(row.perplexity), perplexity(row.median_perplexity), bySeed];
    table.append(element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  }
  return scrolling(element("div", { class: "wide-table", tabindex: 0, role: "region", "aria-label": "Scores" }, table));
}

const WHAT_SCORES_MEAN =
  "Coarse: whole answers that are right. Fine: single symbols. First error: how far into a wrong answer its first " +
  "mistake comes, in the median.";

function scoreTable(data) {
  if (ofText(data)) return perplexityTable(data);
  const heads = ["scale", "lengths", "problems", `coarse, ${theBest(data)}`, "95% interval", `fine, ${theBest(data)}`, "coarse, median", "fine, median", `solved (≥ ${data.solved}%)`, "first error"];
  const table = element("table", {}, element("tr", {}, ...heads.map((head) => element("th", {}, head))));
  for (const row of data.rows) {
    const cells = [
      row.scale,
      row.lengths[0] === row.lengths[1] ? row.lengths[0] : `${row.lengths[0]}–${row.lengths[1]}`,
      row.problems.toLocaleString("en"),
      `${row.coarse.toFixed(1)}%`,
      row.interval ? `${row.interval[0].toFixed(1)}–${row.interval[1].toFixed(1)}%` : "not known",
      `${row.fine.toFixed(2)}%`,
      `${row.median_coarse.toFixed(1)}%`,
      `${row.median_fine.toFixed(2)}%`,
      `${row.solved} of ${row.seeds}`,
      row.first_error === null ? "none" : `at ${Math.round(100 * row.first_error)}%`,
    ];
    table.append(element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  }
  const box = scrolling(element("div", { class: "wide-table", tabindex: 0, role: "region", "aria-label": "Scores" }, table));
  return element("div", {}, box, element("p", { class: "quiet under" }, WHAT_SCORES_MEAN));
}

// Of the charts of learning, as in report.css.
const TWO_COLUMNS = matchMedia("(min-width: 740px) and (max-width: 1087px)");
const THREE_COLUMNS = matchMedia("(min-width: 1088px)");
// Where the letters of a wide chart would shrink.
const NARROW = innerWidth < 480 ? { width: 320, height: 220 } : { width: 400, height: 250 };

function byLength(data) {
  const { lengths, trained, coarse, fine, intervals, problems } = data.byLength;
  const banded = (index) => ({ band: [intervals[index].map(([low]) => low), intervals[index].map(([, high]) => high)], dots: true });
  const plain = (one) => (one.faint ? { ...one, band: undefined, dots: false } : one);
  const x = { label: "length", log: true };
  const y = { low: 0, high: 100, unit: "%" };
  const size = innerWidth < 700 ? NARROW : {};
  const marks = [{ from: Math.max(trained[0], lengths[0]), to: trained[1], label: "trained on" }];
  return element(
    "div",
    { class: "pair-of-charts" },
    chartCard(
      "Whole answers that are right (coarse)",
      `${problems} fresh problems per length; the bands are 95% intervals (Wilson)`,
      lineChart({ series: seedSeries(data, lengths, coarse, banded).map(plain), x, y, marks, ...size }),
    ),
    chartCard(
      "Symbols that are right (fine)",
      "the end symbol counts",
      lineChart({ series: seedSeries(data, lengths, fine, () => ({ dots: true })).map(plain), x, y, marks, ...size }),
    ),
  );
}

function chartCard(title, note, chart) {
  chart.querySelector("svg").setAttribute("aria-label", `${title}, ${note}`);
  return element("div", { class: "card chart-card" }, element("h3", {}, title), element("p", { class: "quiet" }, note), chart);
}

/** Of an odd number of charts in two columns the first is as wide as both; its letters keep their size. */
function sizeOfFirst(count) {
  return TWO_COLUMNS.matches && count % 2 ? { width: Math.min(innerWidth, 1084) - 68, height: 250 } : sizeOfOthers(count);
}

/** Two charts, and four, stand two by two, where others stand in threes. */
function sizeOfOthers(count) {
  return THREE_COLUMNS.matches && (count === 2 || count === 4) ? {} : NARROW;
}

function learning(data) {
  const cards = [];
  const count = Number(data.loss.epochs.length > 0) + data.tests.length;
  if (data.loss.epochs.length) {
    const series = seedSeries(data, data.loss.epochs, data.loss.loss);
    const chart = lineChart({ series, x: { label: "epoch", whole: true }, y: { log: true }, ...sizeOfFirst(count) });
    const what = ofText(data) ? "text" : "problems";
    cards.push(chartCard("Loss", `of the training ${what}, on a logarithmic scale`, chart));
  }
  for (const test of data.tests) {
    if (test.perplexity) {
      const chart = lineChart({ series: seedSeries(data, test.epochs, test.perplexity), x: { label: "epoch", whole: true }, y: { log: true }, ...sizeOfOthers(count) });
      cards.push(chartCard(`Perplexity of ${test.scale}`, "on a logarithmic scale", chart));
      continue;
    }
    const series = seedSeries(data, test.epochs, test.coarse);
    const chart = lineChart({ series, x: { label: "epoch", whole: true }, y: { low: 0, high: 100, unit: "%" }, ...sizeOfOthers(count) });
    cards.push(chartCard(`Tests at ${test.scale}`, "whole answers that are right", chart));
  }
  return element("div", { class: "row-of-charts" }, ...cards);
}

/** Why a machine is right or wrong on the problem that is shown, in words. */
function reasons(viewer) {
  const root = element("div", { class: "reasons" });
  const show = () => {
    root.replaceChildren(
      ...viewer.panes.filter(({ problem }) => problem).map((pane) =>
        element(
          "div",
          { class: "card reason" },
          element("h3", {}, `${pane.machine.name}, ${pane.problem.name}`),
          element("p", { class: "scored" }, pane.machine.scored),
          element("ul", {}, ...(pane.problem.why ?? []).map((sentence) => element("li", {}, sentence))),
        ),
      ),
    );
  };
  return { root, show };
}

function settings(data) {
  const groups = data.settings.map(({ name, settings }) => {
    const table = element("table", { class: "settings" });
    for (const [setting, value, changed] of settings) {
      table.append(element("tr", { class: changed ? "changed" : null }, element("th", {}, setting), element("td", {}, value)));
    }
    return element("div", { class: "card" }, element("h3", {}, name), table);
  });
  return section("Settings", element("p", { class: "quiet" }, "Bold: not the default."), element("div", { class: "groups" }, ...groups));
}

function facts(data) {
  const list = element("dl", { class: "facts" });
  for (const [name, value] of data.facts) list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return list;
}

function reportPage() {
  Theme.begin();
  const data = pageData();
  const dialog = helpDialog();
  const help = element("button", { type: "button", id: "keys", title: "What keys and mouse do", "aria-label": "Help" }, "?");
  help.addEventListener("click", () => dialog.showModal());
  const body = element("main", { class: "report" });
  document.body.append(
    element(
      "header",
      { class: "masthead" },
      element("h1", {}, data.title),
      element("span", { class: "about" }, data.about),
      element("div", { class: "buttons" }, Theme.button()),
    ),
    body,
    dialog,
  );
  const unfinished = `Training is not complete: epoch ${data.epoch} of ${data.epochs}.`;
  if (data.epoch < data.epochs) body.append(element("p", { class: "card unfinished" }, unfinished));
  body.append(facts(data));
  if (data.seeds.length > 1) body.append(howChosen(data));
  if (data.rows.length) body.append(tiles(data), section("Scores", scoreTable(data)));
  if (data.byLength) body.append(section("Scores by length", byLength(data)));
  body.append(section("Learning", learning(data)));

  const holder = element("div", { class: "viewer in-report" });
  const viewer = new Viewer(holder, data, data.machines.map((_, index) => index));
  const title = data.machines.length > 1 ? "The best and the worst machine, and why" : "The machine, and why";
  const marks = element("span", { class: "legend" });
  const why = reasons(viewer);
  viewer.whenShown = () => {
    fillLegend(marks, viewer);
    why.show();
  };
  viewer.whenShown();
  body.append(section(title, why.root, element("div", { class: "bar" }, marks, help), holder), settings(data));
  listenToKeys(viewer, help, holder);
}

reportPage();
