// Hyperbolic space as the upper half-space (a point and a height above it), as in lantm.geometry.half_space.

const REACH = -Math.log(2 ** -23) - 2; // the ball in which 32-bit floats can tell neighbouring keys apart
const LOWEST = Math.exp(-REACH);
const TINY = 2 ** -126; // the smallest normal 32-bit float

/** What disk and hyperbolic space share. */
function halfSpace(size, radius) {
  const half = (key, addresses, at) => {
    const heights = Math.max(key[size - 1], LOWEST) * Math.max(addresses[at + size - 1], LOWEST);
    return euclideanDistance(key, addresses, at) / (4 * heights);
  };
  return {
    keySize: size,
    rawKeySize: size,
    rim: 1,
    key(raw) {
      const [up, ...aside] = halfRadii(raw, radius);
      const square = squaredNorm(aside);
      const stretch = Math.sqrt(1 + up * up + square);
      const long = stretch + Math.abs(up);
      const difference = up > 0 ? (1 + square) / long : long; // stretch - up, without a difference of large numbers
      const height = 1 / (square + difference * difference);
      return withinReach([...aside.map((value) => -2 * stretch * value * height), height]);
    },
    mixKeys(gate, candidate, previous) {
      const scale = 1 / Math.sqrt(1 + 4 * gate * (1 - gate) * half(candidate, previous, 0));
      const [fresh, old] = [(gate * scale) / candidate[size - 1], ((1 - gate) * scale) / previous[size - 1]];
      const height = 1 / (fresh + old);
      const floor = candidate.slice(0, -1).map((value, at) => fresh * height * value + old * height * previous[at]);
      return [...floor, height];
    },
    distance(key, addresses, at) {
      const s = half(key, addresses, at);
      const length = radius * Math.log1p(2 * (s + Math.sqrt(s * (1 + s))));
      return length * length;
    },
    place: (key) => inBall(key).slice(0, 2),
    moved(key, place) {
      const ball = [...place, ...inBall(key).slice(2)];
      const shrink = Math.min(1, 0.999 / Math.sqrt(squaredNorm(ball) || 1));
      return withinReach(fromBall(ball.map((value) => value * shrink)));
    },
  };
}

function withinReach(key) {
  const height = Math.min(Math.max(key[key.length - 1], LOWEST), Math.exp(REACH));
  const floor = key.slice(0, -1);
  const edge = Math.max(2 * Math.cosh(REACH) * height - 1 - height * height, TINY);
  const shrink = Math.sqrt(edge / Math.max(squaredNorm(floor), edge));
  return [...floor.map((value) => value * shrink), height];
}

/** The Poincare ball: the base point (0, 1) is its middle, and up is its first direction. */
function inBall(key) {
  const [floor, height] = [key.slice(0, -1), key[key.length - 1]];
  const square = squaredNorm(floor);
  const scale = 1 / (square + (height + 1) ** 2);
  return [(square + height * height - 1) * scale, ...floor.map((value) => -2 * value * scale)];
}

function fromBall([up, ...aside]) {
  const square = squaredNorm(aside);
  const scale = 1 / ((1 - up) ** 2 + square);
  return [...aside.map((value) => -2 * value * scale), (1 - up * up - square) * scale];
}

function disk({ radius }) {
  return {
    ...surface(-1, radius),
    ...halfSpace(2, radius),
    act(action, [x, y]) {
      const [alpha, beta] = halves(action);
      const [a, d] = [alpha[0] + beta[0], alpha[0] - beta[0]];
      const [b, c] = [alpha[1] - beta[1], -alpha[1] - beta[1]];
      const [real, imaginary] = [c * x + d, c * y];
      const scale = 1 / Math.max(real * real + imaginary * imaginary, TINY);
      return withinReach([((a * x + b) * real + a * y * imaginary) * scale, y * scale]);
    },
  };
}

function hyperbolic({ dimension, radius }) {
  return {
    ...halfSpace(dimension, radius),
    actionSize: dimension,
    rawActionSize: dimension,
    action(raw) {
      const [climb, ...aside] = raw.map((value) => value / radius);
      return [...aside.map((value) => clipped(1e12)(-value)), clipped(32)(climb)];
    },
    act(action, key) {
      const scale = Math.exp(action[dimension - 1]);
      return withinReach(key.map((value, at) => scale * value + (at < dimension - 1 ? action[at] : 0)));
    },
    mixActions: interpolate,
  };
}
