// The contract that every page keeps, whatever it shows.
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { eventually, listen, logIn, newContext, patience } from './stack.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Opens a page and waits until it shows what it has: no skeleton, no pending call. */
export async function open(page, path) {
  await page.goto(path);
  await settled(page);
}

// A page that is always there and short, and another one to reach that from.
const [about, profile] = [{ path: '/settings/about', title: 'About' }, { path: '/settings/profile', title: 'Profile' }];

/**
 * Opens a page as a link does, by way of another page: the console stays loaded, and no page keeps what it held. The page itself
 * looks when it changes: a question from here costs each of three processes more than the answer.
 */
export async function follow(page, path) {
  await page.evaluate(
    async ([path, between, within]) => {
      const frame = () => new Promise(requestAnimationFrame);
      const until = (what, holds) =>
        new Promise((resolve, reject) => {
          const end = (how, value) => {
            watch.disconnect();
            clearTimeout(late);
            how(value);
          };
          const look = () => holds() && end(resolve);
          const watch = new MutationObserver(look);
          const late = setTimeout(() => end(reject, new Error(`${path}: ${what} after ${within} ms; the page is ${document.querySelector('h1')?.textContent}`)), within);
          watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
          look();
        });
      const title = () => document.querySelector('h1')?.textContent;
      history.pushState({}, '', between.path);
      await until(`${between.title} is not there`, () => title() === between.title);
      history.pushState({}, '', path);
      const shown = () => title() !== undefined && title() !== between.title && document.querySelector('h1').checkVisibility() && !document.querySelector('main [aria-busy="true"]');
      // A part that begins to load once it is drawn is not there yet.
      do {
        await until('something is still loading', shown);
        await frame();
        await frame();
      } while (!shown());
    },
    [path, path.startsWith(about.path) ? profile : about, patience],
  );
}

/** Waits until nothing is loading any more. */
export async function settled(page, within = patience) {
  await page.locator('h1').first().waitFor({ timeout: within });
  await eventually(async () => {
    assert.equal(await page.locator('main [aria-busy="true"]').count(), 0, 'something is still loading');
  }, within);
}

/** Runs axe in the page or a part of it, all rules or some; returns its findings as lines. */
export async function findings(page, rules, part) {
  // The policy of the page allows no inline script; the debugger may evaluate one.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const runOnly = rules ? { type: 'rule', values: rules } : { type: 'tag', values: tags };
  const root = part ?? (await page.evaluateHandle(() => document));
  if (process.env.AXLE_SHEETS) {
    // test/console/look compares them with those that were built.
    const sheets = await page.evaluate(() => [...document.styleSheets].map((sheet) => /\/assets\/([\w.-]+)-[\w-]{8}\.css$/.exec(sheet.href)?.[1] ?? ''));
    appendFileSync(process.env.AXLE_SHEETS, sheets.join('\n') + '\n');
  }
  if (process.env.AXLE_SUITE_COUNTS) appendFileSync(process.env.AXLE_SUITE_COUNTS, 'axe\n'); // cmd/dev/suite counts
  // Rules that passed stay in the page.
  const violations = await page.evaluate(([where, only]) => window.axe.run(where, { runOnly: only, resultTypes: ['violations'] }).then((result) => result.violations), [root, runOnly]);
  return violations.flatMap((v) => v.nodes.map((n) => `${v.id} (${v.impact}): ${n.target.join(' ')}: ${n.failureSummary?.split('\n')[1]?.trim() ?? v.help}`));
}

/** Counts violations of the content security policy from the first script on. */
export async function watchPolicy(context) {
  await context.addInitScript(() => {
    window.policyViolations = [];
    document.addEventListener('securitypolicyviolation', (e) => window.policyViolations.push(`${e.violatedDirective}: ${e.blockedURI} ${e.sample}`));
  });
}

async function checkStructure(page, path) {
  assert.equal(await page.locator('h1').count(), 1, `${path}: one h1`);
  assert.match(await page.title(), /\S+ · .*Axle|^Axle$/, `${path}: title`);
  for (const role of ['banner', 'main', 'navigation']) {
    assert.ok((await page.getByRole(role).count()) >= 1, `${path}: landmark ${role}`);
  }
  assert.deepEqual(await page.evaluate(() => window.policyViolations), [], `${path}: content security policy`);
}

/** What scrolls sideways although its text could wrap: the document, the page, a dialog. */
async function sideways(page) {
  return page.evaluate(() =>
    [document.documentElement, document.querySelector('main'), ...document.querySelectorAll('[role="dialog"], [role="alertdialog"]')].flatMap((e) => {
      const over = e ? e.scrollWidth - e.clientWidth : 0;
      if (over <= 0) return [];
      // Names what sticks out the most and is not inside of something that scrolls by itself.
      const edge = e.getBoundingClientRect().left + e.clientWidth;
      const held = (x) => {
        for (let p = x.parentElement; p && p !== e; p = p.parentElement) if (getComputedStyle(p).overflowX !== 'visible') return true;
        return false;
      };
      const out = [...e.querySelectorAll('*')].filter((x) => x.getBoundingClientRect().right > edge + 0.5 && !held(x)).slice(-1)[0];
      return [`${e.tagName.toLowerCase()} by ${over} px: ${out ? `${out.tagName.toLowerCase()}.${out.className} ${(out.textContent ?? '').trim().slice(0, 40)}` : '?'}`];
    }),
  );
}

/**
 * Waits until nothing scrolls sideways: what gets its place once the page was drawn, as a menu or a graph, follows a new width a
 * frame later.
 */
export const fitsAcross = (page, what) => eventually(async () => assert.deepEqual(await sideways(page), [], `${what}: scrolls sideways`));

// Of axe's rules, these depend on the look; the others are checked once.
const coloured = ['color-contrast', 'link-in-text-block'];

const dark = { colorScheme: 'dark', forcedColors: 'none' };
const looks = [
  { name: 'light', media: { colorScheme: 'light', forcedColors: 'none' } },
  { name: 'forced colours', media: { colorScheme: 'dark', forcedColors: 'active' } },
];

/**
 * Runs axe in the dark: everything. With `looks` also what depends on colours, in light and in forced colours. That is for the
 * gallery and one of each kind of overlay: what can be read in the dark can be read in light by tokens.test.ts, and forced
 * colours are the system's.
 */
export async function checkAxe(page, what, { looks: all = false, covers = false, part } = {}) {
  // A menu may lie above half of a button, or close to one below it, until it is closed.
  const found = (await findings(page, undefined, part)).filter((one) => !covers || !one.startsWith('target-size'));
  assert.deepEqual(found, [], `${what}: axe, dark`);
  for (const look of all ? looks : []) {
    await page.emulateMedia(look.media);
    try {
      assert.deepEqual(await findings(page, coloured, part), [], `${what}: axe, ${look.name}`);
    } finally {
      await page.emulateMedia(dark);
    }
  }
}

/**
 * Registers the tests of routes, or of what a function returns once the tests run:
 * structure, console, policy, axe in the dark, and widths from 320 to 3,840 px. `widths` are those that are tried; `may` is
 * what the console of the browser may say. With `loads` each page is loaded, as from a bookmark; without it, the home page is, and
 * each is followed from there.
 */
export function contract(test, routes, { as, loads = false, widths = [320, 1024], may } = {}) {
  test(`every page keeps the contract${as ? ` for ${as}` : ''}`, { timeout: 600_000 }, async (t) => {
    const context = await newContext();
    await watchPolicy(context);
    const page = await logIn(context, as);
    for (const path of typeof routes === 'function' ? routes() : routes) {
      await t.test(path, async () => {
        await page.setViewportSize({ width: 1440, height: 900 });
        await (loads ? open : follow)(page, path);
        await checkStructure(page, path);
        await checkAxe(page, path);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 844 });
          await fitsAcross(page, `${path} at ${width} px`);
        }
        const complaints = page.complaints.splice(0).filter((one) => !may?.test(one));
        assert.deepEqual(complaints, [], `${path}: the console of the browser`);
      });
    }
    await context.close();
  });
}

/** Puts the start of Tab before everything: a blur alone leaves it where the focus was. */
export async function fromTheTop(page) {
  await page.evaluate(() => {
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute('tabindex');
  });
}

/** Tabs through a page and returns what had the focus, in order; fails on a trap. */
export async function tabOrder(page, most = 200) {
  const seen = [];
  await fromTheTop(page);
  for (let n = 0; n < most; n++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return null;
      // A field may show it on the box around itself.
      const ring = (one) => one.matches(':focus-within') && getComputedStyle(one).outlineStyle !== 'none';
      const box = e.getBoundingClientRect();
      return {
        name: (e.getAttribute('aria-label') ?? e.textContent ?? '').trim().slice(0, 60),
        role: e.getAttribute('role') ?? e.tagName.toLowerCase(),
        visible: ring(e) || getComputedStyle(e).boxShadow !== 'none' || (e.tagName === 'INPUT' && ring(e.parentElement)),
        width: box.width,
        height: box.height,
      };
    });
    if (!at) return seen;
    seen.push(at);
  }
  throw new Error(`the focus never leaves the page; the last: ${JSON.stringify(seen.slice(-3))}`);
}

export { listen };

/**
 * What a thumb misses: links, buttons and fields that show and are smaller than so many
 * pixels, in height or width. A link in a sentence is as high as its line; a control in a
 * row or a label that reacts too is as large as that.
 */
export async function small(page, least = 44) {
  return page.evaluate((least) => {
    const found = [];
    // Whether it reacts around itself as far as that.
    const reacts = (e) => {
      e.scrollIntoView({ block: 'center', inline: 'nearest' });
      const { left, top, width, height } = e.getBoundingClientRect();
      const [x, y, far] = [left + width / 2, top + height / 2, least / 2 - 1];
      return [[0, -far], [0, far], [-far, 0], [far, 0]].every(([dx, dy]) => e.contains(document.elementFromPoint(x + dx, y + dy)));
    };
    for (const e of document.querySelectorAll('a[href], button, input, select, textarea, summary, [role="menuitem"], [role="tab"], [role="button"]')) {
      if (!e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || e.closest('[inert], .visually-hidden, [aria-hidden="true"]') || e.matches(':disabled')) continue;
      const inSentence = getComputedStyle(e).display === 'inline' && e.parentElement.textContent.trim() !== e.textContent.trim();
      if (inSentence) continue;
      const row = e.matches('a') ? e.closest('[role="row"]') : null;
      const target = row ?? e.closest('label') ?? e;
      const box = target.getBoundingClientRect();
      if (box.width === 0 || box.height === 0) continue;
      if (Math.min(box.width, box.height) >= least - 0.5 || reacts(e)) continue;
      found.push(`${e.tagName.toLowerCase()} ${Math.round(box.width)}x${Math.round(box.height)} ${(e.getAttribute('aria-label') ?? e.textContent ?? '').trim().slice(0, 40)} .${String(e.className).slice(0, 30)}`);
    }
    return found;
  }, least);
}
