// The page of a film: its facts, its reviews, and the viewer's actions on it.
import {
  again, ask, card, dollars, el, filmOf, hours, link, loginPath, rent, rentalOf, reviewItem, searchLink, section, tell, viewer, whenShown,
} from './site.js';

const REVIEWS = 10;
const MOST_STARS = 10;
// Source: the services' limit of a review. Units: bytes.
const MOST_TEXT = 8192;

const movie = filmOf(location.search);
const film = document.getElementById('film');

function picture(data, alt, className) {
  const image = new Image();
  image.src = `data:image/jpeg;base64,${data}`;
  image.alt = alt;
  image.className = className;
  return image;
}

function stars(mean, count) {
  if (!count) return el('p', { className: 'rating' }, 'Not rated yet');
  const many = `${count.toLocaleString('en')} ${count === 1 ? 'rating' : 'ratings'}`;
  return el('p', { className: 'rating' }, el('strong', {}, `★ ${mean.toFixed(1)}`), el('small', {}, ` of ${MOST_STARS} · ${many}`));
}

function head({ info, plot, thumbnail, rating, video }, rental) {
  const facts = [info.year || null, info.minutes ? hours(info.minutes) : null, info.certificate || null, info.genre || null];
  const poster = thumbnail
    ? picture(thumbnail, '', 'poster')
    : el('span', { className: `poster c${info.movie % 12}` }, el('span', { className: 'words' }, info.title));
  return el('div', { className: 'head' }, poster, el('div', {},
    el('h1', {}, info.title),
    el('p', { className: 'facts' }, facts.filter((fact) => fact !== null).join(' · ')),
    stars(rating.mean, rating.count),
    video ? action(video, rental) : el('p', { className: 'facts' }, 'This film cannot be watched right now.'),
    info.director ? el('p', {}, el('small', {}, 'Directed by '), searchLink(info.director)) : null,
    plot ? el('p', { className: 'plot' }, plot) : null));
}

/** The button: rent the film, or watch a rented one. */
function action(video, rental) {
  const who = viewer();
  if (!who) return el('p', {}, el('a', { className: 'button', href: loginPath() }, `Log in to rent for ${dollars(video.cents)}`));
  if (rental) return el('p', {}, el('a', { className: 'button', href: `/watch?id=${movie}` }, '▶ Watch'));
  const button = el('button', { type: 'button' }, `▶ Rent for ${dollars(video.cents)}`);
  const said = el('small', { className: 'said' });
  button.addEventListener('click', async () => {
    button.disabled = true;
    said.textContent = '';
    try {
      await rent(movie);
      location.assign(`/watch?id=${movie}`);
    } catch (problem) {
      const isPoor = problem.code === 'PAYMENT_REQUIRED';
      said.replaceChildren(...(isPoor ? ['Your balance does not suffice. ', el('a', { href: '/account' }, 'Add to it')] : [problem.message]));
      button.disabled = false;
    }
  });
  return el('p', { className: 'action' }, button, said);
}

function reviewSection({ info, reviews, missing }) {
  const list = el('ul', { className: 'reviews' }, ...reviews.map((one) => reviewItem(one)));
  if (!reviews.length) {
    const why = missing.includes('reviews') ? 'Reviews cannot be shown right now.' : 'There are no reviews yet.';
    list.append(el('li', { className: 'empty' }, why));
  }
  const more = el('p', { className: 'more', hidden: reviews.length < REVIEWS }, link(`/reviews?id=${movie}`, 'All reviews'));
  const written = (review) => {
    list.querySelector('.empty')?.remove();
    list.prepend(reviewItem(review));
  };
  return section('Reviews', reviewForm(info.title, written), list, more);
}

function reviewForm(title, written) {
  const who = viewer();
  if (!who) return el('p', {}, el('a', { href: loginPath() }, 'Log in'), ' to write a review.');
  const text = el('textarea', { name: 'text', rows: 3, required: true, placeholder: 'What did you think of it?', ariaLabel: 'Your review' });
  const given = el('input', { type: 'range', min: 1, max: MOST_STARS, value: 7, ariaLabel: 'Stars' });
  const shown = el('output', {}, '★ 7');
  given.addEventListener('input', () => { shown.textContent = `★ ${given.value}`; });
  const button = el('button', {}, 'Publish');
  const said = el('p', { className: 'notice bad', hidden: true });
  const form = el('form', { className: 'card write' }, text, el('div', { className: 'line' }, el('label', { className: 'stars' }, given, shown), button), said);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const review = { user: who.user, text: text.value.trim(), stars: Number(given.value), time_ms: Date.now() };
    const size = new TextEncoder().encode(review.text).length;
    said.hidden = size > 0 && size <= MOST_TEXT;
    said.textContent = size ? 'That is too long for a review. Please shorten it.' : 'Please write something.';
    if (!said.hidden) return;
    button.disabled = true;
    try {
      await ask('/api/review', { title, text: review.text, stars: review.stars });
      written(review);
      text.value = '';
    } catch (problem) {
      said.textContent = problem.message;
      said.hidden = false;
    }
    button.disabled = false;
  });
  return form;
}

/** An advertisement leads to a page of this site or of the web, and nowhere else. */
function ad({ text, link }) {
  return /^(?:https?:\/\/|\/(?![/\\]))/.test(link)
    ? el('li', {}, el('a', { href: link, rel: 'nofollow noopener noreferrer' }, text))
    : el('li', {}, text);
}

async function similarFilms(ids, place) {
  try {
    const { hits } = await ask(`/api/titles?ids=${ids.join(',')}`);
    place.append(section('Similar films', el('ul', { className: 'films row' }, ...hits.map(card))));
  } catch {
    // The page is whole without.
  }
}

async function show() {
  if (movie === null) {
    film.replaceChildren();
    tell(new Error('This address names no film.'), link('/', 'All films'));
    return;
  }
  try {
    // Without the rentals the page offers to rent the film, which costs nothing while it is rented.
    const rentals = viewer() ? rentalOf(movie).catch(() => null) : null;
    const page = await ask(`/api/movie/${movie}?start=0&reviews=${REVIEWS}`);
    const rental = await rentals;
    tell(null);
    document.title = `${page.info.title} – Late Show`;
    const similar = el('div');
    const absent = page.missing.filter((name) => name !== 'ads');
    film.replaceChildren(...[
      head(page, rental),
      absent.length ? el('p', { className: 'notice' }, 'Some of this page cannot be shown right now. Please come back in a moment.') : null,
      page.photos.length ? section('Photos', el('div', { className: 'photos' }, ...page.photos.map((photo, at) => picture(photo, `Photo ${at + 1}`, 'photo')))) : null,
      page.cast.length ? section('Cast', el('ul', { className: 'cast' }, ...page.cast.map(({ name }) => el('li', {}, searchLink(name))))) : null,
      page.ads.length ? el('aside', { className: 'ads' }, el('small', {}, 'Advertisement'), el('ul', {}, ...page.ads.map(ad))) : null,
      reviewSection(page),
      similar,
    ].filter((part) => part !== null));
    if (page.similar.length) await similarFilms(page.similar, similar);
  } catch (problem) {
    film.replaceChildren();
    if (problem.code === 'NOT_FOUND') tell(new Error('There is no such film here.'), link('/', 'All films'));
    else tell(problem, again(show), link('/', 'All films'));
  } finally {
    film.ariaBusy = 'false';
  }
}

whenShown(show);
