// What others write is text, a login returns to this hub alone, and a secret that was
// given to the hub never comes to a browser.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { follow, open, settled, watchPolicy } from '../lib/pages.mjs';
import { act, axle, closeBrowser, eventually, logIn, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

// Each sets window.pwned when a page takes it for more than text.
const corpus = [
  '<img src=x onerror="window.pwned=1">',
  '<script>window.pwned=2</script>',
  '"><svg onload=window.pwned=3>',
  "'-window.pwned=4-'",
  '{{constructor.constructor("window.pwned=5")()}}',
  '[a](javascript:window.pwned=6)',
  '</textarea><iframe srcdoc="<script>parent.pwned=7</script>">',
  '<a href="javascript:window.pwned=8" data-xss>x</a>',
];
// What a terminal would obey: a title, a link, colours, a clear screen, a clipboard.
const sequences = ['\u001b]0;pwned\u0007', '\u001b]8;;http://evil.test\u001b\\x\u001b]8;;\u001b\\', '\u001b[31mred\u001b[0m', '\u001b[2J\u001b[H', '\u001b]52;c;cHduZWQ=\u0007'];

async function harmless(page, where) {
  assert.equal(await page.evaluate(() => window.pwned), undefined, `${where}: a script ran`);
  assert.deepEqual(await page.evaluate(() => window.policyViolations), [], `${where}: something tried`);
  assert.equal(await page.locator('[data-xss], main iframe, main script, main img[src="x"], main a[href^="javascript:"], main a[href*="evil.test"]').count(), 0, `${where}: text became elements`);
  assert.doesNotMatch(await page.title(), /pwned/, `${where}: the title`);
}

test('commit messages, reasons and descriptions are text', { timeout: 300_000 }, async (t) => {
  const context = await newContext();
  await watchPolicy(context);
  const page = await logIn(context);
  await act({ do: 'commit', repo: 'fleet', message: `${corpus[0]}${sequences[0]} first line\n\n${corpus.join('\n')}`, files: { 'apps/web/note.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\n  annotations:\n    note: \'<img src=x onerror="window.pwned=9">\'\n' } });
  await axle('repositories', 'refresh', 'fleet').catch(() => {});
  // What a terminal would obey is refused where a person gives a reason.
  for (const sequence of sequences) await assert.rejects(axle('services', 'pause', 'prod-eu/api', '--reason', `a ${sequence}`), `${JSON.stringify(sequence)} is taken`);
  for (let n = 0; n < corpus.length; n++) {
    await axle('services', 'pause', 'prod-eu/api', '--reason', `x${n} ${corpus[n]}`);
    await axle('services', 'resume', 'prod-eu/api');
    await axle('projects', 'create', `xss-${n}`, '--description', corpus[n]).catch(() => {});
  }
  await open(page, '/services/prod-eu/web');
  await page.getByText('first line').first().waitFor();
  for (const path of ['/services/prod-eu/web', '/services/prod-eu/web?tab=revisions', '/services/prod-eu/api?tab=events', '/services', '/', '/activity', '/audit', '/settings/projects', '/repositories/fleet']) {
    await t.test(path, async () => {
      await follow(page, path);
      await harmless(page, path);
    });
  }
  await t.test('what is shown is what was written', async () => {
    await follow(page, '/settings/projects');
    assert.match(await page.locator('main').innerText(), /<img src=x onerror="window\.pwned=1">/);
  });
  await t.test('the palette', async () => {
    await page.keyboard.press('Control+k');
    for (const text of corpus) {
      await page.getByRole('dialog').getByRole('searchbox').or(page.getByRole('dialog').locator('input')).first().fill(text);
      await settled(page);
      await harmless(page, 'palette');
    }
    await page.keyboard.press('Escape');
  });
  await t.test('addresses', async () => {
    for (const [n, text] of corpus.entries()) {
      const to = n === 0 ? open : follow;
      for (const path of [`/services?q=${encodeURIComponent(text)}`, `/services/${encodeURIComponent(text)}/x`, `/clusters/${encodeURIComponent(text)}`, `/search?q=${encodeURIComponent(text)}`, `/services?peek=${encodeURIComponent(text)}`]) {
        await to(page, path);
        assert.equal(await page.evaluate(() => window.pwned), undefined, path);
        assert.deepEqual(await page.evaluate(() => window.policyViolations), [], path);
      }
    }
  });
  await context.close();
});

const elsewhere = ['https://evil.test/', '//evil.test/', '/\\evil.test/', '\\\\evil.test', '/%09/evil.test', '/\t/evil.test', '/%2f/evil.test', 'javascript:alert(1)', 'data:text/html,x', 'http:evil.test', '/login/../..//evil.test', '///evil.test', '@evil.test', 'https:/evil.test', `${stack.url}.evil.test/`, `${stack.url}@evil.test/`];

test('next leads to this hub alone', { timeout: 300_000 }, async (t) => {
  const context = await newContext();
  const left = [];
  await context.route((url) => url.origin !== new URL(stack.url).origin, (route) => {
    left.push(route.request().url());
    return route.abort();
  });
  const page = await context.newPage();
  for (const next of elsewhere) {
    await t.test(JSON.stringify(next), async () => {
      await page.goto(`/login?next=${encodeURIComponent(next)}`);
      // Where the browser itself would go from there.
      const to = await page.locator('form[action="/login"] input[name=next]').evaluate((one) => new URL(one.value, location.href).href);
      assert.equal(new URL(to).origin, new URL(stack.url).origin, to);
    });
  }
  // The hub reads the form again, so a form that a person did not get from it leads nowhere else either.
  const account = { email: stack.people.viewer, password: stack.password };
  for (const next of elsewhere) {
    await t.test(`${JSON.stringify(next)}, with the login`, async () => {
      await context.clearCookies();
      const [, csrf] = /name="csrf" value="([^"]+)"/.exec(await (await context.request.get('/login')).text());
      const answer = await context.request.post('/login', { form: { csrf, next, ...account }, maxRedirects: 0 });
      assert.equal(answer.status(), 303, await answer.text());
      const to = new URL(answer.headers().location, `${stack.url}/login`); // as a browser reads it
      assert.equal(to.origin, new URL(stack.url).origin, to.href);
    });
  }
  await t.test('and the browser stays', async () => {
    await context.clearCookies();
    await page.goto('/login');
    await page.locator('form[action="/login"] input[name=next]').evaluate((one) => (one.value = '/\\evil.test/'));
    await page.fill('#email', account.email);
    await page.fill('#password', account.password);
    await page.click('form[action="/login"] button');
    await page.waitForURL((url) => url.origin === new URL(stack.url).origin && !url.pathname.startsWith('/login'));
    await page.locator('h1').first().waitFor();
  });
  assert.deepEqual(left, []);
  await context.close();
});

test('next keeps an address of this hub, with its filters', async () => {
  const context = await newContext();
  const page = await logIn(context, stack.people.viewer, '/services?verdict=Healthy&q=web*&sort=-name#x');
  await eventually(async () => assert.equal(page.url(), `${stack.url}/services?verdict=Healthy&q=web*&sort=-name#x`));
  await context.close();
});

test('a secret that the hub has is nowhere in the browser', { timeout: 300_000 }, async () => {
  const canary = `canary-${'7f3a9c'.repeat(4)}-${process.pid}`;
  await act({ do: 'axle', args: ['services', 'config', 'set', 'prod-eu/web', 'user=kim', '--secret', 'password=-'], in: canary });
  await act({ do: 'axle', args: ['contexts', 'create', 'canary', '--project', 'default', '--secret', 'token=-'], in: canary });
  const context = await newContext();
  const page = await logIn(context);
  const bodies = [];
  page.on('response', (r) => bodies.push(r.text().catch(() => '')));
  await open(page, '/services/prod-eu/web'); // with all that is loaded at start
  for (const path of ['/services/prod-eu/web', '/services/prod-eu/web?tab=config', '/services/prod-eu/web?tab=diff', '/services/prod-eu/web?tab=events', '/services/prod-eu/web?tab=revisions', '/settings/contexts', '/audit', '/activity', '/repositories/fleet']) {
    await follow(page, path);
    assert.ok(!(await page.content()).includes(canary), `${path}: in the document`);
    assert.ok(!page.url().includes(canary), `${path}: in the address`);
  }
  await follow(page, '/services/prod-eu/web?tab=config');
  await page.getByText('password').first().waitFor(); // its name is shown
  assert.ok(!(await Promise.all(bodies)).some((body) => body.includes(canary)), 'an answer has it');
  const kept = await page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, await indexedDB.databases(), await caches.keys().catch(() => [])]));
  assert.ok(!kept.includes(canary), 'it is stored');
  const cdp = await context.newCDPSession(page);
  let heap = '';
  cdp.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => (heap += chunk));
  await cdp.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  assert.ok(heap.length > 1_000_000, 'no snapshot');
  assert.ok(heap.includes('password'), 'the snapshot has no strings of the page');
  assert.ok(!heap.includes(canary), 'it is in memory');
  await context.close();
});
