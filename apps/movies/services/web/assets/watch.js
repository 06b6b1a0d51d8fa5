// Watching: plays the rented ticket, and shows the effects of the network below.
import { ask, dollars, el, filmOf, forgetRental, isRented, loginPath, renew, rent, tell, viewer } from './site.js';
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

function showTicket({ expires_s: expires, repeated, cents }, back) {
  const until = new Date(expires * 1000).toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit' });
  $('more').replaceChildren(el('a', { href: back }, 'To the film'), ` · Your ticket is valid until ${until}.`);
  // A restarted site does not know the price paid.
  if (!repeated) $('more').append(` You paid ${dollars(cents)}.`);
}

async function show() {
  if (movie === null) return offer('This address names no film.', '/', 'All films');
  const who = viewer();
  if (!who) return loggedOut();
  const back = `/movie?id=${movie}`;
  if (!isRented(who.user, movie)) return offer('You have no ticket for this film, or it has expired.', back, 'To the film');
  let ticket;
  try {
    ticket = await rent(who.user, movie);
  } catch (problem) {
    return failed(problem, back);
  }
  $('video').hidden = false;
  showTicket(ticket, back);
  let isRenewed = false;
  const refused = async (from) => {
    if (isRenewed || !isRented(who.user, movie)) {
      forgetRental(who.user, movie);
      return offer('Your ticket has expired. Please rent the film again.', back, 'To the film');
    }
    isRenewed = true;
    try {
      ticket = await renew(who.user, movie);
      showTicket(ticket, back);
      return player.play(ticket.url, from);
    } catch (problem) {
      return failed(problem, back);
    }
  };
  const player = new Player($('video'), { changed: showStats, failed: (words) => tell(new Error(words)), refused });
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
