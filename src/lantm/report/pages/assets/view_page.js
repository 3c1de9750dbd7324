// The page of `lantm view`.

function viewPage() {
  Theme.begin();
  const data = pageData();
  const root = element("main", { class: "viewer" });
  const compare = element("button", { id: "compare", title: "Two machines side by side (C)" }, "Compare");
  const help = element("button", { id: "keys", title: "What keys and mouse do", "aria-label": "Help" }, "?");
  const dialog = helpDialog();
  const marks = element("span", { class: "legend" });
  const about = element("span", { class: "about" }, data.about);
  document.body.classList.add("whole-page");
  document.body.append(
    element(
      "header",
      { class: "masthead" },
      element("h1", {}, data.title),
      about,
      marks,
      element("div", { class: "buttons" }, compare, Theme.button(), help),
    ),
    root,
    dialog,
  );
  const viewer = new Viewer(root, data, data.chosen);
  viewer.whenShown = () => fillLegend(marks, viewer);
  const pressed = () => compare.setAttribute("aria-pressed", String(viewer.panes.length > 1));
  compare.hidden = data.machines.length < 2;
  compare.addEventListener("click", () => viewer.compare());
  new MutationObserver(pressed).observe(viewer.panesRoot, { attributes: true });
  pressed();
  help.addEventListener("click", () => dialog.showModal());
  listenToKeys(viewer, help);
}

viewPage();
