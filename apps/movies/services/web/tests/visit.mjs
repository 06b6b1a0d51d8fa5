// A user's visit to the site, in the form of the scenarios of crates/taillight/tests/browser, for any data set of more than 24
// films: browses, searches, makes an account, writes a review, rents, watches, logs out and in, finds the review. WORDS: how many
// seconds of the film are watched (20); how many times as fast as usual (4). SCREENSHOTS: a folder for pictures of the pages.
import assert from "node:assert/strict";

const { SCREENSHOTS } = process.env;

const watches = (page) => page.waitForFunction(() => document.querySelector("#stats")?.textContent.startsWith("Started after"));

/** What the site knows of the user. */
const account = (page) => page.evaluate(async () => (await import("/assets/site.js")).account());

/** Who has a film open twice and rents it in both, one after the other or at once, pays once. */
async function twoPages(page, url) {
  const other = await page.context().newPage();
  for (const [film, atOnce] of [[2, false], [3, true]]) {
    const { balance_cents: before } = await account(page);
    const rent = async (one) => {
      await one.click(".action button");
      await watches(one);
    };
    for (const one of [page, other]) {
      await one.goto(`${url}/movie?id=${film}`);
      await one.waitForSelector(".action button");
    }
    if (atOnce) {
      await Promise.all([rent(page), rent(other)]);
    } else {
      await rent(page);
      await rent(other);
    }
    const { balance_cents: after, rentals } = await account(page);
    const paid = rentals.filter(({ movie }) => movie === film);
    assert.deepEqual(paid.map(({ cents }) => cents), [before - after]);
  }
  await other.close();
}

/** A browser that knows nothing of the rental plays it for nothing. */
async function otherBrowser(page, url, name) {
  const { balance_cents: before } = await account(page);
  await page.context().clearCookies();
  await page.evaluate(() => localStorage.clear());
  await page.goto(`${url}/login?next=${encodeURIComponent("/movie?id=1")}`);
  await logIn(page, name);
  await page.click('.head .button[href^="/watch"]');
  await watches(page);
  assert.equal((await account(page)).balance_cents, before);
}

async function logIn(page, name) {
  await page.waitForSelector("#form");
  await page.fill("[name=name]", name);
  await page.fill("[name=password]", "password-1");
  await page.click("#send");
}

export default async ({ page, url, words: [seconds = "20", speed = "4"] }) => {
  const text = (selector) => page.textContent(selector);
  const shown = (check, argument) => page.waitForFunction(check, argument);
  const did = [];
  const step = async (name) => {
    did.push(name);
    const file = `${String(did.length).padStart(2, "0")}-${name.replaceAll(" ", "-")}.png`;
    if (SCREENSHOTS) await page.screenshot({ path: `${SCREENSHOTS}/${file}`, fullPage: true });
  };

  await page.goto(`${url}/`);
  await page.waitForSelector(".film");
  const first = (await text(".film .words")).trim();
  await page.click("#after");
  await shown(() => document.querySelector("#where").textContent.startsWith("25–"));
  await page.click("#before");
  await shown((title) => document.querySelector(".film .words")?.textContent === title, first);
  await step("browse");

  await page.fill("#q", first);
  await shown((title) => document.querySelector("#heading").textContent.includes(title), first);
  await shown((title) => document.querySelector(".film .words")?.textContent === title, first);
  await step("search");
  await page.fill("#q", "qqqqzzzz");
  await page.waitForSelector(".empty");
  await page.goto(`${url}/movie?id=999999999`);
  await page.waitForSelector("#problem:not([hidden])");

  await page.goto(`${url}/movie?id=1`);
  await page.waitForSelector(".films.row .film");
  for (const part of [".poster", ".plot", ".rating", ".cast li", ".photos img", ".ads li", ".reviews .text"]) {
    assert.ok(await page.$(part), `the page of the film has ${part}`);
  }
  await page.click(".head .button");
  // A new name each time, since the data set may be left from an earlier run.
  const name = `visitor-${Math.random().toString(36).slice(2, 10)}`;
  await page.waitForSelector("#form");
  await page.fill("[name=name]", name);
  await page.fill("[name=password]", "a wrong password");
  await page.click("#send");
  await page.waitForSelector("#problem:not([hidden])");
  await page.click("#swap");
  await page.fill("[name=password]", "password-1");
  await page.click("#send");
  await page.waitForSelector(".action button");
  assert.equal(await text("#viewer .name"), name);
  await step("sign up");

  const review = `<b>${name}</b> & "liked" it`;
  const isFirst = (words) => document.querySelector(".reviews .text")?.textContent === words;
  await page.fill("textarea", review);
  await page.click(".write button");
  await shown(isFirst, review);
  await step("write");

  await page.click(".action button");
  await shown(() => document.querySelector("#stats")?.textContent.startsWith("Started after"));
  await step("rent");
  const begun = await page.evaluate((speed) => {
    const video = document.querySelector("video");
    video.playbackRate = speed;
    return video.currentTime;
  }, Number(speed));
  await shown((until) => document.querySelector("video").currentTime > until, begun + Number(seconds));
  assert.ok(await page.evaluate(() => document.querySelector("video").getVideoPlaybackQuality().totalVideoFrames > 0));
  const stats = await text("#stats");
  await step("watch");
  await page.goto(`${url}/movie?id=1`);
  await page.waitForSelector('.head .button[href^="/watch"]');
  // A page from the browser's memory has buttons that work.
  await page.click('.head .button[href^="/watch"]');
  await watches(page);
  await page.goBack();
  await page.waitForSelector('.head .button[href^="/watch"]');
  await otherBrowser(page, url, name);
  await twoPages(page, url);

  await page.goto(`${url}/account`);
  await page.waitForSelector(".rentals .button");
  assert.equal(await page.$$eval(".rentals .button", (all) => all.length), 3);
  assert.match(await text(".left"), /^\d+ h \d+ min left$|^\d+ min left$/);
  assert.equal(await text(".reviews .text"), review);
  const before = await account(page);
  await page.click(".action button");
  await shown((words) => document.querySelector("#balance").textContent === words, `$${((before.balance_cents + 500) / 100).toFixed(2)}`);
  await step("see the account");
  await page.goto(`${url}/movie?id=1`);
  await page.waitForSelector('.head .button[href^="/watch"]');

  await page.click("#viewer button");
  await page.waitForSelector("#viewer .button");
  assert.equal((await page.context().cookies()).some((cookie) => cookie.name === "token"), false);
  await step("log out");

  await page.click("#viewer .button");
  await logIn(page, name);
  // It leads back to the film, whose rental is still there.
  await page.waitForSelector('.head .button[href^="/watch"]');
  assert.equal(await text("#viewer .name"), name);
  await step("log in");
  await shown(isFirst, review);
  assert.equal(await text(".reviews header strong"), "You");
  await step("see the review");
  return { did, first, stats };
};
