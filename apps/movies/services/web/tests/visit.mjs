// A user's visit to the site, in the form of the scenarios of crates/taillight/tests/browser, for any data set of more than 24
// films: browses, searches, makes an account, writes a review, rents, watches, logs out and in, finds the review. WORDS: how many
// seconds of the film are watched (20); how many times as fast as usual (4). SCREENSHOTS: a folder for pictures of the pages.
import assert from "node:assert/strict";

const { SCREENSHOTS } = process.env;

const watches = (page) => page.waitForFunction(() => document.querySelector("#stats")?.textContent.startsWith("Started after"));

/** Simulates a restarted site, which has another signing key and so refuses a ticket. A paid film still plays, free of charge. Returns its ticket. */
async function signOtherwise(page) {
  const spoil = (ticket) => {
    const place = Object.keys(localStorage).find((name) => name.startsWith("ticket:"));
    const before = JSON.parse(localStorage.getItem(place));
    if (ticket) localStorage.setItem(place, JSON.stringify({ ...before, url: before.url.replace(/^\/hls\/./, (from) => (from === "/hls/A" ? "/hls/B" : "/hls/A")) }));
    else localStorage.removeItem(place);
    return before;
  };
  let paid;
  for (const ticket of [true, false]) {
    paid = await page.evaluate(spoil, ticket);
    const renewal = page.waitForResponse((answer) => answer.url().endsWith("/api/rent"));
    await page.reload();
    await page.click('.head .button[href^="/watch"]');
    const renewed = await (await renewal).json();
    await watches(page);
    assert.deepEqual(renewed, { ...paid, repeated: true });
    await page.goBack();
    await page.waitForSelector('.head .button[href^="/watch"]');
  }
  return paid;
}

/** Who has a film open twice and rents it in both, one after the other or at once, pays once. */
async function twoPages(page, url, balance) {
  const other = await page.context().newPage();
  for (const [film, atOnce] of [[2, false], [3, true]]) {
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
    const now = await page.evaluate(async (film) => {
      const { ask, viewer } = await import("/assets/site.js");
      const { key } = JSON.parse(localStorage.getItem(`rental:${viewer().user}:${film}`));
      return ask("/api/rent", { movie: film, key });
    }, film);
    assert.deepEqual([now.repeated, now.balance_cents], [true, balance - now.cents]);
    balance = now.balance_cents;
  }
  await other.close();
  await page.goto(`${url}/movie?id=1`);
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
  const paid = await signOtherwise(page);
  await twoPages(page, url, paid.balance_cents);

  await page.click("#viewer button");
  await page.waitForSelector("#viewer .button");
  assert.equal((await page.context().cookies()).some((cookie) => cookie.name === "token"), false);
  await step("log out");

  await page.click("#viewer .button");
  await page.waitForSelector("#form");
  await page.fill("[name=name]", name);
  await page.fill("[name=password]", "password-1");
  await page.click("#send");
  // It leads back to the film, whose ticket is still there.
  await page.waitForSelector('.head .button[href^="/watch"]');
  assert.equal(await text("#viewer .name"), name);
  await step("log in");
  await shown(isFirst, review);
  assert.equal(await text(".reviews header strong"), "You");
  await step("see the review");
  return { did, first, stats };
};
