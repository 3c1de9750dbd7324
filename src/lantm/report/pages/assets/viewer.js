// The viewer: one machine at work, or two side by side, with one scrubber through time and one through training.

/** One machine at work. */
class Pane {
  constructor(viewer, machines, chosen, first) {
    this.viewer = viewer;
    this.machines = machines;
    const point = (focus, kept) => viewer.point(this, focus, kept);
    this.tape = new Tape(point);
    this.overview = new KeySpace(point, "all");
    this.lens = new KeySpace(point, "here");
    this.timeline = new Timeline(point);
    this.machineChoice = element("select", { class: "machine", "aria-label": "Machine", title: "Which machine" });
    machines.forEach((machine, index) => this.machineChoice.append(element("option", { value: index }, machine.name)));
    this.problemChoice = element("select", { class: "problem", "aria-label": "Problem", title: "Which problem" });
    this.verdict = element("span", { class: "verdict" });
    this.words = element("p", { class: "words", "aria-live": "off" });
    this.settled = element("p", { class: "settled", "aria-live": "off" });
    this.without = element("div", { class: "card no-memory", hidden: true }, "This model has no memory to look into.");
    const maps = element("div", { class: "maps" }, this.overview.root, this.lens.root);
    this.charts = element("div", { class: "charts" }, maps, this.timeline.root, this.without);
    this.root = element(
      "section",
      { class: "pane" },
      element("div", { class: "head" }, this.machineChoice, this.problemChoice, this.verdict),
      this.tape.root,
      this.words,
      this.settled,
      this.charts,
    );
    this.machineChoice.addEventListener("change", () => this.chooseMachine(Number(this.machineChoice.value)));
    this.problemChoice.addEventListener("change", () => {
      viewer.step = null; // another problem has other steps to look at
      this.chooseProblem(Number(this.problemChoice.value));
    });
    new ResizeObserver(() => this.draw()).observe(this.charts);
    this.chooseMachine(chosen, first);
  }

  get parts() {
    return [this.tape, this.overview, this.lens, this.timeline];
  }

  get machine() {
    return this.machines[Number(this.machineChoice.value)];
  }

  get problem() {
    return this.machine.problems[Number(this.problemChoice.value)];
  }

  /** Another machine, on the problem of the same name where it has that. */
  chooseMachine(index, first = 0) {
    const before = this.problemChoice.options.length ? this.problemChoice.selectedOptions[0].textContent : null;
    this.machineChoice.value = String(index);
    const { problems } = this.machine;
    this.problemChoice.replaceChildren(
      ...problems.map((problem, at) => element("option", { value: at }, problem.name)),
    );
    const same = problems.findIndex((problem) => problem.name === before);
    this.chooseProblem(same < 0 ? Math.min(first, problems.length - 1) : same);
  }

  chooseProblem(index) {
    this.problemChoice.value = String(index);
    this.load();
  }

  /** Unpacks the scene that is asked for, at the epoch of the training scrubber where there are several. */
  async load() {
    const wanted = this.viewer.sceneFor(this.problem);
    this.wanted = wanted;
    const scene = await sceneOf(wanted, this.viewer.spaces);
    if (this.wanted !== wanted) return; // something else was chosen meanwhile
    this.show(scene);
  }

  show(scene) {
    this.scene = scene;
    for (const part of this.parts) part.show(scene);
    this.without.hidden = scene.heads > 0;
    this.charts.classList.toggle("without-memory", !scene.heads);
    this.settled.hidden = !scene.settles;
    const { firstMistake, answerSize } = scene;
    const unit = scene.text ? "word" : "symbol";
    this.verdict.className = `verdict ${firstMistake === null ? "right" : "wrong"}`;
    this.verdict.replaceChildren(
      firstMistake === null ? "✓ all right" : `✕ ${scene.mistakes.size} of ${answerSize} wrong`,
      element(
        "small",
        {},
        firstMistake === null
          ? ` ${answerSize} ${unit}s ${scene.text ? "guessed" : "answered"}`
          : `, the first is ${unit} ${firstMistake + 1}`,
      ),
    );
    this.viewer.shown(this);
  }

  /** What is shown: the step below the mouse, or else that of the scrubber. */
  get focus() {
    const { hover, step } = this.viewer;
    const shown = hover || { step, slot: null };
    const last = this.scene.steps - 1;
    const slot = shown.slot !== null && shown.slot < this.scene.slots ? shown.slot : null;
    return { step: Math.min(shown.step, last), slot };
  }

  draw() {
    if (!this.scene || this.viewer.step === null) return;
    const { focus } = this;
    for (const part of this.parts) part.draw(focus);
    this.words.replaceChildren(...this.sentences(focus));
    if (this.scene.settles) this.settled.replaceChildren(this.settledWords(focus));
  }

  /** The shown step in words. */
  sentences({ step, slot }) {
    const { scene } = this;
    const said = [element("b", {}, `Step ${step}. `)];
    if (step < scene.given) said.push(...this.shownWords(step));
    else if (scene.slotOf(step) >= 0) {
      said.push("The end is ", element("span", { class: "of-write" }, `written as memory ${scene.slotOf(step)}`), ". ");
    }
    if (step >= scene.answer) said.push(...this.answeredWords(step));
    if (slot !== null && scene.slotOf(step) !== slot && scene.reads) {
      let weight = 0;
      for (let head = 0; head < scene.reads; head++) weight = Math.max(weight, scene.weight(step, head, slot));
      said.push(`The reading of this step takes ${percent(weight)} of ${scene.memoryName(slot)}.`);
    }
    return said;
  }

  /** What a step was shown, what it wrote, and who read that. */
  shownWords(step) {
    const { scene } = this;
    const said = [`${scene.text ? "It reads" : "It is shown"} ${quoted(scene.inputs[step])}`];
    const written = scene.slotOf(step);
    if (written >= 0) {
      said.push(", ", element("span", { class: "of-write" }, `written as memory ${written}`));
      said.push(` with strength ${scene.strength(written).toFixed(2)}`);
      const readers = scene.readers(written);
      if (readers.length) {
        const [{ step: reader, weight }] = readers;
        const place = reader - scene.answer;
        const what = scene.text ? `the guess of step ${reader}` : `symbol ${place + 1} of the answer`;
        said.push("; ", element("span", { class: "of-read" }, "read most"), ` for ${what}, `);
        said.push(`${quoted(scene.predicted[place])} (${percent(weight)})`);
      } else if (scene.reads) said.push(`; no ${scene.text ? "guess" : "symbol of the answer"} comes from it`);
    }
    return [...said, ". "];
  }

  /** What the read heads were put on after the step's reading. */
  settledWords({ step }) {
    const { scene } = this;
    const said = Array.from({ length: scene.reads }, (_, head) => {
      const who = scene.reads === 1 ? "The read head" : `${head ? "read" : "Read"} head ${head + 1}`;
      const slot = scene.settledOn(step, head);
      return `${who} ${slot < 0 ? "did not settle" : `settled on ${scene.memoryName(slot)}`}`;
    });
    return `${said.join(", ")}.`;
  }

  /** What a step answered, whether that is right, and from which memories it came. */
  answeredWords(step) {
    const { scene } = this;
    const place = step - scene.answer;
    const said = [scene.text ? "It guesses " : `Symbol ${place + 1} of the answer: `];
    const expected = `wrong, ${quoted(scene.expected[place])} ${scene.text ? "comes next" : "was expected"}`;
    said.push(`${quoted(scene.predicted[place])}, `);
    said.push(scene.wrong(step) ? element("span", { class: "of-wrong" }, expected) : "right");
    const used = scene.read(step - 1).slice(0, 3);
    if (used.length) {
      const weights = used.map(({ slot, weight }) => `${scene.memoryName(slot)} ${percent(weight)}`).join(", ");
      said.push(", ", element("span", { class: "of-read" }, `from the reading of step ${step - 1}`), `: ${weights}`);
    }
    return [...said, ". "];
  }
}

class Viewer {
  /** Of the page's machines, `chosen` are the one or two that are shown at first, on their problem number `first`. */
  constructor(root, { machines, spaces, first }, chosen) {
    this.machines = machines;
    this.spaces = spaces;
    this.first = first;
    this.step = null; // until there is a scene
    this.epoch = 0;
    this.hover = null;
    this.whenShown = () => {};
    this.playing = false;
    this.panesRoot = element("div", { class: "panes" });
    this.build(root);
    this.panes = [];
    this.setPanes(chosen);
    Theme.watchers.push(() => {
      for (const pane of this.panes) pane.timeline.themeChanged();
      this.draw();
    });
  }

  build(root) {
    this.play = element("button", { class: "play", title: "Play or stop (space)", "aria-label": "Play or stop" }, "▶");
    this.time = element("input", { type: "range", min: 0, max: 0, value: 0, id: "time", "aria-label": "Time step" });
    this.ticks = element("canvas", { class: "ticks", "aria-hidden": "true" });
    this.timeText = element("output", { for: "time" });
    this.training = element("input", { type: "range", min: 0, max: 0, id: "epoch", "aria-label": "Epoch of training" });
    this.trainingText = element("output", { for: "epoch" });
    const time = element("label", { for: "time" }, "time");
    const training = element("label", { for: "epoch" }, "training");
    this.controls = element(
      "div",
      { class: "controls" },
      this.play,
      time,
      element("div", { class: "slider" }, this.time, this.ticks),
      this.timeText,
    );
    this.trainingParts = [element("span"), training, this.training, this.trainingText];
    this.controls.append(...this.trainingParts);
    root.append(this.panesRoot, this.controls);
    this.time.addEventListener("input", () => this.goTo(Number(this.time.value)));
    this.training.addEventListener("input", () => this.goToEpoch(Number(this.training.value)));
    this.play.addEventListener("click", () => this.setPlaying(!this.playing));
  }

  setPanes(chosen) {
    this.panesRoot.classList.toggle("two", chosen.length > 1);
    this.panes = chosen.map((index, at) => this.panes[at] || new Pane(this, this.machines, index, this.first));
    this.panesRoot.replaceChildren(...this.panes.map((pane) => pane.root));
    this.setRanges();
  }

  /** Shows a second machine beside the first, or takes it away. */
  compare() {
    const [first] = this.panes;
    const index = Number(first.machineChoice.value);
    this.setPanes(this.panes.length > 1 ? [index] : [index, (index + 1) % this.machines.length]);
    this.draw();
  }

  // Training.

  /** The epochs that any shown machine was recorded at. */
  get epochs() {
    const all = new Set();
    for (const pane of this.panes || []) {
      for (const problem of pane.machine.problems) for (const { epoch } of problem.training || []) all.add(epoch);
    }
    return [...all].sort((one, other) => one - other);
  }

  /** The packed scene of a problem: where it was recorded while training, the last one up to the epoch. */
  sceneFor(problem) {
    if (!problem.training) return problem.scene;
    let found = problem.training[0];
    for (const recorded of problem.training) if (recorded.epoch <= this.epoch) found = recorded;
    return found.scene;
  }

  goToEpoch(index) {
    const epochs = this.epochs;
    if (!epochs.length) return;
    this.epoch = epochs[clamp(index, 0, epochs.length - 1)];
    for (const pane of this.panes) {
      const recorded = pane.machine.problems.findIndex((problem) => problem.training);
      if (recorded >= 0 && !pane.problem.training) pane.chooseProblem(recorded);
      else if (recorded >= 0) pane.load();
    }
    this.setRanges();
  }

  // Time.

  get steps() {
    return Math.max(1, ...this.panes.map((pane) => (pane.scene ? pane.scene.steps : 1)));
  }

  goTo(step) {
    this.step = clamp(step, 0, this.steps - 1);
    this.draw();
  }

  /** To the start of the answer, or to its first mistake. */
  jump(where) {
    const found = this.panes.map(({ scene }) => where(scene)).filter((step) => step !== null);
    if (found.length) this.goTo(Math.min(...found));
  }

  setPlaying(playing) {
    this.playing = playing;
    this.play.textContent = playing ? "❚❚" : "▶";
    if (!playing) return;
    if (this.step >= this.steps - 1) this.goTo(0);
    const rate = clamp(this.steps / 20, 3, 40); // steps a second: a long problem takes 20 s or more
    let [began, from] = [null, this.step];
    const frame = (now) => {
      if (!this.playing) return;
      began ??= now;
      const step = Math.floor(from + ((now - began) / 1000) * rate);
      if (step !== this.step) this.goTo(step);
      if (this.step >= this.steps - 1) this.setPlaying(false);
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  /** The mouse is over something; `kept`: it was clicked, so the scrubber goes there. */
  point(pane, focus, kept) {
    if (focus && kept) {
      this.setPlaying(false);
      this.step = focus.step;
    }
    this.hover = focus;
    this.draw();
  }

  shown(pane) {
    if (!this.panes || !this.panes.includes(pane)) return;
    this.setRanges();
    // Begin where there is something to see: at the first mistake, or in the middle of the answer.
    const { answer, answerSize, firstMistake } = pane.scene;
    this.step = Math.min(this.step ?? answer + (firstMistake ?? Math.floor(answerSize / 2)), this.steps - 1);
    this.whenShown();
    this.draw();
  }

  setRanges() {
    this.time.max = String(this.steps - 1);
    const epochs = this.epochs;
    for (const part of this.trainingParts) part.hidden = !epochs.length;
    if (!epochs.length) return;
    if (!epochs.includes(this.epoch)) this.epoch = epochs[epochs.length - 1];
    this.training.max = String(epochs.length - 1);
    this.training.value = String(epochs.indexOf(this.epoch));
  }

  /** Draws at the next frame, once for all that was asked for. */
  draw() {
    if (this.asked || this.step === null) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.time.value = String(this.step);
      for (const pane of this.panes) pane.draw();
      this.drawText();
      this.drawTicks();
    });
  }

  drawText() {
    const [{ scene }] = this.panes;
    if (!scene) return;
    const step = Math.min(this.step, scene.steps - 1);
    const place = step - scene.answer + 1;
    const answer = `${scene.text ? "word" : "answer"} ${place}/${scene.answerSize}`;
    const part = place > 0 ? answer : `input ${step}/${scene.answer - 1}`;
    this.timeText.textContent = `step ${step} of ${scene.steps - 1} · ${part}`;
    const recorded = (this.panes[0].problem.training || []).filter(({ epoch }) => epoch <= this.epoch).pop();
    const loss = recorded && typeof recorded.loss === "number" ? ` · loss ${recorded.loss.toFixed(3)}` : "";
    this.trainingText.textContent = this.epochs.length ? `epoch ${this.epoch}${loss}` : "";
  }

  /** Below the scrubber: where the answer begins, and every mistake of the first machine. */
  drawTicks() {
    const { context, width, height } = fitted(this.ticks);
    const [{ scene }] = this.panes;
    if (!scene) return;
    const knob = 16; // the middle of the knob starts and ends half its width inside
    const at = (step) => knob / 2 + (step / Math.max(1, this.steps - 1)) * (width - knob);
    context.fillStyle = Theme.colour("line");
    context.fillRect(at(0), 2, at(scene.answer) - at(0), 3);
    context.fillStyle = Theme.colour("read", 0.6);
    context.fillRect(at(scene.answer), 2, at(scene.steps - 1) - at(scene.answer), 3);
    context.fillStyle = Theme.colour("wrong");
    for (const place of scene.mistakes) context.fillRect(at(scene.answer + place) - 1, 0, 2, height);
  }

  /** Keys that work anywhere on the page; true when one was used. */
  key(event) {
    const far = event.shiftKey ? 10 : 1;
    const epochs = this.epochs;
    const actions = {
      ArrowRight: () => this.goTo(this.step + far),
      ArrowLeft: () => this.goTo(this.step - far),
      ArrowUp: () => this.goToEpoch(epochs.indexOf(this.epoch) + far),
      ArrowDown: () => this.goToEpoch(epochs.indexOf(this.epoch) - far),
      Home: () => this.goTo(0),
      End: () => this.goTo(this.steps - 1),
      " ": () => this.setPlaying(!this.playing),
      a: () => this.jump((scene) => scene.answer),
      m: () => this.jump((scene) => (scene.firstMistake === null ? null : scene.answer + scene.firstMistake)),
      c: () => this.compare(),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return false;
    action();
    return true;
  }
}

/** What the marks in the key space mean. */
function legend(machines) {
  const scenes = machines.flatMap(({ problems }) => problems.flatMap(({ scene, training }) => scene || training[0].scene));
  const settling = [
    element("span", { class: "of-read" }, "◎ settles here"),
    element("span", { class: "of-read" }, "○ read without settling"),
  ];
  return element(
    "span",
    { class: "legend" },
    element("span", { class: "of-write" }, "○ written"),
    element("span", { class: "of-read" }, "● read for the answer"),
    ...(scenes.some(({ settles }) => settles) ? settling : []),
    element("span", { class: "of-wrong" }, "✕ first mistake"),
  );
}

/**
 * Keys for the whole page, or where `inside` is given only while the mouse or the focus is there; those that a list or
 * a button uses itself are left to it.
 */
function listenToKeys(viewer, inside = null) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target;
    if (inside && !inside.matches(":hover, :focus-within") && event.key.toLowerCase() !== "t") return;
    if (at instanceof HTMLSelectElement || (at instanceof HTMLButtonElement && event.key === " ")) return;
    if (event.key.toLowerCase() === "t") Theme.toggle();
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
  ];
  const list = element("dl");
  for (const [key, meaning] of keys) {
    const names = element("dt");
    for (const name of key.split(" ")) names.append(element("kbd", {}, name), " ");
    list.append(names, element("dd", {}, meaning));
  }
  const close = element("button", {}, "Close");
  const dialog = element(
    "dialog",
    { id: "help" },
    element("h2", {}, "How to look around"),
    list,
    element(
      "p",
      {},
      "Point at a symbol to see its read and its write; click to stay there. In the key space the wheel zooms and " +
        "dragging moves; a double click shows everything again. What a step reads reaches the machine in the next " +
        "step, so a symbol is answered from the reading of the step before it.",
    ),
    element("p", {}, close),
  );
  close.addEventListener("click", () => dialog.close());
  return dialog;
}
