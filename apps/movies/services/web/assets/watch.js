// Watching: the ticket that was rented is played, and what the network does to it is shown below.
import { ask, el, filmOf, loginPath, tell, ticketOf, viewer } from './site.js';
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

async function show() {
  if (movie === null) return offer('This address names no film.', '/', 'All films');
  const who = viewer();
  if (!who) return offer('Please log in to watch.', loginPath(), 'Log in');
  const back = `/movie?id=${movie}`;
  const ticket = ticketOf(who.user, movie);
  if (!ticket) return offer('You have no ticket for this film, or it has expired.', back, 'To the film');
  $('video').hidden = false;
  const until = new Date(ticket.expires_s * 1000).toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit' });
  $('more').replaceChildren(el('a', { href: back }, 'To the film'), ` · Your ticket is valid until ${until}.`);
  const player = new Player($('video'), { changed: showStats, failed: (words) => tell(new Error(words)) });
  player.play(ticket.url);
  window.addEventListener('pagehide', () => player.stop());
  try {
    const { hits } = await ask(`/api/titles?ids=${movie}`);
    $('title').textContent = hits[0]?.title ?? '';
    document.title = `${hits[0]?.title ?? 'Film'} – Late Show`;
  } catch {
    // It plays without its name.
  }
}

show();
