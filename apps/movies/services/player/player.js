// Plays HLS in a video element and measures its viewer's experience: the start-up delay, from `play` to the first
// moving picture, and each stall after it. hls.js plays if the browser has media source extensions, the browser itself
// otherwise.

const HLS = 'application/vnd.apple.mpegurl';
// How often playback restarts after a network or decoder error.
const RECOVERIES = 3;

export class Player {
  #video;
  #tell;
  #hls = null;
  #asked = 0;
  #stalledSince = null;
  #recoveries = 0;
  // Whether the browser plays natively, and whether the current source has failed before.
  #isNative = false;
  #hasFailed = false;
  #stats = { startUpMs: null, stalls: 0, stalledMs: 0, height: 0 };

  /**
   * `changed(stats)` gets `{startUpMs, stalls, stalledMs, height}`, `failed(words)` the reason why playback ended, and `refused(seconds)` the
   * position at which the server refused the address: `play` with a new address continues from there.
   */
  constructor(video, { changed, failed, refused }) {
    this.#video = video;
    this.#tell = { changed, failed, refused };
    video.addEventListener('playing', () => this.#plays());
    video.addEventListener('waiting', () => this.#waits());
    video.addEventListener('error', () => this.#fails());
    video.addEventListener('resize', () => this.#change({ height: video.videoHeight }));
    // A seek or a pause is the viewer's own, and no stall.
    video.addEventListener('seeking', () => { this.#stalledSince = null; });
    video.addEventListener('pause', () => { this.#stalledSince = null; });
  }

  get stats() {
    return { ...this.#stats };
  }

  /** Plays the stream whose master playlist is at `url`, from its begin or from `from` seconds. */
  play(url, from = 0) {
    const { Hls } = window;
    this.#asked = performance.now();
    if (Hls?.isSupported()) {
      this.#hls = new Hls({ workerPath: '/assets/hls.worker.js', startPosition: from || -1 });
      this.#hls.on(Hls.Events.ERROR, (_event, data) => this.#wrong(Hls, data));
      this.#hls.loadSource(url);
      this.#hls.attachMedia(this.#video);
    } else if (this.#video.canPlayType(HLS)) {
      this.#isNative = true;
      this.#video.addEventListener('loadedmetadata', () => { this.#video.currentTime = from; }, { once: true });
      this.#video.src = url;
    } else {
      this.#tell.failed('This browser plays no HLS. Please use another one.');
      return;
    }
    // Browsers that let nothing play by itself wait for the viewer, from whose click on the start then counts.
    this.#video.play().catch(() => {
      this.#video.addEventListener('play', () => { this.#asked = performance.now(); }, { once: true });
    });
  }

  stop() {
    this.#hls?.destroy();
    this.#hls = null;
  }

  #plays() {
    const now = performance.now();
    if (this.#stats.startUpMs === null) {
      this.#change({ startUpMs: now - this.#asked });
    } else if (this.#stalledSince !== null) {
      this.#change({ stalls: this.#stats.stalls + 1, stalledMs: this.#stats.stalledMs + now - this.#stalledSince });
    }
    this.#stalledSince = null;
    this.#recoveries = 0;
  }

  #waits() {
    if (this.#stats.startUpMs !== null && !this.#video.seeking && !this.#video.ended) {
      this.#stalledSince = performance.now();
    }
  }

  /** A browser that plays by itself does not tell a refusal from a broken network: it is given another address once. */
  #fails() {
    if (!this.#isNative) return;
    if (this.#hasFailed) {
      this.#tell.failed('The film cannot be played right now. Please load the page again.');
    } else {
      this.#hasFailed = true;
      this.#tell.refused(this.#video.currentTime);
    }
  }

  #wrong(Hls, { fatal, type, response }) {
    if (!fatal) return;
    if (response?.code === 403 || response?.code === 410) {
      const at = this.#video.currentTime;
      this.stop();
      this.#tell.refused(at);
    } else if (++this.#recoveries > RECOVERIES) {
      this.#tell.failed('The film cannot be loaded right now. Please load the page again in a moment.');
      this.stop();
    } else if (type === Hls.ErrorTypes.MEDIA_ERROR) {
      this.#hls.recoverMediaError();
    } else {
      this.#hls.startLoad();
    }
  }

  #change(some) {
    Object.assign(this.#stats, some);
    this.#tell.changed(this.stats);
  }
}
