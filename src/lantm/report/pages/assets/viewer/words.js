// Describes a step of a scene in words.

class Words {
  constructor(scene) {
    this.scene = scene;
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
      const by = (head) => (scene.reads > 1 ? ` by head ${head + 1}` : "");
      const weights = used.map(({ slot, head, weight }) => `${scene.memoryName(slot)} ${percent(weight)}${by(head)}`).join(", ");
      said.push(", ", element("span", { class: "of-read" }, `from the reading of step ${step - 1}`), `: ${weights}`);
    }
    return [...said, ". "];
  }
}
