// Shared by all pages: creating elements, theme colours, reading the data embedded in the page.
//
// Whatever comes from a run (names, symbols, settings) reaches the page as text nodes only, never as markup.

/** An element with attributes and children; a child that is no element becomes text. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return made;
}

/** An element that scrolls sideways; its edges fade where there is more. */
function scrolling(box) {
  const tell = () => {
    const more = box.scrollWidth - box.clientWidth - box.scrollLeft;
    box.classList.toggle("more-left", box.scrollLeft > 1);
    box.classList.toggle("more-right", more > 1);
  };
  box.classList.add("scrolling");
  box.addEventListener("scroll", tell, { passive: true });
  new ResizeObserver(tell).observe(box);
  new MutationObserver(tell).observe(box, { childList: true });
  return box;
}

/** The JSON that stands in the page. */
function pageData() {
  return JSON.parse(document.getElementById("data").textContent);
}

// Canvases cannot read CSS variables: a hidden element tells what a variable is in the theme of the moment.
const Theme = {
  probe: null,
  known: new Map(),
  watchers: [],

  /** The colour of a variable as [red, green, blue]. */
  rgb(name) {
    if (!this.known.has(name)) {
      if (!this.probe) {
        this.probe = element("span", { hidden: true });
        document.body.append(this.probe);
      }
      this.probe.style.color = `var(--${name})`;
      this.known.set(name, getComputedStyle(this.probe).color.match(/[\d.]+/g).slice(0, 3).map(Number));
    }
    return this.known.get(name);
  },

  /** The colour of a variable for a canvas. */
  colour(name, alpha = 1) {
    const [red, green, blue] = this.rgb(name);
    return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
  },

  get dark() {
    const chosen = document.documentElement.style.colorScheme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  },

  /** Watchers draw with the next frame, or where there will be none, `now`. */
  changed(now = false) {
    this.known.clear();
    for (const watcher of this.watchers) watcher(now);
  },

  /** Paper is white: canvases are drawn for it, and afterwards as before. */
  watchPrinting() {
    const { style } = document.documentElement;
    let before = "";
    const become = (scheme) => {
      style.colorScheme = scheme;
      this.changed(true);
    };
    addEventListener("beforeprint", () => {
      before = style.colorScheme;
      become("light");
    });
    addEventListener("afterprint", () => become(before));
  },

  toggle() {
    const chosen = this.dark ? "light" : "dark";
    document.documentElement.style.colorScheme = chosen;
    try {
      localStorage.setItem("lantm-theme", chosen);
    } catch {
      // A browser that keeps nothing for pages from disk: the choice holds for this page.
    }
    this.changed();
  },

  begin() {
    try {
      const chosen = localStorage.getItem("lantm-theme");
      if (chosen === "dark" || chosen === "light") document.documentElement.style.colorScheme = chosen;
    } catch {
      // As above.
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.changed());
    this.watchPrinting();
  },

  /** A button that changes between light and dark. */
  button() {
    const made = element("button", { id: "theme", title: "Light or dark (T)", "aria-label": "Light or dark" }, "◐");
    made.addEventListener("click", () => this.toggle());
    return made;
  },
};

/** Sizes a canvas to its box in device pixels; returns its context in CSS pixels, with the width and height. */
function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  const [wide, high] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height, ratio };
}

/** A number from 0 to 1 as a percentage, with a decimal where it is small. */
function percent(share) {
  const value = 100 * share;
  return `${value >= 9.95 || value === 0 ? value.toFixed(0) : value.toFixed(1)}%`;
}

function clamp(value, low, high) {
  return Math.min(high, Math.max(low, value));
}
