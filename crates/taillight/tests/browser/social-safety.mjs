// Tries on the site of apps/social what those try who mean harm. WORDS: a user of the site, and another.
import assert from "node:assert/strict";
import { Person } from "./social-person.mjs";

const PASSWORD = "taillight";
// A picture of one pixel, PNG.
const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "base64",
);

export default async ({ page, url, words: [user, other], context }) => {
  const sid = async () => (await context.cookies(url)).find((cookie) => cookie.name === "sid");
  const did = [];

  // An id that was planted is not taken over, neither before the login nor by it.
  const planted = "0123456789abcdef0123456789abcdef";
  await context.addCookies([{ name: "sid", value: planted, url }]);
  await page.goto(`${url}/login`);
  const visitor = await sid();
  assert.match(visitor.value, /^[0-9a-f]{32}$/);
  assert.notEqual(visitor.value, planted);
  await page.fill("[name=name]", user);
  await page.fill("[name=password]", PASSWORD);
  await page.click("main button");
  await page.waitForSelector("main#home");
  const logged = await sid();
  assert.notEqual(logged.value, visitor.value);
  assert.deepEqual([logged.httpOnly, logged.sameSite, logged.path], [true, "Lax", "/"]);
  assert.equal(await page.evaluate(() => document.cookie), "", "no script reads it");
  const as = async (value) => {
    const person = new Person(url);
    person.sid = value;
    return (await person.ask("/")).status;
  };
  assert.equal(await as(logged.value), 200);
  for (const value of [planted, visitor.value, logged.value.toUpperCase() + "0", logged.value.slice(1)]) {
    assert.equal(await as(value), 303, value);
  }
  // A neighbouring session id must not be valid.
  for (let at = 0; at < 32; at++) {
    const digit = ((parseInt(logged.value[at], 16) + 1) % 16).toString(16);
    assert.equal(await as(logged.value.slice(0, at) + digit + logged.value.slice(at + 1)), 303);
  }
  const ids = new Set();
  for (let n = 0; n < 50; n++) {
    const stranger = new Person(url);
    await stranger.ask("/login");
    ids.add(stranger.sid);
  }
  assert.equal(ids.size, 50);
  did.push("session");

  // Requests without the token, with that of another session, and one that is cut short.
  const one = await Person.login(url, user, PASSWORD);
  const two = await Person.login(url, other, PASSWORD);
  const forms = [
    ["/wall", { body: "forged" }], ["/friend", { user: other }], ["/unfriend", { user: other }],
    [`/chat/${other}`, { body: "forged" }], ["/logout", {}],
    ["/settings", { display: "forged" }], ["/ajax/wall", { body: "forged" }], ["/ajax/friend", { user: other }],
    ["/ajax/chat", { to: other, body: "forged" }],
  ];
  for (const [path, fields] of forms) {
    for (const csrf of [undefined, "", two.token, one.token.slice(1)]) {
      const answer = await one.ask(path, csrf === undefined ? fields : { ...fields, csrf });
      assert.equal(answer.status, 403, `${path} ${csrf}`);
      if (path.startsWith("/ajax/")) assert.ok(JSON.parse(answer.body).error);
      else assert.ok(answer.body.includes('<main id="error">'), "an error page is one");
    }
  }
  const stranger = new Person(url);
  assert.equal((await stranger.ask("/login", { name: user, password: PASSWORD })).status, 403, "a login takes a token, too");
  assert.ok(!(await one.ask("/")).body.includes("forged"));
  did.push("token");

  // A form that another site holds: its request comes without the cookie (SameSite=Lax), and is refused.
  const foreign = await context.newPage();
  await foreign.route("http://elsewhere.test/", (route) => route.fulfill({
    contentType: "text/html",
    body: `<form method="post" action="${url}/wall"><input name="body" value="forged"><button>x</button></form>`,
  }));
  await foreign.goto("http://elsewhere.test/");
  await foreign.click("button");
  await foreign.waitForURL(`${url}/**`);
  assert.ok(!(await one.ask("/")).body.includes("forged"));
  await foreign.close();
  did.push("foreign form");

  // Requests for pages that do not exist or belong to another user.
  const check = async (person, path, status, form, headers) => {
    const answer = await person.ask(path, form, headers);
    assert.equal(answer.status, status, `${path}: ${answer.body.slice(0, 200)}`);
    return answer;
  };
  const nowhere = ["/nowhere", "/u/nouser", "/index.php", "/src/Db.php", "/assets/../index.php", "/u/%3Cscript%3E", "/config.php"];
  for (const path of nowhere) {
    const answer = await check(one, path, 404);
    assert.ok(!answer.body.includes("<script>") && !answer.body.includes("<?php"), path);
  }
  await check(new Person(url), "/ajax/feed?since=0", 401);
  await check(one, "/wall", 405);
  await check(one, "/ajax/feed?since=-1", 422);
  await check(one, "/ajax/feed?since=1%27%20OR%201=1", 422);
  await check(one, "/ajax/wall", 422, { body: " \n " }, { "X-CSRF": one.token });
  await check(one, "/ajax/wall", 422, { body: "x".repeat(2001) }, { "X-CSRF": one.token });
  await check(one, "/ajax/wall", 413, { body: "x".repeat(40_000) }, { "X-CSRF": one.token });
  const away = await check(one, "/friend", 422, { csrf: one.token, user, from: "//elsewhere.test" });
  assert.equal(away.location, null);
  const back = await check(one, "/friend", 303, { csrf: one.token, user: other, from: "//elsewhere.test" });
  assert.equal(back.location, "/", "it leads nowhere else");
  did.push("errors");

  // The same message for a wrong password and for an unknown user name.
  const refused = async (name) => {
    const visitor = new Person(url);
    await visitor.ask("/login");
    const { status, body } = await visitor.ask("/login", { csrf: visitor.token, name, password: "not the one" });
    assert.equal(status, 422);
    return /role="alert">([^<]*)</.exec(body)[1];
  };
  assert.equal(await refused(user), await refused("no_such_user"));
  did.push("login");

  // Each answer carries the headers that restrict the browser.
  for (const path of ["/", "/nowhere", "/ajax/feed?since=0", "/assets/site.js"]) {
    const { headers } = await one.ask(path);
    assert.match(headers.get("content-security-policy"), /^default-src 'self'/, path);
    assert.equal(headers.get("x-content-type-options"), "nosniff", path);
    assert.equal(headers.get("x-powered-by"), null, path);
    if (!path.startsWith("/assets/")) {
      assert.match(headers.get("server-timing"), /^queue;dur=[\d.]+, php;dur=[\d.]+, db;dur=[\d.]+;desc="\d+", cache;dur=[\d.]+;desc="\d+"$/);
    }
  }
  assert.match((await one.ask("/assets/site.css")).headers.get("cache-control"), /max-age=\d+/);
  did.push("headers");

  // The site encodes an uploaded picture again, and refuses a file that is not a picture.
  const upload = async (name, bytes) => {
    await page.goto(`${url}/settings`);
    await page.setInputFiles("[name=avatar]", { name, mimeType: "image/png", buffer: bytes });
    await page.click("main button");
    await page.waitForSelector("main [role]");
    return page.getAttribute("main [role]", "role");
  };
  assert.equal(await upload("p.png", Buffer.concat([PICTURE, Buffer.from("<script>alert(1)</script>")])), "status");
  const shown = await page.$eval("main img.avatar", async (image) => {
    await image.decode();
    return [image.naturalWidth, image.naturalHeight];
  });
  assert.deepEqual(shown, [256, 256]);
  const picture = await one.ask(`/avatars/${user}`);
  assert.equal(picture.headers.get("content-type"), "image/jpeg");
  assert.ok(!picture.bytes.includes("script"));
  assert.equal(await upload("p.png", Buffer.from("<svg onload=alert(1)>")), "alert");
  const large = new FormData();
  large.set("csrf", one.token);
  large.set("avatar", new Blob([Buffer.alloc((1 << 20) + 1)]), "p.png");
  assert.ok([413, 422].includes((await one.ask("/settings", large)).status));
  did.push("picture");
  return { did };
};
