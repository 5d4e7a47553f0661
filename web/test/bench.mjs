// Measures the console on a stack of the profile huge; see ui.md 2.5 in the design and
// test/benchmarks. The last line is JSON. `make bench-ui` runs it.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { findings, settled } from './lib/pages.mjs';
import { act, closeBrowser, logIn, newContext, patience, stack } from './lib/stack.mjs';

const dist = resolve(import.meta.dirname, '../dist');
const rounds = 5;

const median = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)];
const percentile = (all, p) => all.toSorted((a, b) => a - b)[Math.min(all.length - 1, Math.floor((all.length * p) / 100))];
const round = (n) => Math.round(n * 10) / 10;

const context = await newContext();
const first = await logIn(context, stack.email, '/services');
await first.close();

const result = {};
const realRow = () => {
  const row = document.querySelector('[role="grid"] [role="row"][data-id]:not([data-id=""])');
  return row !== null && row.textContent.trim() !== '';
};

// What a cold load fetches, and how long it takes until real rows show.
async function coldLoad(throttle) {
  // A session of its own: no cache, the same cookies.
  const fresh = await newContext({ storageState: await context.storageState() });
  const page = await fresh.newPage();
  const files = [];
  page.on('response', (r) => files.push(new URL(r.url()).pathname));
  const cdp = await fresh.newCDPSession(page);
  await cdp.send('Network.setCacheDisabled', { cacheDisabled: true });
  if (throttle) await cdp.send('Emulation.setCPUThrottlingRate', { rate: throttle });
  const began = performance.now();
  await page.goto('/services', { waitUntil: 'commit' });
  await page.waitForFunction(realRow, undefined, { polling: 'raf', timeout: patience });
  const took = performance.now() - began;
  const gz = (suffix) => files.filter((f) => f.endsWith(suffix)).reduce((n, f) => n + statSync(`${dist}${f}.gz`).size, 0) / 1000;
  const measured = { took, js: gz('.js'), css: gz('.css') };
  await fresh.close();
  return measured;
}

const loads = [];
for (let n = 0; n < rounds; n++) loads.push(await coldLoad());
result.cold_load_ms = round(median(loads.map((l) => l.took)));
result.cold_load_4x_ms = round((await coldLoad(4)).took);
result.first_js_gz_kb = round(Math.max(...loads.map((l) => l.js)));
result.first_css_gz_kb = round(Math.max(...loads.map((l) => l.css)));

const page = await context.newPage();
await page.goto('/services');
await page.waitForFunction(realRow);
await settled(page);
const cdp = await context.newCDPSession(page);
await cdp.send('Performance.enable');
const total = Number(await page.locator('[role="grid"]').getAttribute('aria-rowcount')) - 1;
result.services = total;

// A filter or another order, as a person changes it: until the first row of the answer
// is drawn. Playwright's own time is outside: the page measures.
async function changed(act) {
  await page.evaluate(() => {
    const grid = document.querySelector('[role="grid"]');
    window.answered = new Promise((done) => {
      const seen = new PerformanceObserver((list) => {
        if (!list.getEntries().some((e) => e.name.includes('Fleet/QueryServices'))) return;
        seen.disconnect();
        const look = () => {
          if (grid.isConnected && grid.getAttribute('aria-busy') === 'true') requestAnimationFrame(look);
          else requestAnimationFrame(() => requestAnimationFrame((now) => done(now)));
        };
        look();
      });
      seen.observe({ type: 'resource' });
    });
    const began = (event) => {
      window.began = event.timeStamp;
      document.removeEventListener('click', began, true);
    };
    document.addEventListener('click', began, true);
  });
  await act();
  return page.evaluate(async () => (await window.answered) - window.began);
}

const filtered = [];
// Each is a query that the browser has not asked before. The last may leave no row, and no header.
for (const [kind, name] of [['sort', 'Name'], ['sort', 'Health'], ['sort', 'Changed'], ['sort', 'Cluster'], ['preset', 'Progressing']]) {
  const button = page.locator(kind === 'sort' ? '[role="columnheader"] button' : '[role="group"][aria-label="Presets"] button').filter({ hasText: new RegExp(`^${name}$`) });
  filtered.push(await changed(() => button.click()));
  await settled(page);
}
await page.goto('/services');
await page.waitForFunction(realRow);
await settled(page);
result.filter_ms = round(Math.max(...filtered));

// To the last row, by the key.
await page.locator('[role="grid"] [role="row"][data-index="0"]').focus();
result.jump_ms = round(
  await page.evaluate(async (last) => {
    const began = performance.now();
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true, cancelable: true }));
    for (;;) {
      await new Promise(requestAnimationFrame);
      const row = document.querySelector(`[role="row"][data-index="${last - 1}"]`);
      if (row?.dataset.id) return performance.now() - began;
      if (performance.now() - began > 30_000) throw new Error('the last row never came');
    }
  }, total),
);

// 300 frames of 20 rows each.
const frames = await page.evaluate(async () => {
  const grid = document.querySelector('[role="grid"]');
  grid.scrollTop = 0;
  const all = [];
  let last = performance.now();
  for (let n = 0; n < 300; n++) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    all.push(now - last);
    last = now;
    grid.scrollTop += 20 * 32;
  }
  return all.slice(1);
});
result.scroll_p50_ms = round(percentile(frames, 50));
result.scroll_p95_ms = round(percentile(frames, 95));

// A hundred changes a second, of the rows that show.
await page.evaluate(() => {
  document.querySelector('[role="grid"]').scrollTop = 0;
});
await settled(page);
await page.evaluate(() => {
  window.longTasks = [];
  window.patched = 0;
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: 'longtask' });
  new MutationObserver((all) => (window.patched += all.length)).observe(document.querySelector('[role="grid"]'), { subtree: true, childList: true, characterData: true, attributes: true });
});
await act({ do: 'churn', what: 'start', rate: 100 });
await new Promise((done) => setTimeout(done, 5000));
const live = await page.evaluate(() => ({ longTasks: window.longTasks, patched: window.patched }));
await act({ do: 'churn', what: 'stop' });
if (live.patched === 0) throw new Error('no row moved: the live stream sent nothing');
result.long_tasks = live.longTasks.length;
result.longest_task_ms = round(Math.max(0, ...live.longTasks));
result.patched_nodes = live.patched;

await cdp.send('HeapProfiler.collectGarbage');
const metrics = Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value]));
result.heap_mb = round(metrics.JSHeapUsedSize / 1e6);
result.dom_nodes = await page.evaluate(() => document.querySelectorAll('*').length);

// Opening the palette, until its first frame. Its code was loaded when the page was idle.
await page.keyboard.press('Escape');
await page.evaluate(() => {
  window.opened = new Promise((done) => {
    let began;
    document.addEventListener('keydown', (event) => event.key === 'k' && (began = event.timeStamp), { capture: true });
    new MutationObserver((_, seen) => {
      if (!document.querySelector('[role="dialog"]')) return;
      seen.disconnect();
      requestAnimationFrame(() => requestAnimationFrame((now) => done(now - began)));
    }).observe(document.body, { childList: true, subtree: true });
  });
});
await page.keyboard.press('Control+k');
await page.getByRole('dialog').waitFor();
result.palette_ms = round(await page.evaluate(() => window.opened));
await page.keyboard.press('Escape');

const found = await findings(page);
result.axe_findings = found.length;
for (const line of found) console.error(line);

const budgets = {
  first_js_gz_kb: 210, first_css_gz_kb: 25, cold_load_ms: 1200, cold_load_4x_ms: 2500, filter_ms: 300, jump_ms: 300,
  scroll_p50_ms: 17, scroll_p95_ms: 70, heap_mb: 60, dom_nodes: 1500, long_tasks: 0, axe_findings: 0,
};
for (const [name, budget] of Object.entries(budgets)) {
  console.log(`${result[name] > budget ? 'OVER' : 'ok  '}  ${name.padEnd(18)} ${String(result[name]).padStart(9)}  of ${budget}`);
}
console.log(`      browser ${(await context.browser()).version()}, ${total} services`);
await closeBrowser();
console.log(JSON.stringify(result));
