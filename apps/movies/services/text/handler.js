import types from '#idl/movies_types.cjs';
import { Code, refuse } from '#chassis/failure.js';
import { Base } from '#chassis/service.js';
import { clean } from './clean.js';

const { Part, PartKind } = types;

/** Limit of a stored text. Source: the contract of the application. Units: bytes. */
const MOST = 8 * 1024;
/** Limit of the HTTP interface; cleaning that much takes well below a millisecond. Units: bytes. */
const MOST_GIVEN = 64 * 1024;

export class Handler extends Base {
  constructor(service, context, reviews) {
    super(service, context);
    this.reviews = reviews;
  }

  async upload(request, text) {
    const given = Buffer.byteLength(text ?? '');
    if (given > MOST_GIVEN) throw refuse(Code.TOO_LARGE, `the text of a review has ${given} bytes, and at most ${MOST} are kept`);
    const cleaned = clean(text ?? '');
    const size = Buffer.byteLength(cleaned);
    if (size === 0) throw refuse(Code.BAD_REQUEST, 'the text of a review has no character that is seen');
    if (size > MOST) throw refuse(Code.TOO_LARGE, `the text of a review has ${size} bytes, and at most ${MOST} are kept`);
    const part = new Part({ kind: PartKind.TEXT, number: 0, text: cleaned });
    await this.reviews.call(this.context, 'put', [request, part], { key: request });
  }
}
