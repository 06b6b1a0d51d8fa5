// The viewer's account: the balance, rented films, and written reviews.
import { account, again, ask, dated, dollars, el, hours, loginPath, newKey, reviewItem, section, tell, viewer, whenShown } from './site.js';

// What may be added to the balance with a click. Units: cents.
const SUMS = [500, 1000, 2500];
const REVIEWS = 10;
// Interval at which the time left is updated. Units: ms.
const AGAIN = 30_000;

const place = document.getElementById('account');

/** The titles of films, by their numbers; the site works without them. */
async function titlesOf(ids) {
  const { hits } = ids.length ? await ask(`/api/titles?ids=${[...new Set(ids)].join(',')}`).catch(() => ({ hits: [] })) : { hits: [] };
  return new Map(hits.map(({ movie, title }) => [movie, title]));
}

function filmLink(movie, titles) {
  return el('a', { className: 'title', href: `/movie?id=${movie}` }, titles.get(movie) ?? `Film ${movie}`);
}

function balanceSection(cents) {
  const balance = el('strong', { id: 'balance' }, dollars(cents));
  // The same sum is sent once more with the same key if its answer was lost.
  const keys = new Map(SUMS.map((sum) => [sum, newKey()]));
  const buttons = SUMS.map((sum) => {
    const button = el('button', { className: 'plain', type: 'button' }, `Add ${dollars(sum)}`);
    button.addEventListener('click', async () => {
      button.disabled = true;
      try {
        const { balance_cents: now } = await ask('/api/deposit', { cents: sum, key: keys.get(sum) });
        keys.set(sum, newKey());
        balance.textContent = dollars(now);
        tell(null);
      } catch (problem) {
        tell(problem);
      }
      button.disabled = false;
    });
    return button;
  });
  return section('Balance', el('p', { className: 'action' }, balance, ...buttons));
}

function leftOf(expires) {
  return `${hours(Math.max(1, Math.round(expires / 60 - Date.now() / 60_000)))} left`;
}

function rentalItem({ movie, expires_s: expires, cents, url }, titles) {
  const facts = url
    ? el('small', { className: 'left' }, leftOf(expires))
    : el('small', {}, 'Ended on ', dated(expires * 1000), ` · ${dollars(cents)}`);
  facts.dataset.expires = url ? expires : '';
  return el('li', {}, el('div', {}, filmLink(movie, titles), facts),
    url ? el('a', { className: 'button', href: `/watch?id=${movie}` }, '▶ Watch') : el('a', { href: `/movie?id=${movie}` }, 'Rent again'));
}

function rentalSection(rentals, titles) {
  const none = el('li', { className: 'empty' }, 'You have rented no film yet. ', el('a', { href: '/' }, 'Choose one'));
  return section('Rented films', el('ul', { className: 'rows rentals' }, ...(rentals.length ? rentals.map((one) => rentalItem(one, titles)) : [none])));
}

async function reviewSection() {
  const list = el('ul', { className: 'reviews' });
  const more = el('button', { className: 'plain', type: 'button' }, 'Older reviews');
  let shown = 0;
  const add = async () => {
    more.disabled = true;
    try {
      const { reviews } = await ask(`/api/my-reviews?start=${shown}&n=${REVIEWS}`);
      const titles = await titlesOf(reviews.map(({ movie }) => movie));
      list.append(...reviews.map((one) => reviewItem(one, filmLink(one.movie, titles))));
      shown += reviews.length;
      more.hidden = reviews.length < REVIEWS;
      if (!shown) list.append(el('li', { className: 'empty' }, 'You have written no review yet.'));
    } catch (problem) {
      list.append(el('li', { className: 'empty' }, problem.message));
    }
    more.disabled = false;
  };
  more.addEventListener('click', add);
  await add();
  return section('My reviews', list, more);
}

async function show() {
  if (!viewer()) {
    place.replaceChildren(el('p', {}, el('a', { className: 'button', href: loginPath() }, 'Log in'), ' to see your films.'));
    place.ariaBusy = 'false';
    return;
  }
  try {
    const reviews = reviewSection();
    const { balance_cents: cents, rentals } = await account();
    const titles = await titlesOf(rentals.map(({ movie }) => movie));
    place.replaceChildren(balanceSection(cents), rentalSection(rentals, titles), await reviews);
    tell(null);
  } catch (problem) {
    place.replaceChildren();
    tell(problem, again(show));
  } finally {
    place.ariaBusy = 'false';
  }
}

setInterval(() => {
  const all = [...document.querySelectorAll('.left')];
  if (all.some(({ dataset }) => dataset.expires * 1000 <= Date.now())) show();
  else all.forEach((one) => { one.textContent = leftOf(one.dataset.expires); });
}, AGAIN);
whenShown(show);
