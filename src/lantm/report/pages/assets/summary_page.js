// The page summary.html: the cells of the paper's tables, our scores beside the paper's.

const HEADS = ["cell", "scale", "paper", "ours, best", "compared", "median", "seeds that solve it", "minutes"];
const FIELDS = ["scale", "paper", "best", "verdict", "median", "solved", "minutes"];

const named = (table) => `${table.study}, recipe ${table.recipe}`;
const anchor = (table) => `${table.study}-${table.recipe}`;
const counted = ([some, all]) => `${some} of ${all}`;

function tile(head, value, note) {
  return element("div", { class: "card tile" }, element("span", { class: "quiet" }, head), element("strong", {}, value), element("span", { class: "quiet" }, note));
}

/** A row of figures; the first of a cell begins with its name, which stands for all its rows. */
function rowOf(rows, at) {
  const row = rows[at];
  const made = element("tr");
  if (rows[at - 1]?.cell !== row.cell) {
    const alike = rows.slice(at).findIndex((one) => one.cell !== row.cell);
    made.append(element("th", { scope: "rowgroup", rowspan: alike < 0 ? rows.length - at : alike }, row.cell));
  }
  if (row.scale === undefined) made.append(element("td", { colspan: FIELDS.length, class: "quiet waiting" }, "not done yet"));
  else made.append(...FIELDS.map((field) => element("td", field === "verdict" ? { class: row.verdict } : {}, row[field])));
  return made;
}

function tableOf(table) {
  const made = element("table", {}, element("tr", {}, ...HEADS.map((head) => element("th", { scope: "col" }, head))));
  made.append(...table.rows.map((_, at) => rowOf(table.rows, at)));
  const passed = table.compared ? `; ${counted([table.passed, table.compared])} figures are at least the paper's` : "";
  return element(
    "section",
    { class: "part", id: anchor(table) },
    element("h2", {}, named(table)),
    element("p", { class: "quiet" }, `${table.about}: ${counted([table.done, table.cells])} cells are done${passed}`),
    scrolling(element("div", { class: "wide-table card", tabindex: 0, role: "region", "aria-label": named(table) }, made)),
  );
}

function showSummary(data) {
  Theme.begin();
  const head = element(
    "header",
    { class: "masthead" },
    element("h1", {}, data.title),
    element("span", { class: "about" }, data.about),
    element("div", { class: "buttons" }, Theme.button()),
  );
  const links = data.tables.map((table) => element("a", { href: `#${anchor(table)}` }, named(table)));
  const facts = data.facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  document.body.append(
    head,
    element(
      "main",
      { class: "report summary" },
      element("dl", { class: "facts" }, ...facts),
      element(
        "div",
        { class: "tiles" },
        tile("cells", counted(data.cells), "are trained and scored"),
        tile("figures", counted(data.figures), "that the paper has are at least the paper's"),
      ),
      element("nav", { class: "links", "aria-label": "Tables" }, ...links),
      element(
        "p",
        { class: "quiet" },
        `Whole answers / single symbols that are right, in percent, or perplexities, on fresh problems; best is the best seed. Compared as the paper rounds, in whole percent or perplexities. A seed solves a task if ${data.solved}% of its answers are right. Minutes are those of training and scoring; studies that share a training all count it.`,
      ),
      ...data.tables.map(tableOf),
    ),
  );
  addEventListener("keydown", (event) => {
    if (event.key === "t" && !event.ctrlKey && !event.metaKey && !event.altKey) Theme.toggle();
  });
}

showSummary(pageData());
