// What waits for a person says what to do next, in the place where they meet it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { follow, settled } from '../lib/pages.mjs';
import { closeBrowser, eventually, logIn, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

test('a cluster that is not there yet says what comes next', { timeout: 120_000 }, async () => {
  const context = await newContext();
  const page = await logIn(context, stack.email, '/clusters/planned');
  await settled(page);
  await page.getByText('No agent has contacted the hub.').waitFor();
  await page.getByText('axle clusters connect planned').waitFor();
  await follow(page, '/clusters/new-site/services');
  await page.getByText('Waits for approval.').waitFor();
  await page.getByRole('link', { name: 'Look at it and approve' }).click();
  await eventually(() => assert.equal(new URL(page.url()).pathname, '/clusters/new-site/settings'));
  await page.getByRole('button', { name: 'Approve new-site' }).waitFor();
  assert.equal(await page.getByText('Waits for approval.').count(), 0, 'beside the button, it says nothing new');
  await follow(page, '/clusters/prod');
  assert.equal(await page.getByText(/Waits for approval|No agent has contacted/).count(), 0);
  await context.close();
});

test('the home page names what needs a person, in words and in the command', { timeout: 120_000 }, async () => {
  const context = await newContext();
  const page = await logIn(context);
  await settled(page);
  const needs = page.getByRole('region', { name: 'Needs you' });
  await needs.getByText(/^axle services get prod\/\S+ prod\/\S+ prod\/\S+$/).first().waitFor();
  await needs.getByText('axle clusters get lost').waitFor();
  // What is held failed too: the counts, the map, the list and this panel agree.
  const failed = Number(/([\d,]+) Failed/.exec(await page.locator('main header').first().innerText())[1]);
  await needs.getByRole('link', { name: `${failed} services failed.` }).waitFor();
  await needs.getByRole('link', { name: '3 of the failed services are held: a sync cannot be done safely.' }).waitFor();
  await page.getByRole('link', { name: new RegExp(`^prod: Failed, ${failed} of`) }).waitFor();
  await needs.getByText('axle clusters approve new-site').waitFor();
  await needs.getByText('axle repos get goes-away never-answered').waitFor();
  await context.close();
});
