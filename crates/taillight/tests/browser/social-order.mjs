// Polls the site of apps/social for news while several users write at once: no item may appear behind one that was already returned.
// WORDS: number of friends who write; writes of each friend; a user.
import assert from "node:assert/strict";
import { Person } from "./social-person.mjs";

const PASSWORD = "taillight";

export default async ({ url, words: [friends, times, user] }) => {
  const reader = await Person.login(url, user, PASSWORD);
  const home = (await reader.ask("/")).body;
  const names = [...home.matchAll(/href="\/chat\/([a-z0-9_]+)"/g)].map(([, name]) => name).slice(0, Number(friends));
  assert.ok(names.length > 1, "it takes a user of some friends");
  const since = {
    feed: Number(/data-post="(\d+)"/.exec(home)[1]), chat: Number(/data-message="(\d+)"/.exec(home)[1]),
  };
  const written = { feed: [], chat: [] };
  let writing = names.length;
  const write = async (name) => {
    const person = await Person.login(url, name, PASSWORD);
    for (let n = 0; n < Number(times); n++) {
      written.feed.push((await person.ajax("wall", { body: `${n} of ${name}` })).id);
      written.chat.push((await person.ajax("chat", { to: user, body: `${n} of ${name}` })).id);
    }
    writing--;
  };
  const seen = { feed: [], chat: [] };
  const read = async (what, list) => {
    for (let done = false; ;) {
      const { status, body } = await reader.ask(`/ajax/${what}?since=${since[what]}`);
      assert.equal(status, 200, body);
      const answer = JSON.parse(body);
      seen[what].push(...answer[list].map(({ id }) => id));
      since[what] = answer.last;
      // One empty answer to a poll that was sent after the last write.
      if (done && answer[list].length === 0) return;
      done = writing === 0;
    }
  };
  await Promise.all([...names.map(write), read("feed", "posts"), read("chat", "messages")]);
  for (const what of ["feed", "chat"]) {
    const missed = written[what].filter((id) => !seen[what].includes(id));
    assert.deepEqual(missed, [], `${what}: written, and never seen`);
    assert.deepEqual(seen[what], [...new Set(seen[what])].sort((one, other) => one - other), `${what}: each once and in order`);
  }
  return { writers: names.length, posts: written.feed.length, messages: written.chat.length };
};
