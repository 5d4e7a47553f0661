// The OpenID Connect provider of the stack, and its account.
import { axle, act, stack } from './stack.mjs';

/** The name that the provider has at the hub; its client may return to this one's callback. */
export const name = 'sso';

/** Adds the provider with the command line, unless it is there. */
export async function addProvider() {
  if ((await axle('providers', 'list', '-o', 'json')).includes(`"${name}"`)) return;
  await act({ do: 'axle', args: ['providers', 'create', name, '--issuer', stack.oidc.issuer, '--client-id', stack.oidc.client, '--client-secret-file', '-', '--scope', 'email,profile'], in: stack.oidc.secret });
}

/** Signs in at the provider's own page, by keyboard, and waits until the hub has the person logged in. */
export async function signIn(page) {
  await fillIn(page);
  await page.waitForURL((url) => url.href.startsWith(stack.url) && !url.pathname.startsWith('/login'));
}

/** Fills in the form of the provider's own page, by keyboard. */
export async function fillIn(page) {
  await page.waitForURL((url) => url.href.startsWith(stack.oidc.issuer));
  await page.locator('#name').focus();
  await page.keyboard.type(stack.oidc.user);
  await page.keyboard.press('Tab');
  await page.keyboard.type(stack.oidc.password);
  await page.keyboard.press('Enter');
}
