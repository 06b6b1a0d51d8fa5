// All reviews of a film, in pages. The address holds the state, so it can be bookmarked.
import { again, ask, el, filmOf, link, reviewItem, tell, whenShown } from './site.js';

const PAGE = 20;
// The services list at most this many.
const LAST = 1_000_000;

const $ = (id) => document.getElementById(id);
const movie = filmOf(location.search);
const given = Number(new URLSearchParams(location.search).get('page') ?? 1);
const page = Number.isInteger(given) && given > 0 && given * PAGE < LAST ? given : 1;

function turn(id, to, isThere) {
  $(id).href = `/reviews?id=${movie}&page=${to}`;
  $(id).hidden = !isThere;
}

async function show() {
  if (movie === null) {
    tell(new Error('This address names no film.'), link('/', 'All films'));
    return;
  }
  const start = (page - 1) * PAGE;
  try {
    const { info, reviews, missing } = await ask(`/api/movie/${movie}?start=${start}&reviews=${PAGE}`);
    if (missing.includes('reviews')) throw new Error('Reviews cannot be shown right now.');
    tell(null);
    document.title = `Reviews of ${info.title} – Late Show`;
    $('heading').replaceChildren('Reviews of ', link(`/movie?id=${movie}`, info.title));
    const none = el('li', { className: 'empty' }, start ? 'There are no more reviews.' : 'There are no reviews yet.');
    $('reviews').replaceChildren(...(reviews.length ? reviews.map((one) => reviewItem(one)) : [none]));
    $('pages').hidden = start === 0 && reviews.length < PAGE;
    turn('before', page - 1, page > 1);
    turn('after', page + 1, reviews.length === PAGE);
    $('where').textContent = reviews.length ? `${start + 1}–${start + reviews.length}` : '';
  } catch (problem) {
    if (problem.code === 'NOT_FOUND') tell(new Error('There is no such film here.'), link('/', 'All films'));
    else tell(problem, again(show), link(`/movie?id=${movie}`, 'To the film'));
  } finally {
    $('reviews').ariaBusy = 'false';
  }
}

whenShown(show);
