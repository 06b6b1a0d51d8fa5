// Code that all pages share: the interface of the services, the login, and making elements. Text from the services is
// only ever inserted as text, not HTML.

// Number of colours of the placeholder shown until a film's poster loads.
const COLOURS = 12;
const VIEWER = 'viewer';

// The viewer's text for each problem; others appear in the services' own words.
const WORDS = {
  UNAUTHORIZED: 'Please log in first.',
  DEADLINE: 'This took too long. Please try again.',
  OVERLOADED: 'There are too many visitors right now. Please try again in a moment.',
  UNAVAILABLE: 'A part of the site does not answer right now. Please try again in a moment.',
  INTERNAL: 'Something went wrong on our side. Please try again.',
};

export class Problem extends Error {
  constructor(code, words) {
    super(words);
    this.code = code;
  }
}

/** Sends a request to the services; with `fields` a change. Throws a `Problem` in words. */
export async function ask(path, fields, signal) {
  const options = fields
    ? { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Requested-With': 'movies' }, body: JSON.stringify(fields) }
    : {};
  let answer;
  try {
    answer = await fetch(path, { credentials: 'same-origin', redirect: 'error', signal, ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem('OFFLINE', 'The site cannot be reached. Please look at your connection and try again.');
  }
  const data = await answer.json().catch(() => null);
  if (answer.ok && data) return data;
  const { code, what } = data?.error ?? {};
  if (code === 'UNAUTHORIZED') forget();
  const words = WORDS[code] ?? (what ? sentence(what) : `The site answers ${answer.status}. Please try again.`);
  throw new Problem(code, words);
}

function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** An element with properties and children; a string becomes text. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function tell(problem) {
  const place = document.getElementById('problem');
  place.textContent = problem?.message ?? '';
  place.hidden = !problem;
}

/** Who is logged in, as this browser remembers it; the token itself is in a cookie that no script reads. */
export function viewer() {
  try {
    const kept = JSON.parse(localStorage.getItem(VIEWER));
    return kept && kept.expires_s * 1000 > Date.now() ? kept : null;
  } catch {
    return null;
  }
}

export function remember(name, { user, expires_s }) {
  localStorage.setItem(VIEWER, JSON.stringify({ name, user, expires_s }));
}

function forget() {
  localStorage.removeItem(VIEWER);
  showViewer();
}

/** Path of the login page, which leads back to this page. */
export function loginPath() {
  return `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
}

/** A path of this site; `//host` and `/\host` lead elsewhere. */
export function ownPath(given) {
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(given ?? '') ? given : '/';
}

function showViewer() {
  const place = document.getElementById('viewer');
  const who = viewer();
  if (!who) {
    const login = location.pathname === '/login' ? [] : [el('a', { className: 'button', href: loginPath() }, 'Log in')];
    place.replaceChildren(...login);
    return;
  }
  const out = el('button', { className: 'link', type: 'button' }, 'Log out');
  out.addEventListener('click', async () => {
    try {
      await ask('/api/logout', {});
      forget();
      location.reload();
    } catch (problem) {
      tell(problem);
    }
  });
  place.replaceChildren(el('span', { className: 'name' }, who.name), out);
}

/** A film as a card that leads to its page. */
export function card({ movie, title, year }) {
  const poster = el('span', { className: `poster c${movie % COLOURS}` }, el('span', { className: 'words' }, title));
  const below = el('small', {}, year ? String(year) : 'Year unknown');
  return el('li', {}, el('a', { className: 'film', href: `/movie?id=${movie}` }, poster, below));
}

export function dollars(cents) {
  return `$${(cents / 100).toFixed(2)}`;
}

/** The film that the address names. */
export function filmOf(search) {
  const id = new URLSearchParams(search).get('id') ?? '';
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : null;
}

function kept(place) {
  try {
    return JSON.parse(localStorage.getItem(place));
  } catch {
    return null;
  }
}

const isValid = (until) => until * 1000 > Date.now();
const ticketPlace = (user, movie) => `ticket:${user}:${movie}`;
/** Of a rental: its key, and until when it is paid for, once it is. */
const rentalPlace = (user, movie) => `rental:${user}:${movie}`;

/** The ticket of this viewer for a film, while it is valid. */
function ticketOf(user, movie) {
  const ticket = kept(ticketPlace(user, movie));
  return isValid(ticket?.expires_s) ? ticket : null;
}

/** Whether this viewer has paid for a film, so that `rent` costs nothing. */
export function isRented(user, movie) {
  return ticketOf(user, movie) !== null || isValid(kept(rentalPlace(user, movie))?.expires_s);
}

/** If the browser supports locks, one page of the site at a time: two pages of a film must not pay twice. */
function alone(name, work) {
  return navigator.locks ? navigator.locks.request(name, work) : work();
}

/** Rents a film, unless there is a ticket. The key is kept as long as the rental is, so that asking once more pays for nothing twice. */
export function rent(user, movie) {
  return alone(`rent:${user}:${movie}`, async () => {
    const there = ticketOf(user, movie);
    if (there) return there;
    const place = rentalPlace(user, movie);
    const before = kept(place);
    // One that is not paid for yet may have been, by an answer that was lost.
    const isGood = before?.key && (before.expires_s === undefined || isValid(before.expires_s));
    const key = isGood ? before.key : [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    if (!isGood) localStorage.setItem(place, JSON.stringify({ key }));
    const ticket = await ask('/api/rent', { movie, key });
    localStorage.setItem(place, JSON.stringify({ key, expires_s: ticket.expires_s }));
    localStorage.setItem(ticketPlace(user, movie), JSON.stringify(ticket));
    return ticket;
  });
}

/** A new ticket in place of one that is refused although it is valid, as by a site that was started again and signs otherwise. */
export function renew(user, movie) {
  localStorage.removeItem(ticketPlace(user, movie));
  return rent(user, movie);
}

/** So that the film can be rented again. */
export function forgetRental(user, movie) {
  localStorage.removeItem(ticketPlace(user, movie));
  localStorage.removeItem(rentalPlace(user, movie));
}

showViewer();
