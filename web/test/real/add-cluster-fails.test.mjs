// The same command goes wrong: the page names the cause, as far as the hub can know
// it, and prints the command that shows the rest.
import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { mkdtempSync, readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { add, atNew, clipboard, command, forget, spare, step } from '../lib/enrolling.mjs';
import { copied, shell } from '../lib/shell.mjs';
import { shot } from '../lib/shot.mjs';
import { axle, closeBrowser, eventually, newContext, patience, stack } from '../lib/stack.mjs';

const name = 'edge-late';

beforeEach(() => forget(name));
after(() => forget(name));
after(closeBrowser);

// The page names likely causes after 30 s.
const causes = 30_000 + patience;

async function adding(act) {
  const context = await newContext(clipboard);
  const page = await atNew(context);
  await add(page, name);
  await act(page, await copied(page, command));
  await context.close();
}

async function apply(text) {
  const { code, said } = await shell(spare, text);
  assert.equal(code, 0, said);
}

// The command that the page prints to look at the agent's log says what the agent says.
async function agentSays(page, text) {
  const printed = await page.getByRole('region', { name: 'Command' }).filter({ hasText: 'logs deploy/axle-agent' }).first().innerText();
  await eventually(async () => {
    const { said } = await shell(spare, printed);
    assert.match(said, text);
  });
}

test('a token that somebody revoked: the page says that there is none', async () => {
  await adding(async (page) => {
    const tokens = JSON.parse(await axle('tokens', 'list', '-o', 'json'));
    await axle('tokens', 'revoke', tokens.find((one) => one.namePattern === name).id, '--yes');
    const token = step(page, 'Token created');
    await token.getByText('there is no token for this cluster any more').waitFor({ timeout: causes });
    assert.match(await token.innerText(), /--renew-token/);
    await shot(page, 'a4-revoked');
  });
});

test('a hub that the cluster does not reach: likely causes after 30 s, each with its command', async () => {
  await adding(async (page, printed) => {
    // Nothing listens there, as behind a firewall that rejects.
    await apply(printed.replaceAll(stack.url, 'http://127.0.0.1:9'));
    const contact = step(page, 'The agent has contacted the hub');
    await contact.getByText(/does not find or reach .* \(DNS, a firewall, a proxy\)/).waitFor({ timeout: causes });
    assert.match(await contact.innerText(), new RegExp(`no agent has called ${stack.url}`));
    await shot(page, 'a4-blocked');
    await agentSays(page, /connection refused/);
  });
});

test('a certificate of another authority: likely causes name it, and the agent says so', async () => {
  const files = mkdtempSync(join(tmpdir(), 'axle-ca-'));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', join(files, 'key'), '-out', join(files, 'cert')], { stdio: 'ignore' });
  const server = createServer({ key: readFileSync(join(files, 'key')), cert: readFileSync(join(files, 'cert')) });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await adding(async (page, printed) => {
      await apply(printed.replaceAll(stack.url, `https://127.0.0.1:${server.address().port}`));
      const contact = step(page, 'The agent has contacted the hub');
      await contact.getByText(/does not trust the hub's certificate \(CA\)/).waitFor({ timeout: causes });
      await shot(page, 'a4-ca');
      await agentSays(page, /certificate signed by unknown authority|x509/);
    });
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
