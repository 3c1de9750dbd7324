// One machine in the viewer: the choice of machine and problem, its symbols, the shown step in words, and the pictures.

const AT_ONCE = 40; // milliseconds that a machine may work before anything is shown
const A_SLICE = 9; // and in every frame after that
const A_LOOK = 250; // between two pictures of a machine that is still at work

class Pane {
  constructor(viewer, machines, chosen, first) {
    this.viewer = viewer;
    this.machines = machines;
    const point = (focus, kept) => viewer.point(this, focus, kept);
    const push = (head, place) => this.push(head, place);
    this.tape = new Tape(point);
    this.overview = new KeySpace(point, "all", push);
    this.lens = new KeySpace(point, "here", push);
    this.timeline = new Timeline(point);
    this.whatIf = new WhatIf(() => this.load(), (head, direction) => this.pushBy(head, direction));
    this.ask = new Ask(
      (problem) => this.askedFor(problem),
      () => viewer.play.focus({ preventScroll: true }), // where keys are the player's, and no keyboard covers a screen
    );
    this.machineChoice = element("select", { class: "machine", "aria-label": "Machine", title: "Which machine" });
    machines.forEach((machine, index) => this.machineChoice.append(element("option", { value: index }, machine.name)));
    this.problemChoice = element("select", { class: "problem", "aria-label": "Problem", title: "Which problem" });
    this.verdict = element("span", { class: "verdict", role: "status" });
    this.words = element("p", { class: "words", "aria-live": "off" });
    this.settled = element("p", { class: "settled", "aria-live": "off" });
    this.without = element("div", { class: "card no-memory", hidden: true }, "This model has no memory to look into.");
    const maps = element("div", { class: "maps" }, this.overview.root, this.lens.root);
    const desk = element("div", { class: "desk" }, this.ask.root, this.ask.none, this.whatIf.root);
    const said = element("div", { class: "said" }, this.words, this.settled);
    this.parts = [maps, desk, said, this.timeline.root];
    this.charts = element("div", { class: "charts" }, maps, this.timeline.root, this.without);
    this.root = element(
      "section",
      { class: "pane" },
      element("div", { class: "head" }, this.machineChoice, this.problemChoice, this.verdict),
      desk,
      this.tape.root,
      said,
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

  get pictures() {
    return [this.overview, this.lens, this.timeline];
  }

  get machine() {
    return this.machines[Number(this.machineChoice.value)];
  }

  get problem() {
    return this.problems[Number(this.problemChoice.value)];
  }

  /** The task, where the page knows how to read its problems. */
  get typed() {
    const { machine, task } = this.machine;
    return machine && task && task.typed ? task : null;
  }

  get whyNotTyped() {
    const { machine, task } = this.machine;
    if (this.typed || !task) return "";
    if (!machine) return "Problems cannot be typed here: this machine was recorded, and the page cannot run it.";
    return `Problems of ${task.name} cannot be typed here: the page can read those of this package's own tasks only.`;
  }

  // Which machine, and on what.

  /** Another machine, on the same problem where it has that, or can read it. */
  async chooseMachine(index, first = 0) {
    const before = this.problems ? this.problem : null;
    this.machineChoice.value = String(index);
    for (const part of this.parts) part.dataset.machine = this.machine.name; // where parts of two machines alternate
    const { machine, problems } = this.machine;
    this.ask.show(this.typed, this.whyNotTyped);
    this.problems = [...problems];
    if (before && before.own && this.typed) this.readAgain(before);
    this.listProblems();
    const same = before ? this.problems.findIndex(({ name }) => name === before.name) : -1;
    this.running = null;
    if (machine) {
      const ready = await runningMachine(machine);
      if (this.machine.machine !== machine) return; // another was chosen meanwhile
      this.running = ready;
    }
    this.whatIf.show(this.running);
    const chosen = same < 0 ? Math.min(first, this.problems.length - 1) : same;
    if (before && String(this.problems[chosen].inputs) !== String(before.inputs)) this.viewer.step = null;
    this.chooseProblem(chosen);
  }

  /** A problem that was typed for another machine; one of another task may not be able to read it. */
  readAgain({ text }) {
    try {
      this.problems.push(ownProblem(text, this.typed));
    } catch {
      // One of its own is shown.
    }
  }

  listProblems() {
    this.problemChoice.replaceChildren(...this.problems.map(({ name }, at) => element("option", { value: at }, name)));
  }

  chooseProblem(index) {
    this.problemChoice.value = String(index);
    this.load();
  }

  /** Somebody typed a problem: the machine is seen at work on it from the beginning. */
  askedFor(problem) {
    this.problems = [...this.problems.filter(({ own }) => !own), problem];
    this.listProblems();
    this.whatIf.show(this.running);
    this.chooseProblem(this.problems.length - 1);
    this.viewer.goTo(0);
    this.viewer.setPlaying(true);
  }

  // What is done to the machine.

  push(head, place) {
    const step = this.viewer.step;
    this.viewer.setPlaying(false);
    this.whatIf.push(step, head, this.scene.keyAt(step, head, place));
  }

  /** By a quarter of the distance of two memories. */
  pushBy(head, [right, up]) {
    const { scene } = this;
    const step = Math.min(this.viewer.step, scene.known - 1);
    const gap = this.overview.frame ? this.overview.spacing() / this.overview.frame.sx : 1;
    const [x, y] = scene.place(step, head);
    this.push(head, [x + (right * gap) / 4, y + (up * gap) / 4]);
  }

  // Scenes.

  /** Unpacks or computes what is asked for; in training, at the epoch of its scrubber. */
  async load() {
    const wanted = (this.wanted = {});
    const { problem } = this;
    if (problem.inputs) {
      const { machine, task } = this.machine;
      this.ask.tell(problem);
      this.show(new LiveScene(this.running, machine, task, problem, this.whatIf.meddling));
      return;
    }
    const scene = await recordedScene(this.viewer.sceneFor(problem), this.viewer.spaces);
    if (this.wanted === wanted) this.show(scene); // unless something else was chosen meanwhile
  }

  show(scene) {
    if (scene.live) scene.advance(AT_ONCE);
    if (scene.live && !scene.ready) scene.reach(scene.steps - 1);
    this.scene = scene;
    const { task } = this.machine;
    this.tape.show(scene, task?.typed ? TASKS[task.name] : null, task);
    for (const part of this.pictures) part.show(scene);
    this.without.hidden = scene.heads > 0;
    this.charts.classList.toggle("without-memory", !scene.heads);
    this.settled.hidden = !scene.settles;
    this.tellVerdict();
    this.viewer.shown(this);
    if (scene.live && !scene.done) this.goOn(scene);
  }

  /** Works on between frames, so that the page stays at hand. */
  goOn(scene) {
    let looked = performance.now();
    const slice = (now) => {
      if (this.scene !== scene) return;
      scene.advance(A_SLICE);
      if (scene.done || now - looked > A_LOOK) {
        looked = now;
        this.tellVerdict();
        this.viewer.draw();
      }
      if (!scene.done) requestAnimationFrame(slice);
      else this.viewer.worked(this);
    };
    requestAnimationFrame(slice);
  }

  tellVerdict() {
    const { scene } = this;
    const { firstMistake, answerSize } = scene;
    const unit = scene.text ? "word" : "symbol";
    if (scene.known < scene.steps) {
      this.verdict.className = "verdict";
      this.verdict.textContent = `working, ${scene.known.toLocaleString("en")} of ${scene.steps.toLocaleString("en")} steps done`;
      return;
    }
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
    const { scene, viewer, focus } = this.scene && this.viewer.step !== null ? this : {};
    if (!scene) return;
    scene.reach(focus.step);
    this.overview.pinned = this.lens.pinned = Math.min(viewer.step, scene.steps - 1);
    this.tape.draw(focus, viewer.playing);
    for (const part of this.pictures) part.draw(focus);
    const words = new Words(scene);
    this.words.replaceChildren(...words.sentences(focus));
    if (scene.settles) this.settled.replaceChildren(words.settledWords(focus));
  }
}

// Unpacked once each.
const runningMachines = new Map();

function runningMachine(packed) {
  if (!runningMachines.has(packed)) runningMachines.set(packed, unpackedMachine(packed));
  return runningMachines.get(packed);
}
