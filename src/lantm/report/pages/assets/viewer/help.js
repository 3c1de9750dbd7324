// The legend: what marks, keys and mouse actions mean.

const READ_MARKS = ["●", "◆", "■"]; // as headMark draws them
const HOLLOW_MARKS = ["○", "◇", "□"];

/** What the marks in the key spaces mean: of the machines that are shown, every head in its own colour and shape. */
function fillLegend(root, { panes }) {
  const scenes = panes.flatMap(({ scene }) => (scene && scene.heads ? [scene] : []));
  const most = (count) => max([0, ...scenes.map(count)]);
  const [reads, writes] = [most((scene) => scene.reads), most((scene) => scene.writes)];
  const heads = (count) => Array.from({ length: count }, (_, head) => head);
  const ofHead = (head, count) => (count > 1 ? ` by head ${head + 1}` : "");
  const inColour = (names, marks, head, text = "") =>
    element("span", { class: `of-${headColour(names, head)}` }, `${marks[head % marks.length]}${text}`);
  const forAll = (marks, text) => element("span", {}, ...heads(reads).map((head) => inColour(READ_COLOURS, marks, head)), ` ${text}`);
  const entries = [
    ...heads(writes).map((head) => inColour(WRITE_COLOURS, ["○"], head, ` written${ofHead(head, writes)}`)),
    ...heads(reads).map((head) => inColour(READ_COLOURS, READ_MARKS, head, reads > 1 ? ` read${ofHead(head, reads)}` : scenes.every(({ text }) => text) ? " read" : " read for the answer")),
  ];
  if (scenes.some(({ settles }) => settles)) {
    entries.push(forAll(["◎"], "settles there"), forAll(HOLLOW_MARKS, "read without settling"));
  }
  if (reads) entries.push(element("span", {}, "◯ where the symbol came from"));
  root.replaceChildren(...entries, element("span", { class: "of-wrong" }, "✕ first mistake"));
}

/**
 * Keys for the whole page, or where `inside` is given only while the mouse or the focus is there; those that a list or
 * a button uses itself are left to it.
 */
function listenToKeys(viewer, help, inside = null) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target;
    if (at instanceof Element && at.closest("dialog")) return; // it scrolls and closes by keys itself
    if (inside && !inside.matches(":hover, :focus-within") && event.key.toLowerCase() !== "t") return;
    const typing = at instanceof HTMLInputElement && at.type !== "range";
    const presses = at instanceof HTMLButtonElement || (at instanceof Element && at.matches("summary"));
    if (typing || at instanceof HTMLSelectElement || (presses && event.key === " ")) return;
    if (event.key.toLowerCase() === "t") Theme.toggle();
    else if (event.key === "?") help.click();
    else if (!viewer.key(event)) return;
    event.preventDefault();
  });
  // A button that was clicked would go on taking the space bar for itself.
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (button && event.detail) button.blur();
  });
}

function helpDialog() {
  const keys = [
    ["← →", "a step back or on; with shift, ten"],
    ["↑ ↓", "through training, where its epochs were recorded"],
    ["space", "play, stop"],
    ["Home End", "to the beginning, to the end"],
    ["A", "to the start of the answer"],
    ["M", "to the first mistake"],
    ["C", "two machines side by side"],
    ["T", "light or dark"],
    ["?", "this help"],
  ];
  const list = element("dl");
  for (const [key, meaning] of keys) {
    const names = element("dt");
    for (const name of key.split(" ")) names.append(element("kbd", {}, name), " ");
    list.append(names, element("dd", {}, meaning));
  }
  const close = element("button", { type: "button" }, "Close");
  const dialog = element(
    "dialog",
    { id: "help", "aria-labelledby": "help-title", closedby: "any" },
    element("div", { class: "dialog-head" }, element("h2", { id: "help-title" }, "How to look around"), close),
    list,
    element(
      "p",
      {},
      "Point at a symbol to see its read and its write; click to stay there. In the key space the wheel zooms and " +
        "dragging moves; a double click shows everything again. What a step reads reaches the machine in the next " +
        "step, so a symbol is answered from the reading of the step before it. Steps and memories count from 0, as in " +
        "traces and figures: where the input begins with <s>, that is step 0.",
    ),
    element(
      "p",
      {},
      "The ring in the colour of the text is around the memory that the shown symbol came from most. Lines lead to what " +
        "was read, fainter where less was read. ∎ ends an answer; <s> and </s> are the start and the end of the input.",
    ),
    element(
      "p",
      {},
      "A machine that runs in this page takes problems of yours: type one and press enter. Drag a head in the key space " +
        "off its way and play on to see whether it finds back; under “What if” heads stop settling and gates are held.",
    ),
  );
  close.addEventListener("click", () => dialog.close());
  return dialog;
}
