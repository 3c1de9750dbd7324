// Projection of the key spaces of machines that run in the page, as in lantm.report.projection.

const circle = (radius) =>
  Array.from({ length: 181 }, (_, at) => [radius * Math.cos((at * Math.PI) / 90), radius * Math.sin((at * Math.PI) / 90)]);

/**
 * A plane to draw keys in: `place` is where the key of a step is drawn, and `moved` the key that a head has after it was
 * dragged to a place. `whole`: keys can be placed only when all are known, in `look`.
 */
function spaceOf({ name, radius }, geometry) {
  const space = { outline: [], equal: true, labels: ["", ""], note: "", cross: false, whole: false };
  Object.assign(space, { place: (key) => geometry.place(key), moved: (key, place) => geometry.moved(key, place) });
  if (geometry.rim !== undefined) {
    space.outline = [circle(geometry.rim)];
    if (name === "disk") space.note = "the Poincare disk: steps of one length look shorter towards its rim";
    else if (name === "sphere") {
      space.note = "a map of the whole sphere: its rim is one point, opposite the middle";
      space.outline.push(...sphereNet(radius).map((line) => line.map(geometry.place)));
    } else if (geometry.keySize > 2) space.note = `${geometry.keySize} dimensions, their shadow on the first two`;
    return space;
  }
  if (geometry.keySize === 1) {
    return { ...space, labels: ["step", "key"], equal: false, place: (key, step) => [step, key[0]] };
  }
  if (geometry.keySize === 2) {
    const turns = name === "rotation" || name === "scaling-rotation";
    return turns ? { ...space, cross: true, note: "the cross is the origin, the fixed point" } : space;
  }
  const wide = { ...space, labels: ["first principal direction", "second"], whole: true };
  return { ...wide, look: (keys) => ({ ...wide, ...widest(keys) }) };
}

/** Parallels and meridians, 30 degrees apart. */
function sphereNet(radius) {
  const point = (polar, east) => [Math.sin(polar) * Math.cos(east), Math.sin(polar) * Math.sin(east), Math.cos(polar)];
  const line = (points, to) => Array.from({ length: points }, (_, at) => to(at / (points - 1)).map((one) => radius * one));
  const parallels = [1, 2, 3, 4, 5].map((at) => line(121, (share) => point((at * Math.PI) / 6, 2 * Math.PI * share)));
  const meridians = Array.from({ length: 12 }, (_, at) => line(31, (share) => point(0.999 * Math.PI * share, (at * Math.PI) / 6)));
  return [...parallels, ...meridians];
}

/** Looks along the two principal directions of the keys. */
function widest(keys) {
  const size = keys[0].length;
  const finite = keys.filter((key) => key.every(Number.isFinite));
  const middle = Array.from({ length: size }, (_, at) => finite.reduce((sum, key) => sum + key[at], 0) / (finite.length || 1));
  const spread = middle.map(() => new Array(size).fill(0));
  for (const key of finite) {
    for (let row = 0; row < size; row++) {
      for (let column = 0; column < size; column++) spread[row][column] += (key[row] - middle[row]) * (key[column] - middle[column]);
    }
  }
  const total = spread.reduce((sum, row, at) => sum + row[at], 0);
  const directions = [principal(spread), principal(spread)];
  const share = total ? (100 * (directions[0].width + directions[1].width)) / total : 100;
  const axes = directions.map(({ direction }) => direction);
  const along = (key, axis) => key.reduce((sum, value, at) => sum + (value - middle[at]) * axis[at], 0);
  return {
    place: (key) => axes.map((axis) => along(key, axis)),
    moved(key, place) {
      const changes = axes.map((axis, at) => place[at] - along(key, axis));
      return key.map((value, at) => value + changes[0] * axes[0][at] + changes[1] * axes[1][at]);
    },
    note: `${size} dimensions, seen along their two principal directions (${share.toFixed(0)}% of the spread)`,
  };
}

/** The direction of the largest spread, which is then taken out of the matrix; its larger component is positive. */
function principal(matrix) {
  let direction = matrix.map((row, at) => Math.hypot(...row) + 1e-9 * (at + 1));
  let width = 0;
  for (let round = 0; round < 300; round++) {
    const next = matrix.map((row) => row.reduce((sum, value, at) => sum + value * direction[at], 0));
    width = Math.hypot(...next);
    const length = width || Math.hypot(...direction);
    direction = (width ? next : direction).map((value) => value / length);
  }
  matrix.forEach((row, one) => row.forEach((_, other) => (row[other] -= width * direction[one] * direction[other])));
  const largest = direction.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
  return { width, direction: direction.map((value) => (largest < 0 ? -value : value)) };
}
