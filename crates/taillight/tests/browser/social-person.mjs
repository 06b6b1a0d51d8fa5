// A user of the site of apps/social without a browser: sends requests and keeps cookies itself.
import assert from "node:assert/strict";

export class Person {
  constructor(url) {
    this.url = url;
    this.sid = null;
    this.token = null;
  }

  static async login(url, name, password) {
    const person = new Person(url);
    await person.ask("/login");
    const answer = await person.ask("/login", { csrf: person.token, name, password });
    assert.equal(answer.status, 303, answer.body);
    await person.ask("/");
    return person;
  }

  /** Asks for a page, or sends a form; cookie and token of the answer are kept. */
  async ask(path, form, headers = {}) {
    const answer = await fetch(this.url + path, {
      method: form ? "POST" : "GET",
      body: form && (form instanceof FormData ? form : new URLSearchParams(form)),
      headers: { ...(this.sid && { Cookie: `sid=${this.sid}` }), ...headers },
      redirect: "manual",
    });
    const cookie = answer.headers.getSetCookie().find((line) => line.startsWith("sid="));
    if (cookie) this.sid = /^sid=([^;]*)/.exec(cookie)[1] || null;
    const bytes = Buffer.from(await answer.arrayBuffer());
    const body = bytes.toString();
    this.token = /<meta name="csrf" content="([0-9a-f]+)">/.exec(body)?.[1] ?? this.token;
    return { status: answer.status, headers: answer.headers, location: answer.headers.get("location"), cookie, body, bytes };
  }

  /** Sends as the site's script does. */
  async ajax(what, fields) {
    const answer = await this.ask(`/ajax/${what}`, fields, { "X-CSRF": this.token });
    assert.equal(answer.status, 200, answer.body);
    return JSON.parse(answer.body);
  }
}
