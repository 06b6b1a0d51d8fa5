import { BadFrame, FRAME_LIMIT } from './frame.js';

/** Bytes of a connection that were not consumed yet. Chunks are joined once, when an answer is complete. */
export class Inbox {
  #chunks = [];
  size = 0;

  push(chunk) {
    this.#chunks.push(chunk);
    this.size += chunk.length;
  }

  /**
   * The next frame without its length; undefined if incomplete.
   *
   * Errors: `BadFrame`.
   */
  takeFrame() {
    if (this.size < 4) return undefined;
    if (this.#chunks[0].length < 4) this.#join();
    const length = this.#chunks[0].readUInt32BE(0);
    if (length === 0 || length > FRAME_LIMIT) throw new BadFrame();
    if (this.size < 4 + length) return undefined;
    return this.take(4 + length).subarray(4);
  }

  /** All of it, in one piece. */
  peek() {
    this.#join();
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  take(size) {
    if (this.#chunks[0].length < size) this.#join();
    const first = this.#chunks[0];
    this.size -= size;
    if (first.length === size) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(size);
    return first.subarray(0, size);
  }

  #join() {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
  }
}
