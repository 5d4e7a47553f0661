// A link to a filtered list leads there, whatever login comes between; a link to
// elsewhere leads nowhere.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { enter } from '../lib/keyboard.mjs';
import { addProvider, name, signIn } from '../lib/provider.mjs';
import { shot } from '../lib/shot.mjs';
import { closeBrowser, listen, logIn, newContext, stack } from '../lib/stack.mjs';

before(addProvider);
after(closeBrowser);

const deep = '/services?verdict=Failed&verdict=Drifted&repository=fleet&q=talker&sort=-name';

test('a deep link survives the login at the provider, with the keyboard alone', async () => {
  const context = await newContext();
  const page = listen(await context.newPage());
  // The address as the console itself writes it, once somebody is in.
  const known = await logIn(await newContext(), stack.email, deep);
  await known.getByRole('heading', { level: 1 }).waitFor();
  const wanted = known.url();
  assert.match(wanted, /verdict=/);
  assert.match(wanted, /repository=fleet/);
  await known.context().close();

  await page.goto(wanted);
  await page.waitForURL(/\/login\?next=/);
  await shot(page, 'a2-login');
  await enter(page, page.getByRole('link', { name: `Continue with ${name}` }));
  await signIn(page);
  await page.getByRole('heading', { level: 1 }).waitFor();
  assert.equal(page.url(), wanted);
  await shot(page, 'a2-back');
  await context.close();
});

// Where a hostile link wants the person to be after the login.
const foreign = [
  'https://evil.example/',
  '//evil.example/',
  '///evil.example/',
  '/\\evil.example/',
  '\\\\evil.example/',
  '/\t/evil.example/',
  '/\n/evil.example/',
  ' //evil.example/',
  'http:evil.example',
  'javascript:alert(1)',
  'data:text/html,evil',
  '/%5cevil.example/',
  '/%2f/evil.example/',
  'evil.example',
  '/logout',
  '/login/callback/sso?code=1&state=2',
  `/${'a'.repeat(4000)}`,
];

test('a foreign address is no place to return to', async (t) => {
  const context = await newContext();
  const page = listen(await context.newPage());
  const member = await newContext();
  await logIn(member);
  for (const next of foreign) {
    await t.test(JSON.stringify(next).slice(0, 60), async () => {
      const address = `/login?next=${encodeURIComponent(next)}`;
      await page.goto(address);
      assert.equal(await page.locator('form[action="/login"] input[name=next]').getAttribute('value'), '/');
      const link = await page.getByRole('link', { name: `Continue with ${name}` }).getAttribute('href');
      assert.equal(new URL(link, stack.url).searchParams.get('next') ?? '/', '/');
      // Who is logged in is sent on at once.
      const { location } = (await member.request.get(address, { maxRedirects: 0 })).headers();
      assert.equal(new URL(location, stack.url).href, `${stack.url}/`);
    });
  }
  await page.goto(`/login/oidc/${name}?next=${encodeURIComponent('//evil.example/')}`);
  await signIn(page);
  assert.equal(page.url(), `${stack.url}/`);
  await context.close();
  await member.close();
});
