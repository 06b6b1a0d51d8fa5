// Logging in, and making an account.
import { ask, ownPath, remember, tell, whenShown } from './site.js';

const $ = (id) => document.getElementById(id);
const form = $('form');
let isNew = new URLSearchParams(location.search).has('new');

function show() {
  $('heading').textContent = isNew ? 'Make an account' : 'Log in';
  $('send').textContent = isNew ? 'Sign up' : 'Log in';
  $('other').textContent = isNew ? 'Have one already?' : 'New here?';
  $('swap').textContent = isNew ? 'Log in' : 'Make an account';
  form.password.autocomplete = isNew ? 'new-password' : 'current-password';
  $('send').disabled = false;
  tell(null);
}

function words(problem) {
  if (problem.code === 'CONFLICT') return new Error('This name is taken. Please choose another one.');
  if (problem.code === 'UNAUTHORIZED' || problem.code === 'NOT_FOUND') return new Error('Name and password do not belong together.');
  return problem;
}

$('swap').addEventListener('click', () => {
  isNew = !isNew;
  show();
});

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const name = form.elements.name.value.trim();
  $('send').disabled = true;
  try {
    remember(name, await ask(isNew ? '/api/sign-up' : '/api/login', { name, password: form.password.value }));
    location.assign(ownPath(new URLSearchParams(location.search).get('next')));
  } catch (problem) {
    tell(words(problem));
    $('send').disabled = false;
  }
});

whenShown(show);
