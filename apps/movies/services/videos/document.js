import types from '#idl/movies_types.cjs';

const { Rendition, Video } = types;

/** Undefined if it is not JSON. */
export function parse(bytes) {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

/** The video of a film's document; undefined if malformed. */
export function asVideo(doc) {
  const { movie, clip, seconds, cents, renditions } = doc ?? {};
  if (typeof clip !== 'string' || ![movie, seconds, cents].every(Number.isSafeInteger) || !Array.isArray(renditions)) return undefined;
  if (!renditions.every((one) => Number.isSafeInteger(one?.height) && Number.isSafeInteger(one?.kbps))) return undefined;
  return new Video({
    movie,
    clip,
    seconds,
    cents,
    renditions: renditions.map(({ height, kbps }) => new Rendition({ height, kbps })),
  });
}
