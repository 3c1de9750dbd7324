// The key spaces by their names in lantm.geometry. A further one is a function like those, and an entry here.

const GEOMETRIES = {
  translation,
  rotation,
  "scaling-rotation": scalingRotation,
  se2: rigidMotion,
  sphere,
  disk,
  hyperbolic,
};
