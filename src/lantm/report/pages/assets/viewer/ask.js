// The input of a problem, typed or drawn at random, for a machine that runs in the page.

class Ask {
  /** `ask(problem)` is told the problem, `leave()` that typing is over; `task` of the machine is set by `show`. */
  constructor(ask, leave) {
    this.ask = ask;
    this.text = element("input", { type: "text", class: "problem-text", spellcheck: "false", autocomplete: "off" });
    this.length = element("input", { type: "number", class: "problem-length", min: 1, value: 8 });
    this.run = element("button", { type: "submit", class: "run" }, "Run");
    this.random = element("button", { type: "button", class: "random", title: "A random problem of this length" }, "Random");
    this.refusal = element("p", { class: "refusal", role: "alert" });
    this.none = element("p", { class: "quiet none-typed" });
    this.root = element(
      "form",
      { class: "ask" },
      element("label", { class: "typed" }, element("span", {}, "Your problem"), this.text),
      this.run,
      element("label", {}, element("span", {}, "length"), this.length),
      this.random,
      this.refusal,
    );
    this.root.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.submit(this.text.value)) leave();
    });
    this.random.addEventListener("click", () => this.draw());
  }

  /** The machine's task, or none and the reason why none of its problems can be typed. */
  show(task, why) {
    this.task = task;
    this.root.hidden = !task;
    this.none.hidden = Boolean(task) || !why;
    this.none.textContent = why;
    if (!task) return;
    const { hint, example } = TASKS[task.name];
    this.text.placeholder = `${hint}, such as ${example}`;
    const [smallest, largest, stride] = task.lengths;
    Object.assign(this.length, { step: String(stride), min: String(stride), max: String(this.longest) });
    if (Number(this.length.value) > this.longest || Number(this.length.value) % stride) this.length.value = String(largest);
    this.length.title = `It was trained on lengths ${smallest} to ${largest}`;
  }

  get longest() {
    const { name, longest } = this.task;
    return Math.min(longest, name === "addition" ? MOST_SYMBOLS / 2 : MOST_SYMBOLS);
  }

  /** The problem that is shown, as a person would write it. */
  tell(problem) {
    this.refusal.textContent = "";
    if (!this.task) return;
    const input = problem.inputs.slice(1, problem.inputs.length - problem.expected.length);
    this.text.value = problem.text ?? TASKS[this.task.name].write(input, this.task);
  }

  draw() {
    const stride = this.task.lengths[2];
    const asked = clamp(Math.round(Number(this.length.value) / stride) * stride || stride, stride, this.longest);
    this.length.value = String(asked);
    this.submit(TASKS[this.task.name].draw(asked, this.task, Math.random));
  }

  /** Whether the problem can be read. */
  submit(text) {
    try {
      const problem = ownProblem(text, this.task);
      this.text.value = text;
      this.refusal.textContent = "";
      this.ask(problem);
      return true;
    } catch (error) {
      this.refusal.textContent = `${error.message}.`;
      return false;
    }
  }
}

/** A problem that a person wrote. */
function ownProblem(text, task) {
  return { name: `“${text.length > 32 ? `${text.slice(0, 31)}…` : text}”`, text, own: true, ...encoded(text, task) };
}
