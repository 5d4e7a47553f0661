// From the address that a new hub prints to a login through an OpenID Connect
// provider: at most eight fields, and the hub is not restarted.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fillIn, name, signIn } from '../lib/provider.mjs';
import { findings } from '../lib/pages.mjs';
import { shot } from '../lib/shot.mjs';
import { closeBrowser, eventually, listen, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

const maxFields = 8;

test('setup, first administrator, login provider', async () => {
  const context = await newContext();
  const page = listen(await context.newPage());
  let fields = 0;
  const fill = async (where, label, text) => {
    await where.getByLabel(label, { exact: true }).fill(text);
    fields++;
  };

  await page.goto(stack.setup);
  await shot(page, 'a1-setup');
  await fill(page, 'E-mail', stack.email);
  await fill(page, 'Password', stack.password);
  await fill(page, 'Password again', stack.password);
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.waitForURL((url) => !url.pathname.startsWith('/setup'));
  await page.goto('/settings/auth');
  await page.getByRole('heading', { name: 'Login providers' }).waitFor();
  await shot(page, 'a1-providers');

  await page.getByRole('button', { name: 'Add a provider' }).click();
  const dialog = page.getByRole('dialog');
  await fill(dialog, 'Name', name);
  await fill(dialog, 'Issuer', stack.oidc.issuer);
  await fill(dialog, 'Client id', stack.oidc.client);
  await fill(dialog, 'Client secret', stack.oidc.secret);
  await shot(page, 'a1-provider');

  // A login is tried before the provider is saved: its claims are shown, and nobody is logged in.
  await dialog.getByRole('button', { name: 'Try the login' }).click();
  assert.equal(await page.getByRole('region', { name: 'Callback URL of the trial' }).innerText(), `${stack.url}/login/callback/${name}`);
  const opened = context.waitForEvent('page');
  await dialog.getByRole('link', { name: 'Log in there, in a new tab' }).click();
  const trial = listen(await opened);
  await fillIn(trial);
  await trial.getByRole('heading', { name: `Trial of ${name}` }).waitFor();
  await trial.getByText(`It works. A login with this account would create the user ${stack.oidc.email}`).waitFor();
  assert.deepEqual(await findings(trial), []);
  assert.match(await trial.getByRole('main').innerText(), /email_verified\s+true/);
  await shot(trial, 'a1-trial');
  await trial.close();
  await shot(page, 'a1-tried');
  const other = await newContext();
  const kim = listen(await other.newPage());
  await kim.goto('/login');
  await kim.locator('#email').waitFor();
  assert.equal(await kim.getByRole('link', { name: `Continue with ${name}` }).count(), 0, 'the trial saved the provider');

  await dialog.getByRole('button', { name: 'Add the provider' }).click();
  const callback = page.getByRole('region', { name: 'Callback URL', exact: true }); // that of the trial is another
  assert.equal(await callback.innerText(), `${stack.url}/login/callback/${name}`);
  await shot(page, 'a1-added');
  assert.ok(fields <= maxFields, `${fields} fields were filled; at most ${maxFields}`);

  // The hub keeps the list of providers for 2 s.
  await eventually(async () => {
    await kim.goto('/clusters');
    await kim.getByRole('link', { name: `Continue with ${name}` }).waitFor({ timeout: 1000 });
  });
  await shot(kim, 'a1-login');
  await kim.getByRole('link', { name: `Continue with ${name}` }).click();
  await signIn(kim);
  assert.equal(kim.url(), `${stack.url}/clusters`);
  await kim.getByRole('heading', { level: 1 }).waitFor();
  await shot(kim, 'a1-in');
  await context.close();
  await other.close();
});
