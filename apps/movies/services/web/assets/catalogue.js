// The catalogue: films by rank, or the matches of a search, in pages. The address holds the state, so it can be
// bookmarked.
import { again, ask, card, el, link, tell, whenShown } from './site.js';

const PAGE = 24;
// How long typing may pause before it is searched for. Units: ms.
const PAUSE = 250;
// The services find at most this many.
const LAST = 100_000;

const $ = (id) => document.getElementById(id);
let timer = 0;
let asked = null;

function wanted() {
  const parameters = new URLSearchParams(location.search);
  const page = Number(parameters.get('page') ?? 1);
  return { q: parameters.get('q') ?? '', page: Number.isInteger(page) && page > 0 && page * PAGE < LAST ? page : 1 };
}

function go({ q, page }, push) {
  const parameters = new URLSearchParams();
  if (q) parameters.set('q', q);
  if (page > 1) parameters.set('page', page);
  const address = `/${parameters.size ? `?${parameters}` : ''}`;
  history[push ? 'pushState' : 'replaceState'](null, '', address);
  return show();
}

async function show() {
  const { q, page } = wanted();
  const start = (page - 1) * PAGE;
  // Only the newest question is answered.
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  $('films').ariaBusy = 'true';
  try {
    const { hits, all } = await ask(`/api/search?${new URLSearchParams({ q, start, n: PAGE })}`, null, signal);
    tell(null);
    $('heading').textContent = q ? `Films for “${q}”` : 'All films';
    document.title = q ? `${q} – Late Show` : 'Late Show: films';
    const none = el('li', { className: 'empty' }, q ? 'Nothing fits. Try fewer or other words, or see ' : 'There are no films here yet.', q ? link('/', 'all films') : null);
    $('films').replaceChildren(...(hits.length ? hits.map(card) : [none]));
    $('pages').hidden = start === 0 && all <= PAGE;
    $('before').disabled = page === 1;
    $('after').disabled = start + hits.length >= all || hits.length < PAGE;
    $('where').textContent = hits.length ? `${start + 1}–${start + hits.length} of ${q ? 'about ' : ''}${all}` : 'No more films';
  } catch (problem) {
    if (signal.aborted) return;
    $('films').replaceChildren();
    tell(problem, again(show));
  } finally {
    if (!signal.aborted) $('films').ariaBusy = 'false';
  }
}

function turn(by) {
  const { q, page } = wanted();
  go({ q, page: page + by }, true).then(() => window.scrollTo({ top: 0 }));
}

$('q').value = wanted().q;
$('q').addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(() => go({ q: $('q').value.trim(), page: 1 }, false), PAUSE);
});
$('search').addEventListener('submit', (event) => {
  event.preventDefault();
  clearTimeout(timer);
  go({ q: $('q').value.trim(), page: 1 }, true);
});
$('before').addEventListener('click', () => turn(-1));
$('after').addEventListener('click', () => turn(1));
window.addEventListener('popstate', () => {
  $('q').value = wanted().q;
  show();
});
whenShown(show);
