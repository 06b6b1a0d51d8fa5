// Background work of the pages, without reloading: sending forms and polling for news. Without this script every form
// works as a form. Text that users wrote is only ever inserted as text.
'use strict';

(() => {
  // Milliseconds between two looks for news. Social networks that are installed by their users ask each 15 to 45 s.
  const POLL = 10_000;
  const COLOURS = 12;

  const main = document.querySelector('main');
  const token = document.querySelector('meta[name="csrf"]')?.content;
  const me = main?.dataset.user;

  /** Sends a request to the site; returns the answer as an object. Throws the site's error. */
  async function ask(path, fields) {
    const options = fields
      ? { method: 'POST', headers: { 'X-CSRF': token }, body: new URLSearchParams(fields) }
      : {};
    const answer = await fetch(path, { credentials: 'same-origin', redirect: 'error', ...options });
    const data = await answer.json().catch(() => ({}));
    if (answer.status === 401) location.assign('/login');
    if (!answer.ok) throw new Error(data.error ?? `The site answers ${answer.status}. Please try again.`);
    return data;
  }

  function ago(time) {
    const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
    if (seconds < 60) return 'just now';
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
    if (seconds < 7 * 86_400) return `${Math.floor(seconds / 86_400)} d`;
    return null;
  }

  function setTime(element, time) {
    element.dateTime = time;
    element.textContent = ago(time) ?? time.slice(0, 10);
  }

  /** A picture of a user, or the initials; as `User` of the site has them. */
  function face(name, display, avatar) {
    if (avatar) {
      const picture = new Image();
      picture.className = 'avatar';
      picture.alt = '';
      picture.src = `/avatars/${name}?v=${avatar}`;
      return picture;
    }
    const words = display.split(/\s+/u).filter(Boolean);
    const ends = words.length > 1 ? [words[0], words.at(-1)] : words;
    const initials = document.createElement('span');
    const colour = [...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % COLOURS;
    initials.className = `avatar c${colour}`;
    initials.textContent = ends.map((word) => [...word][0]).join('').toUpperCase();
    return initials;
  }

  // Posts.

  const posts = document.getElementById('posts');

  /** Puts a post on top, once. */
  function showPost(post) {
    if (posts.querySelector(`[data-id="${Number(post.id)}"]`)) return;
    posts.querySelector('.empty')?.remove();
    const article = document.getElementById('blank-post').content.cloneNode(true).querySelector('article');
    article.dataset.id = post.id;
    article.classList.add('new');
    const who = article.querySelector('.who');
    who.textContent = post.display;
    who.href = article.querySelector('.face').href = `/u/${post.author}`;
    article.querySelector('.face').append(face(post.author, post.display, post.avatar));
    article.querySelector('.body').textContent = post.body;
    setTime(article.querySelector('time'), post.at);
    // The newest are on top; a post that arrives after a newer one goes below it.
    const below = [...posts.children].find((other) => Number(other.dataset.id) < post.id);
    posts.insertBefore(article, below ?? null);
  }

  // Messages.

  const messages = document.getElementById('messages');

  function showMessage(message, mine) {
    if (messages.querySelector(`[data-id="${Number(message.id)}"]`)) return;
    messages.querySelector('.empty')?.remove();
    const item = document.createElement('li');
    item.dataset.id = message.id;
    item.className = mine ? 'mine' : 'theirs';
    const body = document.createElement('p');
    body.className = 'body';
    body.textContent = message.body;
    const time = document.createElement('time');
    setTime(time, message.at);
    item.append(body, time);
    // A message that arrived while an own one was being sent goes above it.
    const later = [...messages.children].find((other) => Number(other.dataset.id) > Number(message.id));
    messages.insertBefore(item, later ?? null);
    messages.scrollTop = messages.scrollHeight;
  }

  /** Shows the number of new messages next to the word Chat. */
  function countNews(count) {
    const link = document.getElementById('to-chat');
    if (!link || count === 0) return;
    let news = link.querySelector('.news');
    if (!news) {
      news = document.createElement('span');
      news.className = 'news';
      link.append(news);
    }
    news.textContent = Number(news.textContent) + count;
  }

  // Unsent text of a page, which survives other pages, a reload, and a login that has expired.

  const draft = `unsent ${me} ${location.pathname}`;
  const unsent = document.querySelector('.compose textarea');

  function keepUnsent() {
    if (unsent.value === '') sessionStorage.removeItem(draft);
    else sessionStorage.setItem(draft, unsent.value);
  }

  if (unsent) {
    const kept = sessionStorage.getItem(draft) ?? '';
    // A form that is sent without this script's help leads back to this page, which shows the text as a post.
    const isSent = [...document.querySelectorAll('#posts .body')].some((body) => body.textContent === kept.trim());
    if (unsent.value === '' && !isSent) unsent.value = kept;
    keepUnsent();
    unsent.addEventListener('input', keepUnsent);
  }

  // Form handlers, by `data-ajax`. `sent` shows the result.

  const forms = {
    wall: {
      path: '/ajax/wall',
      sent: ({ id }, { body }) => {
        const own = document.querySelector('.self .avatar');
        const display = document.querySelector('.self a').title;
        const avatar = own instanceof HTMLImageElement ? new URL(own.src).searchParams.get('v') : 0;
        showPost({ id, author: me, display, avatar, body, at: new Date().toISOString() });
      },
    },
    chat: {
      path: '/ajax/chat',
      sent: ({ id }, { body }) => showMessage({ id, body, at: new Date().toISOString() }, true),
    },
    friend: {
      path: '/ajax/friend',
      sent: ({ state }, _fields, form) => {
        const said = document.createElement('span');
        said.className = 'state';
        said.textContent = state === 'friends' ? 'Friends' : 'Asked';
        // An accepted request can no longer be declined.
        form.parentElement.querySelector('.unfriend')?.remove();
        form.replaceWith(said);
      },
    },
  };

  for (const form of document.querySelectorAll('form[data-ajax]')) {
    const { path, sent } = forms[form.dataset.ajax];
    const text = form.querySelector('textarea');
    const wrong = form.querySelector('.wrong');
    const button = form.querySelector('button');

    async function send(fields) {
      try {
        sent(await ask(path, fields), fields, form);
        if (wrong) wrong.hidden = true;
      } catch (error) {
        // Restores an unsent text, unless the user has typed a new one.
        if (text && text.value === '') text.value = fields.body;
        if (wrong) {
          wrong.textContent = error.message;
          wrong.hidden = false;
        } else {
          button.title = error.message;
        }
      }
      if (text) keepUnsent();
    }

    // One after the other, in the order in which they were written.
    let last = Promise.resolve();
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const fields = Object.fromEntries(new FormData(form));
      delete fields.csrf;
      if (text) {
        fields.body = fields.body.trim();
        if (fields.body === '') return;
        text.value = '';
      }
      last = last.then(() => send(fields));
    });
    // Enter sends, as everywhere; with Shift it begins a line.
    text?.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
  }

  // News.

  const polls = [];
  if (main?.dataset.post !== undefined) {
    polls.push(async () => {
      const { last, posts: news } = await ask(`/ajax/feed?since=${main.dataset.post}`);
      news.forEach(showPost);
      main.dataset.post = last;
    });
  }
  if (main?.dataset.message !== undefined) {
    polls.push(async () => {
      const { last, messages: news } = await ask(`/ajax/chat?since=${main.dataset.message}`);
      const here = news.filter((message) => messages && message.from === main.dataset.with);
      here.forEach((message) => showMessage(message, false));
      countNews(news.length - here.length);
      main.dataset.message = last;
    });
  }

  let looking = false;
  async function look() {
    if (looking || document.hidden) return;
    looking = true;
    // A failed poll is repeated at the next turn.
    for (const poll of polls) await poll().catch(() => {});
    for (const time of document.querySelectorAll('time')) {
      time.textContent = ago(time.dateTime) ?? time.textContent;
    }
    looking = false;
  }
  if (polls.length > 0) {
    setInterval(look, POLL);
    document.addEventListener('visibilitychange', look);
    window.addEventListener('focus', look);
  }
  if (messages) messages.scrollTop = messages.scrollHeight;
})();
