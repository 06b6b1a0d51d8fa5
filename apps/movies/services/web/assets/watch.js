// Watching: plays the rented ticket, and shows the effects of the network below.
import { ask, dollars, el, filmOf, loginPath, rentalOf, tell, viewer } from './site.js';
import { Player } from './player.js';

const $ = (id) => document.getElementById(id);
const movie = filmOf(location.search);

function seconds(ms) {
  return `${(ms / 1000).toFixed(2)} s`;
}

function showStats({ startUpMs, stalls, stalledMs, height }) {
  if (startUpMs === null) return;
  const stalled = stalls ? `stalled ${stalls} × for ${seconds(stalledMs)}` : 'no stalls';
  $('stats').textContent = [`Started after ${seconds(startUpMs)}`, stalled, height ? `${height} lines` : null]
    .filter((part) => part !== null).join(' · ');
}

function offer(words, path, name) {
  tell(new Error(words));
  $('more').replaceChildren(el('a', { className: 'button', href: path }, name));
}

function loggedOut() {
  offer('Please log in to watch.', loginPath(), 'Log in');
}

/** Tells the viewer why a rental cannot be watched. */
function failed(problem, back) {
  if (problem.code === 'UNAUTHORIZED') return loggedOut();
  return offer(problem.message, back, 'To the film');
}

function showRental({ expires_s: expires, cents }, back) {
  const until = new Date(expires * 1000).toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit' });
  $('more').replaceChildren(el('a', { href: back }, 'To the film'), ` · Rented until ${until} for ${dollars(cents)}.`);
}

async function show() {
  if (movie === null) return offer('This address names no film.', '/', 'All films');
  if (!viewer()) return loggedOut();
  const back = `/movie?id=${movie}`;
  const absent = () => offer('You have not rented this film, or the time is over.', back, 'To the film');
  let rental;
  try {
    rental = await rentalOf(movie);
  } catch (problem) {
    return failed(problem, back);
  }
  if (!rental) return absent();
  $('video').hidden = false;
  showRental(rental, back);
  let isRenewed = false;
  // A site that was started again signs otherwise, and has a new address of a rental that is valid.
  const refused = async (from) => {
    try {
      const now = isRenewed ? null : await rentalOf(movie);
      if (!now) return absent();
      isRenewed = true;
      return player.play(now.url, from);
    } catch (problem) {
      return failed(problem, back);
    }
  };
  const player = new Player($('video'), { changed: showStats, failed: (words) => tell(new Error(words)), refused });
  player.play(rental.url);
  window.addEventListener('pagehide', () => player.stop());
  try {
    const { hits } = await ask(`/api/titles?ids=${movie}`);
    $('title').textContent = hits[0]?.title ?? '';
    document.title = `${hits[0]?.title ?? 'Film'} – Late Show`;
  } catch {
    // It plays without its name.
  }
}

// The player is gone when the page is left, so that a page from the browser's memory begins again.
window.addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
show();
