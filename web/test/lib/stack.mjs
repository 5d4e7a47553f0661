// What every browser test needs: the stack that Go started (test/console/stack), a real
// Chromium, people who log in, and acts outside of the browser.
import { existsSync, readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const file = process.env.AXLE_STACK;
if (!file) {
  throw new Error('AXLE_STACK is not set: run `go run ./cmd/dev console real` and export what it prints, or `go test ./test/console/...`');
}

/** The facts of the running stack; see stack.Facts in Go. */
export const stack = JSON.parse(readFileSync(file, 'utf8'));

/** How long anything may take on a loaded machine, in milliseconds. */
export const patience = Number(process.env.PATIENCE ?? 60_000);

/** How long until pods have crashed some times: the pauses between two crashes grow. */
export const crashes = 3 * patience;

/** How long until a tunnel is up again that was down: an agent dials anew within a minute. */
export const dialled = 60_000 + patience;

/** Does something outside of the browser; see order in test/console/stack/control.go. */
export async function act(order) {
  const response = await fetch(stack.control, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}` },
    body: JSON.stringify(order),
  });
  if (!response.ok) throw new Error(`the stack refuses ${order.do}: ${await response.text()}`);
  const outcome = await response.json();
  if (outcome.error) throw new Error(`${order.do} ${(order.args ?? []).join(' ')}: ${outcome.error}\n${outcome.out}${outcome.err}`);
  return outcome.out;
}

export const axle = (...args) => act({ do: 'axle', args });
export const kubectl = (cluster, ...args) => act({ do: 'kubectl', cluster, args });

/** Calls the hub's API as its first administrator. */
export async function hub(method, body = {}) {
  const response = await fetch(`${stack.url}/axle.hub.v1.${method}`, { method: 'POST', headers: { authorization: `Bearer ${stack.token}`, 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} answers ${response.status}: ${text}`);
  return JSON.parse(text);
}

// Chromium without its windows needs a fifth less of the processor.
const path = process.env.CHROMIUM ?? ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync);

// The sessions of the people who have logged in, by their address.
const sessions = new Map();

let browser;

/** One Chromium for all tests of a process. */
export async function chromiumOnce() {
  // One that crashed takes no test with it but its own.
  if (!browser?.isConnected()) {
    browser = await chromium.launch({
      executablePath: path,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    });
  }
  return browser;
}

let kept = false;

/** From now on the end of a file closes the windows of its people, and the browser stays for the next file. Returns what ends it. */
export function keepBrowser() {
  kept = true;
  return () => browser?.close();
}

/** What the end of a file does: nothing of it is left for another one, and nobody is logged in. */
export async function closeBrowser() {
  sessions.clear();
  if (kept) {
    await Promise.all((browser?.contexts() ?? []).map((one) => one.close()));
    return;
  }
  await browser?.close();
  browser = undefined;
}

/**
 * A browser of its own, as for another person. Every complaint of the page (console
 * errors, failed requests, CSP violations, uncaught errors) is kept in page.complaints.
 */
export async function newContext(options = {}) {
  const one = await (await chromiumOnce()).newContext({
    baseURL: stack.url,
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    colorScheme: 'dark',
    viewport: { width: 1440, height: 900 },
    ignoreHTTPSErrors: true,
    ...options,
  });
  one.setDefaultTimeout(patience);
  return one;
}

/** Collects what a page complains about. */
export function listen(page) {
  const complaints = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.complaints = complaints;
  return page;
}

/**
 * Gives a page of a person who is logged in: the first time by the form of the login page, as a person does, then with that
 * session, as in another window, while it holds.
 */
export async function logIn(context, email = stack.email, path = '/') {
  const page = listen(await context.newPage());
  if (sessions.has(email)) {
    await context.addCookies(sessions.get(email));
    if ((await context.request.get('/login/session')).ok()) {
      await page.goto(path);
      await page.locator('h1').first().waitFor();
      return page;
    }
    await context.clearCookies();
  }
  await page.goto(path);
  await page.waitForURL(/\/login/);
  await page.fill('#email', email);
  await page.fill('#password', stack.password);
  await page.click('form[action="/login"] button');
  await page.waitForURL((url) => !url.pathname.startsWith('/login'));
  page.complaints.length = 0; // a logged-out page asked for a session, which is a 401
  sessions.set(email, await context.cookies());
  return page;
}

/** Waits until a check passes, and fails with its last error. */
export async function eventually(check, within = patience) {
  const end = Date.now() + within;
  let last;
  // Most of what is waited for is there in a moment. A check that takes long, as a command does, is made less often.
  for (let pause = 10; ; pause = Math.min(200, pause * 2)) {
    const began = Date.now();
    try {
      return await check();
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw last;
    const took = Date.now() - began;
    await new Promise((resolve) => setTimeout(resolve, Math.max(pause, Math.min(1_000, 2 * took))));
  }
}
