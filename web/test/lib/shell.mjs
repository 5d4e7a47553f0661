// A terminal beside the browser: runs what a page printed, as it was printed.
import { spawn } from 'node:child_process';
import { eventually, stack } from './stack.mjs';

/** Runs a command verbatim in bash, with kubectl at a cluster; returns what it printed. */
export async function shell(cluster, command, within = 120_000) {
  const child = spawn('bash', ['-c', command], { env: { ...process.env, KUBECONFIG: stack.kubeconfigs[cluster] }, timeout: within });
  let said = '';
  child.stdout.on('data', (text) => (said += text));
  child.stderr.on('data', (text) => (said += text));
  child.stdin.end();
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  return { code, said };
}

/** Presses the Copy button of a command on the page, and returns the clipboard. */
export async function copied(page, region) {
  const command = page.getByRole('region', { name: region, exact: true });
  const shown = (await command.innerText()).split('\n');
  // A text that was copied before may begin in the same way.
  await page.evaluate(() => navigator.clipboard.writeText(''));
  await command.locator('..').getByRole('button', { name: 'Copy' }).click();
  // The copied text begins with the one on the page, and is in the clipboard some time after the click.
  const whole = shown.filter((line) => !line.startsWith('… ')).join('\n');
  return eventually(async () => {
    const text = await page.evaluate(() => navigator.clipboard.readText());
    if (!text.startsWith(whole.trimEnd())) throw new Error(`copied is\n${text.slice(0, 300)}\nbut shown is\n${whole}`);
    return text;
  });
}
