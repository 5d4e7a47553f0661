// Clusters that are added in a test, and how the page says how far they are.
import { axle, kubectl, logIn, patience, stack } from './stack.mjs';

/** The API server that is not connected. */
export const spare = 'edge-3';

/** Takes back what an earlier test added, at the hub and in the spare cluster. */
export async function forget(name) {
  if ((await axle('clusters', 'list', '-o', 'json')).includes(`"${name}"`)) await axle('clusters', 'delete', name, '--detach', '--yes');
  // It ends when its pods do. The stack ends a command after three minutes; kubectl says before that what it waited for.
  await kubectl(spare, 'delete', 'namespace', 'axle-system', '--ignore-not-found', '--wait=true', `--timeout=${(3 * patience) / 1000 - 10}s`);
}

/** Somebody at the page that adds a cluster. */
export const atNew = (context) => logIn(context, stack.email, '/clusters/new');

/** Names a new cluster on that page and leaves it at the printed command. */
export async function add(page, name) {
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByLabel('Tags', { exact: true }).fill('tier=edge');
  await page.getByRole('button', { name: 'Create it and show the command' }).click();
  await page.getByRole('region', { name: "kubectl command with the agent's manifests" }).waitFor();
}

/** A step of the checklist. */
export const step = (page, title) => page.getByRole('listitem').filter({ hasText: title }).first();

export const command = "kubectl command with the agent's manifests";

export const clipboard = { permissions: ['clipboard-read', 'clipboard-write'], baseURL: stack.url };
