// Code that all pages share: the interface of the services, the login, and making elements. Text from the services is
// only ever inserted as text, not HTML.

// Number of colours of the placeholder shown until a film's poster loads.
const COLOURS = 12;
const VIEWER = 'viewer';
// The longest list that the services give.
const LISTED = 100;

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

/** A part of a page with a heading. */
export function section(title, ...children) {
  return el('section', {}, el('h2', {}, title), ...children);
}

/** Shows a problem with `ways` on, elements behind its words; without a problem none. */
export function tell(problem, ...ways) {
  const place = document.getElementById('problem');
  place.replaceChildren(...(problem ? [problem.message, ...ways.flatMap((way) => [' ', way])] : []));
  place.hidden = !problem;
}

/** A way on: asks once more. */
export function again(show) {
  const button = el('button', { className: 'link', type: 'button' }, 'Try again');
  button.addEventListener('click', show);
  return button;
}

export function link(path, words) {
  return el('a', { href: path }, words);
}

/** The catalogue's films for these words, such as the name of a person. */
export function searchLink(words) {
  return link(`/?${new URLSearchParams({ q: words })}`, words);
}

/** A review with who wrote it, or with another beginning of its line. */
export function reviewItem({ user, text, stars, time_ms: time }, beginning) {
  const who = viewer();
  return el('li', {},
    el('header', {}, beginning ?? el('strong', {}, who?.user === user ? 'You' : `Viewer ${user}`), starred(stars), dated(time)),
    el('p', { className: 'text' }, text));
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
  place.replaceChildren(el('span', { className: 'name' }, who.name), el('a', { href: '/account' }, 'My films'), out);
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

export function hours(minutes) {
  return minutes >= 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes} min`;
}

export function starred(given) {
  return el('span', { className: 'given', ariaLabel: `${given} of 10 stars` }, `★ ${given}`);
}

export function dated(ms) {
  const date = new Date(ms);
  return el('time', { dateTime: date.toISOString() }, date.toLocaleDateString('en', { year: 'numeric', month: 'short', day: 'numeric' }));
}

/** The film that the address names. */
export function filmOf(search) {
  const id = new URLSearchParams(search).get('id') ?? '';
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : null;
}

/** A new key, by which the site knows a request that is sent once more. */
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Balance and rentals of the viewer, those that are valid first: they have a `url`. */
export function account() {
  return ask(`/api/rentals?n=${LISTED}`);
}

/** The valid rental of a film; null if there is none. */
export async function rentalOf(movie) {
  return (await account()).rentals.find((one) => one.movie === movie && one.url) ?? null;
}

/** Rents a film; while a rental is valid, the site charges nothing. */
export function rent(movie) {
  return ask('/api/rent', { movie, key: newKey() });
}

/** Shows a page, and once more when the browser shows it from memory after *Back*: login and rentals may be others by then. */
export function whenShown(show) {
  window.addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return;
    showViewer();
    show();
  });
  show();
}

showViewer();
