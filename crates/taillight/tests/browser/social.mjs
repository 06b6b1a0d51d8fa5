// Does everything on the site of apps/social that its users do, by its pages. WORDS: `script` or `plain`, for a browser with
// and without scripts; a user of the site; a name that no user has yet.
import assert from "node:assert/strict";
import { Person } from "./social-person.mjs";

const PASSWORD = "taillight";
// Text that looks like markup must be shown as text.
const HARM = `<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2"> & "quotes" {{ 7 * 7 }}`;

export default async ({ page, url, words: [mode, user, fresh], context }) => {
  assert.ok(["script", "plain"].includes(mode), mode);
  const script = mode === "script";
  const HOSTILE = `${HARM} ${fresh}`;
  const cdp = await context.newCDPSession(page);
  await cdp.send("Emulation.setScriptExecutionDisabled", { value: !script });
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("dialog", (dialog) => { wrong.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  const did = [];
  // How pages came: a script of the site sends forms without another page.
  let loads = 0;
  page.on("framenavigated", () => loads++);

  const open = async (path, id) => {
    const answer = await page.goto(url + path);
    assert.equal(answer.status(), 200, path);
    await page.waitForSelector(`main#${id}`);
  };
  const login = async (name, password = PASSWORD) => {
    await open("/login", "login");
    await page.fill("[name=name]", name);
    await page.fill("[name=password]", password);
    await page.click("main button");
    await page.waitForSelector("main#home");
    assert.equal(await page.getAttribute("main", "data-user"), name);
    did.push("login", "home");
  };
  const logout = async () => {
    await page.click("text=Log out");
    await page.waitForSelector("main#login");
    assert.equal(new URL((await page.goto(url)).url()).pathname, "/login", "the home page is for who is logged in");
    did.push("logout");
  };
  // A step that a script does in place, and a form by another page.
  const inPlace = async (step) => {
    const before = loads;
    await step();
    assert.equal(loads === before, script, script ? "the page was loaded again" : "no page came");
  };

  await open("/register", "register");
  await page.fill("[name=name]", fresh);
  await page.fill("[name=display]", "New <i>Person</i>");
  await page.fill("[name=password]", "a good password");
  await page.click("main button");
  await page.waitForSelector("main#login");
  assert.match(await page.textContent("[role=status]"), /log in/);
  did.push("create-user");

  await login(fresh, "a good password");
  assert.equal(await page.locator("article").count(), 0, "who is new has no posts");

  await open(`/u/${user}`, "wall");
  await inPlace(async () => {
    await page.click("text=Add friend");
    await page.waitForSelector(".state:text-is('Asked')");
  });
  did.push("friend-request");
  await logout();

  await login(user);
  await inPlace(async () => {
    await page.locator("li", { hasText: "New <i>Person</i>" }).getByText("Accept").click();
    await page.waitForFunction(() => !document.body.textContent.includes("Accept"));
  });
  await inPlace(async () => {
    await page.fill("main textarea", HOSTILE);
    await page.click("main .compose button");
    await page.locator("article .body", { hasText: HOSTILE }).waitFor();
  });
  assert.equal(await page.locator("article .body").first().textContent(), HOSTILE);
  assert.equal(await page.inputValue("main textarea"), "");
  did.push("wall-post");

  await open(`/chat/${fresh}`, "chat");
  await inPlace(async () => {
    await page.fill("textarea", HOSTILE);
    await page.click("main .compose button");
    await page.locator("#messages .mine .body", { hasText: HOSTILE }).waitFor();
  });
  did.push("send-chat");
  await logout();

  await login(fresh, "a good password");
  const seen = async (where) => assert.equal(await page.locator(where).first().textContent(), HOSTILE, where);
  await seen("article .body");
  await open("/feed", "feed");
  await seen("article .body");
  await open("/chat", "chat");
  await seen(".chats .body");
  await page.click(".chats a");
  await page.waitForSelector("main#chat[data-with]");
  await seen("#messages .theirs .body");
  did.push("live-feed", "receive-chat");

  if (script) {
    // News that arrive while a page is open, without a reload.
    const friend = await Person.login(url, user, PASSWORD);
    const looks = () => page.evaluate(() => window.dispatchEvent(new Event("focus")));
    await friend.ajax("chat", { to: fresh, body: `${HOSTILE} now` });
    await inPlace(async () => {
      await looks();
      await page.locator("#messages .theirs .body", { hasText: `${HOSTILE} now` }).waitFor();
    });
    await open("/", "home");
    await friend.ajax("wall", { body: `${HOSTILE} later` });
    await friend.ajax("chat", { to: fresh, body: "unseen" });
    await inPlace(async () => {
      await looks();
      await page.locator("article .body", { hasText: `${HOSTILE} later` }).waitFor();
      await page.waitForSelector("#to-chat .news:text-is('1')");
    });
    assert.equal(await page.locator("article", { hasText: `${HOSTILE} later` }).count(), 1, "each post once");
    did.push("live-feed", "receive-chat");
    // A refused post shows an error, and the typed text stays.
    await page.evaluate(() => { document.querySelector("main textarea").removeAttribute("maxlength"); });
    await page.fill("main textarea", "x".repeat(2001));
    await page.click("main .compose button");
    await page.waitForSelector(".wrong:text('too long')");
    assert.equal((await page.inputValue("main textarea")).length, 2001);
    await open("/friends", "friends");
    await open("/", "home");
    assert.equal((await page.inputValue("main textarea")).length, 2001, "an unsent text survives other pages");
    wrong.splice(0, wrong.length, ...wrong.filter((line) => !line.includes("422")));
  }
  // A friendship ends, and can be asked for again, but not twice; the other one declines.
  await open(`/u/${user}`, "wall");
  await page.click("text=Unfriend");
  await page.waitForSelector("text=Add friend");
  await open(`/friends?q=${user}`, "friends");
  await page.click("text=Add friend");
  await (script ? page.waitForSelector(".state:text-is('Asked')") : page.waitForURL("**/friends"));
  await open(`/friends?q=${user}`, "friends");
  await page.waitForSelector(".state:text-is('Asked')");
  assert.equal(await page.locator("text=Add friend").count(), 0, "it is not offered twice");
  const asked = await Person.login(url, user, PASSWORD);
  const declined = await asked.ask("/unfriend", { csrf: asked.token, user: fresh, from: "//elsewhere.test" });
  assert.deepEqual([declined.status, declined.location], [303, "/"]);
  await open(`/friends?q=${user}`, "friends");
  await page.waitForSelector("text=Add friend");

  assert.equal(await page.evaluate(() => window.pwned ?? null), null);
  assert.equal(await page.locator("main script, main img, main i").count(), 0);
  assert.deepEqual(wrong, []);
  await logout();
  return { did };
};
