// Isometries of plane, sphere and disk as two complex numbers (alpha, beta), as in lantm.geometry.surface.

const halves = (action) => [action.slice(0, 2), action.slice(2)];
const FARTHEST_SHIFT = 1e6; // in diameters

/** What the three surfaces share; the curvature is 0, 1 or -1. */
function surface(curvature, radius) {
  const determinant = (action) => squaredNorm(action.slice(0, 2)) + curvature * squaredNorm(action.slice(2));
  const shift = (raw) => {
    if (!curvature) return [raw, 1];
    const beta = halfRadii(raw, radius);
    const stretch = Math.sqrt(1 + squaredNorm(beta));
    return curvature > 0 ? [beta.map((value) => value / stretch), 1 / stretch] : [beta, stretch];
  };
  const renormalised = (action) => {
    if (curvature > 0) {
      const length = Math.sqrt(determinant(action));
      return action.map((value) => value / length);
    }
    const [alpha, beta] = halves(action);
    const length = Math.sqrt((1 - curvature * squaredNorm(beta)) / squaredNorm(alpha));
    return [...alpha.map((value) => value * length), ...beta];
  };
  return {
    actionSize: 4,
    rawActionSize: 3,
    action([x, y, turn]) {
      const halfTurn = turn / (2 * radius);
      const across = x * x + y * y;
      const onward = Math.sqrt((across + turn * turn + 1e-4) / (across + 1e-4));
      const [beta, stretch] = shift([x * onward, y * onward]);
      const cosine = stretch / Math.sqrt(1 + halfTurn * halfTurn);
      return [cosine, cosine * halfTurn, ...beta];
    },
    mixActions(gate, candidate, previous) {
      let s = determinant(candidate.map((value, at) => value - previous[at])) / 4;
      const opposite = s > 0.5; // a matrix and its negative are one action: the nearer is taken
      if (opposite) s = 1 - s;
      const mixed = interpolate(gate, opposite ? candidate.map((value) => -value) : candidate, previous);
      const length = Math.sqrt(1 - 4 * gate * (1 - gate) * s);
      return renormalised(mixed.map((value) => value / length));
    },
  };
}

function halfRadii(raw, radius) {
  return raw.map((value) => clipped(FARTHEST_SHIFT)(value / (2 * radius)));
}

function rigidMotion({ radius }) {
  return {
    ...euclidean(2),
    ...surface(0, radius),
    act(action, key) {
      const [alpha, beta] = halves(action);
      const [x, y] = times(alpha, key);
      return times(alpha, [x + beta[0], y + beta[1]]);
    },
  };
}

function sphere({ radius }) {
  return {
    ...surface(1, radius),
    keySize: 3,
    rawKeySize: 2,
    rim: 2 * radius,
    key(raw) {
      const flat = halfRadii(raw, radius);
      const square = squaredNorm(flat);
      return [2 * flat[0], 2 * flat[1], 1 - square].map((value) => (radius * value) / (1 + square));
    },
    act(action, key) {
      const [alpha, beta] = halves(action);
      const [east, north] = [key.slice(0, 2), key[2]];
      const double = times(alpha, beta);
      const one = times(times(alpha, alpha), east);
      const other = times(times(beta, beta), conjugate(east));
      const along = times(times(alpha, conjugate(beta)), east)[0];
      const height = (squaredNorm(alpha) - squaredNorm(beta)) * north - 2 * along;
      const moved = [one[0] - other[0] + 2 * double[0] * north, one[1] - other[1] + 2 * double[1] * north, height];
      const length = radius / Math.sqrt(squaredNorm(moved));
      return moved.map((value) => value * length);
    },
    mixKeys(gate, candidate, previous) {
      const mixed = interpolate(gate, candidate, previous).map((value) => value / radius);
      return project(mixed, previous.map((value) => value / radius)).map((value) => value * radius);
    },
    distance: euclideanDistance,
    place([x, y, z]) {
      const stretch = Math.sqrt((2 * radius) / Math.max(radius + z, 1e-6 * radius));
      return [x * stretch, y * stretch];
    },
    moved(key, place) {
      const away = Math.min(squaredNorm(place), 3.99 * radius * radius); // the rim is one point, and has no direction
      const [x, y] = place.map((value) => value * Math.sqrt(away / (squaredNorm(place) || 1)));
      const shrink = Math.sqrt(1 - away / (4 * radius * radius));
      return [x * shrink, y * shrink, radius - away / (2 * radius)];
    },
  };
}
