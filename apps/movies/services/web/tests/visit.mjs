// What a person does on the site, in the form of the scenarios of crates/taillight/tests/browser, for any data set:
// browses, searches, makes an account, rents, watches, writes a review, finds it again, logs out.
import assert from "node:assert/strict";

export default async ({ page, url }) => {
  const text = (selector) => page.textContent(selector);
  const shown = (check, argument) => page.waitForFunction(check, argument);

  await page.goto(`${url}/`);
  await page.waitForSelector(".film");
  const first = (await text(".film .words")).trim();
  await page.click("#after");
  await shown(() => document.querySelector("#where").textContent.startsWith("25–"));
  await page.fill("#q", first);
  await shown((title) => document.querySelector(".film .words")?.textContent === title, first);
  await page.fill("#q", "qqqqzzzz");
  await page.waitForSelector(".empty");

  await page.goto(`${url}/movie?id=999999999`);
  await page.waitForSelector("#problem:not([hidden])");
  await page.goto(`${url}/movie?id=1`);
  await page.waitForSelector(".films.row .film");
  await page.click(".head .button");

  // A new one each time: the data set may be that of an earlier run.
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

  const review = `<b>${name}</b> & "liked" it`;
  await page.fill("textarea", review);
  await page.click(".write button");
  await shown((words) => document.querySelector(".reviews .text")?.textContent === words, review);
  await page.reload();
  await shown((words) => document.querySelector(".reviews .text")?.textContent === words, review);

  await page.click(".action button");
  await shown(() => document.querySelector("#stats")?.textContent.startsWith("Started after"));
  await shown(() => document.querySelector("video").currentTime > 1);
  const stats = await text("#stats");
  await page.goto(`${url}/movie?id=1`);
  await page.waitForSelector('.head .button[href^="/watch"]');

  await page.click("#viewer button");
  await page.waitForSelector("#viewer .button");
  assert.equal((await page.context().cookies()).some((cookie) => cookie.name === "token"), false);
  return { first, stats };
};
