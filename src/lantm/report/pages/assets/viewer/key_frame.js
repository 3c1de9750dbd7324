// The visible part of a key space: a chosen view, or the user's zoom and position.

const VIEWS = { all: "Everything", start: "The first memories", end: "The last memories", here: "Around the read head" };

/** The memories next to a place: as many as are asked for, and how far the farthest is. */
function distancesTo(scene, [x, y]) {
  return Float64Array.from({ length: scene.written }, (_, slot) =>
    Math.hypot(scene.addresses[2 * slot] - x, scene.addresses[2 * slot + 1] - y),
  );
}

/** Places that a view has to hold. */
function heldPlaces(scene, view, step, width, height) {
  const places = [];
  const few = Math.min(clamp(Math.floor(Math.min(width, height) / 26), 5, 14), scene.written); // with room for symbols
  if (view === "here" && scene.reads && scene.written) {
    // The memories next to a read head, as many as in the views of the beginning and the end; of several heads the
    // one that is next to a memory, since another may be far away from all of them, and idle.
    const heads = Array.from({ length: scene.reads }, (_, head) => {
      const place = scene.place(step, head);
      return { place, distances: distancesTo(scene, place) };
    });
    const { place, distances } = heads.reduce((one, other) => (min(other.distances) < min(one.distances) ? other : one));
    const reach = distances.slice().sort()[few - 1];
    places.push(place);
    for (let slot = 0; slot < scene.written; slot++) if (distances[slot] <= reach) places.push(scene.address(slot));
    return places;
  }
  const [from, to] = view === "start" ? [0, few] : view === "end" ? [scene.written - few, scene.written] : [0, scene.written];
  for (let slot = from; slot < to; slot++) places.push(scene.address(slot));
  if (view === "all") {
    for (let at = scene.firstRead; at < scene.known; at++) {
      for (let head = 0; head < scene.reads; head++) places.push(scene.place(at, head));
    }
    for (const line of scene.space.outline) places.push(...line);
    if (scene.space.cross) places.push([0, 0]);
  }
  return places;
}

/** The middle and the scales of a picture that holds all places. */
function frameOf(places, equal, width, height) {
  const finite = places.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
  if (!finite.length) finite.push([0, 0]);
  const [xs, ys] = [finite.map((place) => place[0]), finite.map((place) => place[1])];
  const [left, right, low, high] = [min(xs), max(xs), min(ys), max(ys)];
  let [sx, sy] = [(width - 44) / (right - left || 1), (height - 74) / (high - low || 1)];
  if (equal) sx = sy = Math.min(sx, sy);
  return { cx: (left + right) / 2, cy: (low + high) / 2, sx, sy, width, height };
}

function min(numbers) {
  return numbers.reduce((one, other) => Math.min(one, other));
}

function max(numbers) {
  return numbers.reduce((one, other) => Math.max(one, other));
}
