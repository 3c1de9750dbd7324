// The viewer: one machine or two side by side, with a slider for the step and one for the training epoch.

class Viewer {
  /** Of the page's machines, `chosen` are the one or two that are shown at first, on their problem number `first`. */
  constructor(root, { machines, spaces, tasks, first }, chosen) {
    this.machines = machines.map((machine) => ({ ...machine, task: tasks[machine.task] ?? null }));
    this.spaces = spaces;
    this.first = first;
    this.step = null; // until there is a scene
    this.waiting = null; // for the end of this scene's work
    this.epoch = 0;
    this.hover = null;
    this.whenShown = () => {};
    this.playing = false;
    this.panesRoot = element("div", { class: "panes" });
    this.build(root);
    this.panes = [];
    this.setPanes(chosen);
    Theme.watchers.push((now) => {
      for (const pane of this.panes) for (const picture of pane.pictures) picture.themeChanged();
      if (now && this.step !== null) this.drawNow();
      else this.draw();
    });
  }

  build(root) {
    this.play = element("button", { type: "button", class: "play", title: "Play or stop (space)", "aria-label": "Play or stop" }, "▶");
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
    root.append(this.controls, this.panesRoot);
    this.time.addEventListener("input", () => this.seek(Number(this.time.value)));
    this.training.addEventListener("input", () => this.goToEpoch(Number(this.training.value)));
    this.play.addEventListener("click", () => this.setPlaying(!this.playing));
  }

  setPanes(chosen) {
    this.panesRoot.classList.toggle("two", chosen.length > 1);
    this.panes = chosen.map((index, at) => this.panes[at] || new Pane(this, this.machines, index, this.first));
    this.panesRoot.replaceChildren(...this.panes.map((pane) => pane.root));
    this.setRanges();
    this.whenShown();
  }

  /** Shows a second machine beside the first, or takes it away. */
  compare() {
    const index = Number(this.panes[0].machineChoice.value);
    this.setPanes(this.panes.length > 1 ? [index] : [index, (index + 1) % this.machines.length]);
    this.draw();
  }

  // Training.

  /** The epochs that any shown machine was recorded at. */
  get epochs() {
    const all = new Set();
    for (const pane of this.panes || []) {
      for (const problem of pane.problems) for (const { epoch } of problem.training || []) all.add(epoch);
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
      const recorded = pane.problems.findIndex((problem) => problem.training);
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
    this.waiting = null;
    this.step = clamp(step, 0, this.steps - 1);
    this.draw();
  }

  /** Somebody chose a step: playing goes on from there, and is over at the last. */
  seek(step) {
    this.goTo(step);
    if (this.playing) this.setPlaying(this.step < this.steps - 1);
  }

  /** To the start of the answer, or to its first mistake. */
  jump(where) {
    const found = this.panes.flatMap(({ scene }) => (scene ? [where(scene)] : [])).filter((step) => step !== null);
    if (found.length) this.seek(Math.min(...found));
  }

  setPlaying(playing) {
    this.playing = playing;
    this.play.textContent = playing ? "❚❚" : "▶";
    this.draw();
    if (!playing) return;
    if (this.step >= this.steps - 1) this.goTo(0);
    const rate = clamp(this.steps / 20, 3, 60); // steps a second: a long problem takes 20 s or more
    let [began, from] = [null, this.step];
    const run = (this.run = {}); // of several, the last goes on
    const frame = (now) => {
      if (!this.playing || this.run !== run) return;
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
      this.goTo(focus.step);
    }
    this.hover = focus;
    this.draw();
  }

  shown(pane) {
    if (!this.panes || !this.panes.includes(pane)) return;
    this.setRanges();
    if (this.step === null) this.begin(pane.scene);
    this.step = Math.min(this.step, this.steps - 1);
    this.whenShown();
    this.draw();
  }

  /** Where there is something to see: at the first mistake, or in the middle of the answer, once it is known. */
  begin(scene) {
    const { answer, answerSize, firstMistake } = scene;
    const known = scene.known === scene.steps;
    this.waiting = known ? null : scene;
    this.step = known ? answer + (firstMistake ?? Math.floor(answerSize / 2)) : 0;
  }

  /** A machine that was seen at work is done. */
  worked(pane) {
    if (this.waiting === pane.scene) this.begin(pane.scene);
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
      this.drawNow();
    });
  }

  drawNow() {
    this.time.value = String(this.step);
    for (const pane of this.panes) pane.draw();
    this.drawText();
    this.drawTicks();
  }

  drawText() {
    const [{ scene }] = this.panes;
    if (!scene) return;
    const step = Math.min(this.step, scene.steps - 1);
    const place = step - scene.answer + 1;
    const answer = `${scene.text ? "word" : "answer"} ${place}/${scene.answerSize}`;
    const part = place > 0 ? answer : `input ${step}/${scene.answer - 1}`;
    this.timeText.textContent = `step ${step} of 0 to ${scene.steps - 1} · ${part}`;
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
      ArrowRight: () => this.seek(this.step + far),
      ArrowLeft: () => this.seek(this.step - far),
      ArrowUp: () => this.goToEpoch(epochs.indexOf(this.epoch) + far),
      ArrowDown: () => this.goToEpoch(epochs.indexOf(this.epoch) - far),
      Home: () => this.seek(0),
      End: () => this.seek(this.steps - 1),
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
