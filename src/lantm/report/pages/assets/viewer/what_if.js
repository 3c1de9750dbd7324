// Interventions on a machine that runs in the page: heads moved, settling switched off, gates held.

const HOLDS = { "": "as it is", 0: "held at 0", 1: "held at 1" };
const PUSHES = { "←": [-1, 0], "→": [1, 0], "↑": [0, 1], "↓": [0, -1] };
const WAYS = { "←": "left", "→": "right", "↑": "up", "↓": "down" };

class WhatIf {
  /** `changed()` is told when the machine is to run again. */
  constructor(changed, pushBy) {
    this.changed = changed;
    this.pushBy = pushBy;
    this.body = element("div", { class: "what-if-body" });
    this.count = element("span", { class: "count" });
    this.root = element("details", { class: "what-if" }, element("summary", {}, "What if …", this.count), this.body);
  }

  /** The switches of a machine, untouched; null where it does not run in the page, or has no heads. */
  show(machine) {
    this.machine = machine;
    this.root.hidden = !machine || !machine.heads;
    this.reset();
  }

  reset() {
    const { machine } = this;
    this.pushes = [];
    this.settle = null;
    this.gates = machine ? Array.from({ length: machine.heads }, () => [null, null]) : [];
    if (machine && machine.heads) this.build();
    this.tell();
  }

  /** What is done, as the engine takes it. */
  get meddling() {
    return { settle: this.settle, gates: this.gates, pushes: this.pushes };
  }

  push(step, head, key) {
    // A head that was pushed later has gone another way since.
    this.pushes = [...this.pushes.filter((push) => push.step < step || (push.step === step && push.head !== head)), { step, head, key }];
    this.tell();
    this.changed();
  }

  build() {
    const { machine } = this;
    const settle = element("input", { type: "checkbox", class: "settle" });
    settle.checked = machine.config.settle_reads;
    settle.addEventListener("change", () => {
      this.settle = settle.checked === machine.config.settle_reads ? null : settle.checked;
      this.tell();
      this.changed();
    });
    const gates = Array.from({ length: machine.heads }, (_, head) => this.gateChoices(head));
    this.list = element("ul", { class: "pushes" });
    const undo = element("button", { type: "button", class: "undo" }, "Undo all");
    undo.addEventListener("click", () => {
      this.reset();
      this.changed();
    });
    this.body.replaceChildren(
      element("label", { class: "check" }, settle, element("span", {}, "read heads settle on memories")),
      element("div", { class: "gates" }, ...gates),
      this.pushButtons(),
      this.list,
      undo,
    );
  }

  gateChoices(head) {
    const who = headName(this.machine, head);
    const choices = ["key", "action"].map((kind, at) => {
      const choice = element("select", { class: "hold", "aria-label": `${who}: ${kind} gate` });
      for (const [value, name] of Object.entries(HOLDS)) choice.append(element("option", { value }, name));
      choice.value = "";
      choice.addEventListener("change", () => {
        this.gates[head][at] = choice.value === "" ? null : Number(choice.value);
        this.tell();
        this.changed();
      });
      return element("label", {}, element("span", {}, `${kind} gate`), choice);
    });
    return element("div", { class: "gate-choices", role: "group", "aria-label": who }, element("b", {}, who), ...choices);
  }

  /** The same as dragging, for who does not use a mouse. */
  pushButtons() {
    const which = element("select", { class: "which", "aria-label": "Which head to push" });
    for (let head = 0; head < this.machine.heads; head++) which.append(element("option", { value: head }, headName(this.machine, head)));
    which.value = String(Math.min(this.chosen ?? 0, this.machine.heads - 1));
    which.addEventListener("change", () => (this.chosen = Number(which.value)));
    const buttons = Object.entries(PUSHES).map(([arrow, direction]) => {
      const button = element("button", { type: "button", "aria-label": `Push it ${WAYS[arrow]}` }, arrow);
      button.addEventListener("click", () => this.pushBy(Number(which.value), direction));
      return button;
    });
    return element("div", { class: "push" }, element("span", {}, "In the shown step, push"), which, element("span", { class: "arrows" }, ...buttons), element("span", { class: "quiet" }, "or drag it"));
  }

  /** What is done, in words. */
  tell() {
    const held = this.gates.flat().filter((gate) => gate !== null).length;
    const done = held + this.pushes.length + (this.settle === null ? 0 : 1);
    this.count.textContent = done ? ` ${done} ${done === 1 ? "change" : "changes"}` : "";
    if (!this.list) return;
    this.list.replaceChildren(...this.pushes.map(({ step, head }) => element("li", {}, `${headName(this.machine, head)} pushed in step ${step}`)));
  }
}

function headName({ reads, writes }, head) {
  const [kind, number, count] = head < reads ? ["read", head, reads] : ["write", head - reads, writes];
  return `${kind} head${count > 1 ? ` ${number + 1}` : ""}`;
}
