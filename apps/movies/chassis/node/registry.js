/** The services in JavaScript, their callees, and their stores. Source: the registry of the application. */
const ROWS = {
  videos: { id: 12, methods: ['read'] },
  text: { id: 21, methods: ['upload'] },
  'compose-review': { id: 23, methods: ['put'] },
  'movies-cache': { id: 32, methods: [] },
  'movies-db': { id: 33, methods: [] },
};

export function row(name) {
  if (!Object.hasOwn(ROWS, name)) throw new Error(`\`${name}\` is not a service or store that the registry of JavaScript has`);
  return ROWS[name];
}
