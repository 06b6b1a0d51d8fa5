// Runs a scenario in a headless browser: node run.mjs SCENARIO URL [WORD…]
//
// SCENARIO.mjs in this folder exports one function, which gets the open page and returns what the test is to know:
//
//     export default async ({ page, url, words, context, note }) => ({ … })
//
// On standard output is one line of JSON: {"ok", "result", "error", "console", "elsewhere"}. Exit codes: 0, the scenario
// returned; 1, it threw; 2, it was not begun. The browser ends with this program, and its folder is removed.
//
// TAILLIGHT_BROWSER_MODULES is the folder that playwright-core was installed into, CHROMIUM the browser
// (/usr/bin/chromium), SCREENSHOT a file for a picture of the page as it is at the end.
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// A bound on waiting, for each step. Units: milliseconds. The machine may be busy.
const PATIENCE = 60_000;
// Lines of the page's console that are kept.
const LINES = 200;

const [name, url, ...words] = process.argv.slice(2);
if (!/^[a-z-]+$/.test(name ?? "") || !url) {
  console.error("usage: node run.mjs SCENARIO URL [WORD…]");
  process.exit(2);
}
let chromium;
try {
  const modules = process.env.TAILLIGHT_BROWSER_MODULES ?? new URL(".", import.meta.url).pathname;
  ({ chromium } = createRequire(join(modules, "x.js"))("playwright-core"));
} catch (error) {
  console.error(`playwright-core is not installed (cargo xtask tools): ${error.message}`);
  process.exit(2);
}

const profile = await mkdtemp(join(tmpdir(), "taillight-browser-"));
const said = { ok: false, result: null, error: null, console: [], elsewhere: [] };
let context;
try {
  context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    viewport: { width: 1100, height: 1100 },
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-proxy-server", "--mute-audio",
      "--autoplay-policy=no-user-gesture-required",
    ],
  });
  context.setDefaultTimeout(PATIENCE);
  const page = context.pages()[0] ?? (await context.newPage());
  const note = (line) => { if (said.console.length < LINES) said.console.push(line); };
  page.on("console", (message) => note(message.text()));
  page.on("pageerror", (error) => note(`uncaught: ${error.message}`));
  // An application serves everything it shows: a request to another host is blocked and reported to the test.
  const home = new URL(url).host;
  await context.route((target) => /^(http|ws)s?:$/.test(target.protocol) && target.host !== home, (route) => {
    said.elsewhere.push(route.request().url());
    return route.abort();
  });
  try {
    const scenario = await import(new URL(`./${name}.mjs`, import.meta.url));
    said.result = (await scenario.default({ page, url, words, context, note })) ?? null;
    said.ok = true;
  } catch (error) {
    said.error = String(error.message ?? error);
  }
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
} catch (error) {
  said.error ??= `the browser did not begin: ${error.message ?? error}`;
} finally {
  await context?.close().catch(() => {});
  await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }).catch(() => {});
}
console.log(JSON.stringify(said));
process.exitCode = said.ok ? 0 : 1;
