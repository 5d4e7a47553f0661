// Takes pictures of every route of a stack and of what opens above it, in dark and light,
// wide and narrow, into OUT. `make screenshots` runs it for the profiles small (loaded),
// empty, broken and real (pods), and somebody looks at them: what is read
// first, is the worst status plain in grey, is anything clipped, has every number a unit
// and an age, is the next step known.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { furnishReal, furnishSmall, upgradeReal } from './lib/furnish.mjs';
import { bring, collect, crashed } from './lib/observed.mjs';
import * as overlays from './lib/overlays.mjs';
import { settled } from './lib/pages.mjs';
import { always, live, ofCluster, ofService } from './lib/routes.mjs';
import { closeBrowser, hub, kubectl, logIn, newContext, stack } from './lib/stack.mjs';

const out = process.env.OUT;
if (!out) throw new Error('OUT is not set: the folder for the pictures');
mkdirSync(out, { recursive: true });

const toolbox = ['summary', 'logs', 'exec'].map((tab) => `/clusters/edge-1/k8s/pods.v1/talker/toolbox/${tab}`);

// By profile: what to do first, and what to look at then, in this order.
const acts = {
  empty: [() => always],
  small: [
    () => [...always, ...ofCluster('prod-eu'), ...live('prod-eu'), ...ofService('prod-eu', 'web'), '/repositories/fleet', '/no/such/page', '/clusters?view=heat', '/activity?tab=events', '/rollouts?tab=namespaces', ...overlays.small],
    async () => {
      const { finished, failed, signIns } = await furnishSmall();
      return [
        { path: `/operations/${finished}`, as: '/operations/finished' },
        { path: `/operations/${failed}`, as: '/operations/failed' },
        '/rollouts/log-shipper',
        '/rollouts/reports',
        '/managed-namespaces/monitoring',
        '/clusters/shop-1',
        '/clusters/shop-1/settings',
        // The same again, with something in it.
        ...['/', '/clusters', '/clusters/new/template', '/activity', '/notifications', '/rollouts', '/rollouts?tab=namespaces', ...['groups', 'service-accounts', 'auth', 'notifications', 'applications', 'webhooks', 'projects', 'contexts', 'hub', 'tokens'].map((one) => `/settings/${one}`)].map((path) => ({ path, as: `${path}#furnished` })),
        '/settings/groups?group=web-team',
        { path: '/settings/profile', as: '/settings/profile#furnished' },
        { what: 'logins', path: '/settings/applications', role: 'region', name: 'Logins to tracker, table', show: overlays.press('Details of tracker') },
        ...signIns,
        ...overlays.furnished(failed),
      ];
    },
    () => overlays.secrets,
  ],
  broken: [
    () => [
      ...always,
      ...['prod', 'lost', 'new-site', 'planned'].map((name) => `/clusters/${name}`),
      ...live('prod'),
      ...['forbidden', 'prune-held', 'drifted', 'crash-loop', 'unknown-ref', 'on-hold', 'rolled-back', 'bad-yaml'].map((name) => `/services/prod/${name}`),
      ...ofService('prod', 'crash-loop').slice(1),
      '/repositories/goes-away',
      '/services?verdict=Failed',
      '/services?q=nothing-matches-this',
      '/clusters?view=heat',
      '/clusters/prod/settings',
      '/clusters/new-site/settings',
      ...overlays.broken,
    ],
  ],
  // What only a tunnel shows.
  real: [
    () => [
      ...ofCluster('edge-1'),
      ...live('edge-1'),
      '/clusters/edge-1/k8s/pods.v1',
      ...['summary', 'yaml', 'events', 'logs', 'related'].map((tab) => `/clusters/edge-1/k8s/deployments.v1.apps/talker/talker/${tab}`),
      ...ofService('edge-1', 'talker'),
    ],
    async () => {
      const { node } = await furnishReal();
      await kubectl('edge-1', 'create', 'poddisruptionbudget', 'stuck', '--namespace', 'talker', '--selector=app=talker', '--max-unavailable=0');
      const { kubernetesVersion } = await hub('Clusters/Get', { name: 'edge-1' });
      const [minor] = kubernetesVersion.match(/\d+\.\d+/);
      return [{ path: `/clusters/edge-1/readiness?to=${minor}`, as: '/clusters/edge-1/readiness#not-ready' }, { path: `/clusters/edge-1/nodes/${node}`, as: '/clusters/edge-1/nodes/node' }, ...toolbox, '/clusters/edge-1/k8s/secrets.v1/talker/login/summary', ...overlays.real(node)];
    },
    // What is observed of a workload that crashes.
    async () => {
      await bring();
      const pod = await crashed();
      await collect();
      const of = (kind, name) => ['summary', 'logs', 'metrics'].map((tab) => ({ path: `/clusters/edge-1/k8s/${kind}/faults/${name}/${tab}`, as: `/observed/${kind}/${tab}` }));
      return [
        ...['/', '/clusters/edge-1', '/clusters/edge-1/metrics', '/clusters/edge-1/logs', '/services/edge-1/faults', '/services/edge-1/faults?tab=metrics'].map((path) => ({ path, as: `${path}#observed` })),
        '/clusters/edge-1/dashboards/faults/shelves',
        '/clusters/edge-1/logs?query=rate',
        ...of('deployments.v1.apps', 'faults'),
        ...of('pods.v1', pod),
      ];
    },
    async () => {
      await upgradeReal();
      return ['/settings/hub', ...overlays.upgrading];
    },
  ],
}[stack.profile];
if (!acts) throw new Error(`no routes for the profile ${stack.profile}`);

const nameOf = (path) => path.replace(/^\//, '').replace(/[^a-z0-9-]+/gi, '_') || 'home';

// What differs from run to run: how long ago, names and secrets by chance.
const chance = [
  [hostname(), 'HOST'],
  // Of a pod: its ReplicaSet's and its own.
  [/-[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '-POD'],
  [/\b(now|\d+ (ms|s|m|h|d)( \d+ (s|m|h))?)\b/g, 'AGE'],
  // In base64url a dash ends no word.
  [/(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{24,}/g, 'CHANCE'],
  [/\b(?=\w*\d)\w{16,}\b/g, 'CHANCE'],
  [/\b[0-9a-f]{6,}\b/g, 'HASH'],
  [/\d+/g, 'N'],
];

/** A hash of what a page says; the live connection says something of the moment. */
async function hashOf(page) {
  await page.evaluate(() => document.querySelector('header [data-phase]')?.replaceChildren());
  const said = await page.locator('body').ariaSnapshot();
  const steady = chance.reduce((text, [what, word]) => text.replaceAll(what, word), said);
  return createHash('sha256').update(steady).digest('hex').slice(0, 8);
}

/** Waits until everything is there; returns what is not. */
async function calm(page) {
  let problem = '';
  const wait = () => settled(page, 5000).catch((error) => (problem = String(error).split('\n')[0]));
  await wait();
  await page.evaluate(() => document.fonts.ready);
  // A part whose code is loaded late begins to load only now.
  await page.waitForTimeout(300);
  await wait();
  return problem;
}

/** Waits until something above the page is drawn: on a touch screen a dialog with a field is hidden until the keyboard had its time. */
async function drawn(page, overlay, narrow) {
  const handle = await overlay.elementHandle();
  await page.waitForFunction(({ e, steady }) => {
    let shows = true;
    for (let one = e; one; one = one.parentElement) shows &&= getComputedStyle(one).opacity === '1';
    window.shownSince = shows ? (window.shownSince ?? performance.now()) : undefined;
    return shows && performance.now() - window.shownSince > steady;
  }, { e: handle, steady: narrow ? 1000 : 200 });
}

const index = [];
// LOOKS and WIDTHS choose some, ONLY those whose name has these words.
const looks = (process.env.LOOKS ?? 'dark,light').split(',');
const widths = (process.env.WIDTHS ?? '1440,390').split(',').map(Number);
const only = new RegExp(process.env.ONLY ?? '');
// HEIGHT shows more of long pages.
const height = Number(process.env.HEIGHT ?? 0);

async function look(page, { path, as = path, what, show, ...rest }, colorScheme, width) {
  const name = what ? `${as}#${what}` : as;
  let problem = '';
  let box;
  try {
    if (show) {
      const overlay = await overlays.shown(page, { path, show, ...rest });
      await drawn(page, overlay, width === 390);
      if (rest.role !== 'button') box = await overlay.boundingBox();
    } else {
      await page.goto(path);
      problem = await calm(page);
    }
  } catch (error) {
    problem = String(error).split('\n')[0];
  }
  const file = `${stack.profile}-${nameOf(name)}-${colorScheme}-${width}.png`;
  if (index.some((other) => other.file === file)) throw new Error(`two pictures are called ${file}`);
  await page.screenshot({ path: join(out, file) });
  index.push({ file, path: name, profile: stack.profile, look: colorScheme, width, hash: await hashOf(page), problem, box });
}

for (const act of acts) {
  const shots = (await act()).map((one) => (typeof one === 'string' ? { path: one } : one)).filter(({ path, as = path, what = '' }) => only.test(`${as}#${what}`));
  for (const colorScheme of looks) {
    for (const width of widths) {
      const narrow = width === 390;
      const context = await newContext({ colorScheme, viewport: { width, height: height || (narrow ? 844 : 900) }, hasTouch: narrow });
      context.setDefaultTimeout(15_000);
      const page = await logIn(context);
      for (const shot of shots) if (!(narrow && shot.narrow === false)) await look(page, shot, colorScheme, width);
      await context.close();
    }
  }
}
writeFileSync(join(out, `${stack.profile}.json`), JSON.stringify(index, null, 1));
// Sheets for a first look: many pages small, or some overlays as they are.
const sheet = await (await newContext({ viewport: { width: 1600, height: 900 } })).newPage();
async function sheetOf(name, shown, draw) {
  const figures = shown.map((one) => `<figure style="display:inline-block;vertical-align:top;margin:4px">${draw(one)}<figcaption>${one.path}</figcaption></figure>`);
  writeFileSync(join(out, `${name}.html`), `<!doctype html><body style="margin:4px;background:#444;color:#fff;font:12px sans-serif">${figures.join('')}`);
  await sheet.goto(`file://${join(out, name)}.html`);
  await sheet.screenshot({ path: join(out, `${name}.png`), fullPage: true });
}
const around = 12; // pixels of the page around an overlay
for (const width of widths) {
  for (const colorScheme of looks) {
    const name = `${stack.profile}-sheet-${colorScheme}-${width}`;
    const of = index.filter((one) => one.width === width && one.look === colorScheme);
    const pages = of.filter((one) => !one.box);
    const above = of.filter((one) => one.box);
    const small = width === 390 ? 195 : 390;
    for (let n = 0; n < pages.length; n += 20) await sheetOf(`${name}-pages-${n / 20}`, pages.slice(n, n + 20), ({ file }) => `<img src="${file}" width="${small}">`);
    for (let n = 0; n < above.length; n += 9) {
      await sheetOf(`${name}-overlays-${n / 9}`, above.slice(n, n + 9), ({ file, box }) => `<div style="overflow:hidden;width:${box.width + 2 * around}px;height:${box.height + 2 * around}px"><img src="${file}" style="margin:${around - box.y}px 0 0 ${around - box.x}px"></div>`);
    }
  }
}
await closeBrowser();
for (const one of index.filter((i) => i.problem)) console.log(`${one.file}: ${one.problem}`);
console.log(`${index.length} pictures of the profile ${stack.profile} in ${out}`);
