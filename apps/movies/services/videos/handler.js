import { Code, refuse } from '#chassis/failure.js';
import { Base } from '#chassis/service.js';
import { asVideo, parse } from './document.js';

/** Source: the contract of the application. Units: s. */
const KEPT = 3600;

export class Handler extends Base {
  constructor(service, context, cache, store) {
    super(service, context);
    this.cache = cache;
    this.store = store;
  }

  async read(movie) {
    if (movie === null || movie < 1) throw refuse(Code.BAD_REQUEST, `movie ${movie ?? 0}: numbers are from 1 on`);
    const key = `video:${movie}`;
    const cached = await this.cache.get(this.context, key);
    // A malformed value counts as a miss.
    const found = cached && asVideo(parse(cached));
    if (found) return found;
    const doc = await this.store.get(this.context, 'movies', String(movie));
    const video = doc && asVideo(doc);
    if (!video) throw refuse(Code.NOT_FOUND, `movie ${movie}: there is no video of it`);
    await this.cache.set(this.context, key, JSON.stringify(doc), KEPT);
    return video;
  }
}
