// Read weights from squared distances, as in lantm.machine.weighting. A further weighting is an entry of WEIGHTINGS.

const FAINTEST_STRENGTH = 1e-20;

const WEIGHTINGS = {
  invnorm: ({ power, epsilon, renormalise }) => ({
    affinity: (distance, temperature, nearest) =>
      power === 1 && !renormalise
        ? 1 / Math.min(distance + epsilon, 1e37)
        : Math.min((nearest + epsilon) / (distance + epsilon), 1) ** power,
  }),
  softmax: ({ temperature: fixed }) => ({
    emitsTemperature: fixed === null,
    affinity: (distance, temperature, nearest) =>
      Math.exp(-Math.min(Math.max((distance - nearest) / Math.max(fixed ?? temperature, 1e-6), 0), 100)),
  }),
};

/** The weights of the memories from `first` to `end`, for the squared distances of one read head to them. */
function weigh({ affinity, renormalise }, distances, strengths, first, end, temperature) {
  const weights = new Float64Array(end);
  let nearest = Infinity;
  for (let slot = first; slot < end; slot++) nearest = Math.min(nearest, distances[slot]);
  let total = 0;
  for (let slot = first; slot < end; slot++) {
    const strength = renormalise ? Math.max(strengths[slot], FAINTEST_STRENGTH) : strengths[slot];
    const one = affinity(distances[slot], temperature, nearest);
    weights[slot] = strength * one;
    total += renormalise ? weights[slot] : one;
  }
  total = Math.max(total, TINY);
  for (let slot = first; slot < end; slot++) weights[slot] /= total;
  return weights;
}
