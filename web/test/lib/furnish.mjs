// One of everything that people make, for the tests and the pictures of what it looks
// like: a fleet that was just filled has none of it.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { act, eventually, hub, kubectl, logIn, newContext, stack } from './stack.mjs';
import { shell } from './shell.mjs';

const hour = '3600000000';
const apps = (folder) => ({ repository: 'fleet', git: { ref: 'main', folder } });

/** A global service whose change is at its first wave, or stopped there because the cluster was not well in time. */
async function rollout(name, first, next, phase) {
  const { clusters } = await hub('Clusters/List');
  // Other tests leave clusters behind that have no agent or a silent one.
  const alive = (c) => c.registered && c.freshness === 'Fresh';
  const ignoreClusters = clusters.filter((c) => !alive(c)).map((c) => c.handle ?? c.name);
  const settings = { ignoreClusters, rollout: { waves: ['1', '100%'], soakMicros: hour, failAfterMicros: phase === 'Stopped' ? '1000000' : hour }, cascade: 'delete' };
  await hub('GlobalServices/Apply', { name, settings, spec: apps(first) });
  await eventually(async () => assert.equal((await hub('GlobalServices/Get', { name })).state?.services, clusters.filter(alive).length));
  for (const { name: cluster } of clusters.filter(alive)) {
    const ref = { cluster, name };
    await eventually(async () => assert.equal((await hub('Services/Get', { ref })).sync, 'Synced'));
  }
  await hub('GlobalServices/Apply', { name, settings, spec: apps(next) });
  await eventually(async () => {
    const r = await hub('GlobalServices/GetRollout', { name });
    assert.equal(r.phase, phase);
    if (phase === 'Progressing') assert.equal(r.states?.Good, 1);
  });
}

/** Starts an operation and waits until it ended; returns its id. */
async function operation(action, serviceIds, reason, state) {
  const { id } = await hub('Operations/Start', { action, serviceIds, reason });
  await eventually(async () => assert.equal((await hub('Operations/Get', { id })).state, state));
  return id;
}

/** Registers the template of ours that needs no cloud; the cluster prod-eu makes its clusters. */
export async function registerTemplate() {
  const folder = 'clusters/docker';
  const files = {};
  for (const name of readdirSync(`../deploy/${folder}`, { recursive: true })) {
    if (/\.\w+$/.test(name)) files[`${folder}/${name}`] = readFileSync(`../deploy/${folder}/${name}`, 'utf8');
  }
  await act({ do: 'commit', repo: 'fleet', message: 'our cluster template', files });
  const kinds = [...files[`${folder}/template.yaml`].matchAll(/^- ([A-Z]\w+\.[a-z0-9.-]+)$/gm)].map(([, kind]) => kind);
  const settings = { repository: 'fleet', ref: 'main', folder, kinds, managementClusters: ['prod-eu'], description: 'Clusters of containers, to try Cluster API.' };
  await hub('ClusterTemplates/Apply', { name: 'docker', settings });
}

/** Reports the state of a cluster from a template, as the agent of prod-eu would. */
export async function reportChild(name, state) {
  const { origin } = await hub('Clusters/Get', { name });
  // The agent knows the service once it has polled.
  await eventually(() => act({ do: 'child', cluster: 'prod-eu', what: origin.service, state }));
}

const ago = (seconds) => String((Date.now() - seconds * 1000) * 1000);

/** How a cluster is that has its control plane, and half of its machines. */
export const halfMade = () => ({
  phase: 'Provisioning',
  message: 'the API server does not answer yet',
  controlPlane: { desired: 3, ready: 1, upToDate: 3, versions: ['v1.36.4'] },
  pools: [
    { name: 'default', phase: 'Running', desired: 1, ready: 1, upToDate: 1, versions: ['v1.36.4'] },
    { name: 'large', phase: 'ScalingUp', desired: 5, ready: 2, upToDate: 4, versions: ['v1.35.8', 'v1.36.4'] },
  ],
  machines: [
    { name: 'shop-1-large-7x2kq', uid: 'u-1', pool: 'large', phase: 'Provisioning', version: 'v1.36.4', message: 'the bootstrap data is not ready', createdAt: ago(60) },
    { name: 'shop-1-default-b9w4d', uid: 'u-2', pool: 'default', phase: 'Running', node: 'shop-1-default-b9w4d', version: 'v1.36.4', createdAt: ago(130) },
  ],
  conditions: [
    { type: 'Available', status: 'False', reason: 'NotAvailable', message: 'Control plane: 1 of 3 machines is ready', since: ago(190) },
    { type: 'InfrastructureReady', status: 'True', reason: 'Ready', since: ago(200) },
    { type: 'ControlPlaneInitialized', status: 'True', reason: 'Initialized', since: ago(130) },
    { type: 'ScalingUp', status: 'True', reason: 'ScalingUp', message: 'MachineDeployment large: 2 of 5 replicas', since: ago(60) },
    { type: 'Paused', status: 'False', reason: 'NotPaused', since: ago(210) },
    { type: 'RemoteConnectionProbe', status: 'Unknown', reason: 'ProbePending', since: ago(15) },
  ],
});

/** Somebody logs in to an application; returns the addresses of the pages that people see in sign-ins. */
async function signIns() {
  const settings = { project: 'default', redirectUris: ['http://127.0.0.1/callback'] };
  const secret = 'a secret of the former provider';
  await hub('Applications/Apply', { name: 'tracker', settings: { ...settings, title: 'Issue tracker', clientId: 'tracker', clientSecret: secret, users: [stack.email] } });
  await hub('Applications/Apply', { name: 'payroll', settings: { ...settings, title: 'Payroll', clientId: 'payroll', clientSecret: secret, groups: ['web-team'] } });
  const wiki = await hub('Applications/Get', { name: 'wiki' });
  const asked = (id) => `/oidc/authorize?${new URLSearchParams({ client_id: id, redirect_uri: settings.redirectUris[0], response_type: 'code', scope: 'openid profile email groups offline_access', state: 'of-the-application' })}`;
  const ask = async (path, form) => {
    const response = await fetch(`${stack.url}/oidc${path}`, { method: 'POST', headers: { authorization: `Basic ${btoa(`tracker:${encodeURIComponent(secret)}`)}` }, body: new URLSearchParams(form) });
    assert.equal(response.status, 200, await response.clone().text());
    return response.json();
  };
  const context = await newContext();
  const page = await logIn(context);
  await page.goto(asked('tracker'));
  const back = page.waitForRequest((r) => r.url().startsWith(settings.redirectUris[0])); // where nobody listens
  await page.click('button[value=allow]', { noWaitAfter: true });
  const code = new URL((await back).url()).searchParams.get('code');
  await ask('/token', { grant_type: 'authorization_code', code, redirect_uri: settings.redirectUris[0] });
  await context.close();
  const { user_code: typed } = await ask('/device', { scope: 'openid email' });
  return [
    { path: asked(wiki.id), as: '/oidc/consent' },
    { path: asked('payroll'), as: '/oidc/refused' },
    { path: asked('nobody'), as: '/oidc/error' },
    { path: '/oidc/device', as: '/oidc/device' },
    { path: `/oidc/device?user_code=${typed}`, as: '/oidc/device/consent' },
    { path: '/oidc/try?client_id=tracker', as: '/oidc/try' },
  ];
}

/** Furnishes the profile small; returns the ids that addresses need. */
export async function furnishSmall() {
  await hub('Projects/Create', { name: 'shop', description: 'What customers see', limits: { namespaces: ['shop-*'] } });
  await hub('Groups/Create', { name: 'web-team', description: 'Who looks after the shop' });
  await hub('Groups/AddMember', { group: 'web-team', user: stack.people.writer });
  await hub('Contexts/Create', { context: { name: 'region-eu', project: 'default', values: '{"region":"eu","replicas":3}', secrets: { apiKey: 'hush' } } });
  await hub('ServiceAccounts/Create', { name: 'ci' });
  await hub('ServiceAccounts/CreateToken', { account: 'ci', name: 'pipeline of fleet', scopes: ['write'], lifetimeMicros: hour });
  await hub('Federation/Create', { name: 'github-fleet', issuer: 'https://token.actions.githubusercontent.com', audience: stack.url, claims: { repository: 'acme/fleet', ref: 'refs/heads/main' }, account: 'ci', scopes: ['write'] });
  await hub('Providers/Create', { provider: { name: 'okta', title: 'Okta', issuer: 'https://acme.okta.com', clientId: '0oa1b2c3', groupsClaim: 'groups', groups: { web: 'web-team' }, emailDomains: ['acme.example'] }, clientSecret: 'hush' });
  await hub('Webhooks/Create', { name: 'fleet', provider: 'github', repository: 'fleet' });
  await hub('Applications/Apply', { name: 'wiki', settings: { project: 'default', title: 'Wiki', redirectUris: ['http://127.0.0.1/callback'], groups: ['web-team'], users: [stack.email] } });
  await hub('NotificationSinks/Apply', { name: 'console', settings: { type: 'PLURAL', users: [stack.email] } });
  await hub('NotificationRouters/Apply', { name: 'changes', settings: { events: ['service.update', 'rollout.failed'], sinks: ['console'] } });
  await hub('Tokens/CreateBootstrap', { namePattern: 'edge-*', maxUses: 50, allowedTags: { tier: 'edge' } });
  await hub('ManagedNamespaces/Apply', { name: 'monitoring', settings: { description: 'Metrics and logs', labels: { team: 'platform' }, pullSecrets: ['registry'], tags: { tier: 'prod' } } });
  await hub('Hub/SetSyncWindows', { syncWindows: [{ kind: 'deny', schedule: '0 0 24 12 *', duration: '72h', timeZone: 'Europe/Berlin', manualSync: true }] });
  const { services } = await hub('Services/List', { pageSize: 500 });
  const ids = services.map((s) => s.id);
  const finished = await operation('sync', ids, 'after the certificates were renewed', 'Done');
  const ref = { cluster: 'staging', name: 'cache' };
  await hub('Services/Pause', { ref, reason: 'its volume is moved' });
  const failed = await operation('sync', ids, 'once more', 'Failed');
  await hub('Services/Resume', { ref });
  await rollout('log-shipper', 'apps/cache', 'apps/worker', 'Progressing');
  await rollout('reports', 'apps/cache', 'apps/nowhere', 'Stopped');
  await registerTemplate();
  await hub('Clusters/Create', { name: 'shop-1', tags: { tier: 'prod' }, fromTemplate: { template: 'docker', variables: JSON.stringify({ controlPlaneCount: 3 }) } });
  await reportChild('shop-1', halfMade());
  return { finished, failed, signIns: await signIns() };
}

/** Furnishes the cluster edge-1 of the profile real; returns the name of a pod and of a node. */
export async function furnishReal() {
  const text = `apiVersion: v1
kind: Secret
metadata: {name: login, namespace: talker}
stringData: {username: talker, password: only-the-cluster-knows}
---
apiVersion: v1
kind: Pod
metadata: {name: toolbox, namespace: talker}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - {name: sh, image: "axle.test/sh:1", args: ["-c", "while true; do echo at work; sleep 1; done"]}
`;
  const { code, said } = await shell('edge-1', `kubectl apply -f - <<'END'\n${text}\nEND`);
  assert.equal(code, 0, said);
  await kubectl('edge-1', '--namespace', 'talker', 'wait', '--for=condition=Ready', 'pod/toolbox', '--timeout=60s');
  return { node: (await kubectl('edge-1', 'get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}')).trim() };
}

/** Begins an upgrade of the agents to a version whose image nobody has: it waits at the first cluster. */
export async function upgradeReal() {
  await hub('Agents/StartUpgrade', { version: '99.0.0', waves: ['1', '100%'], soakMicros: hour });
  await eventually(async () => assert.equal((await hub('Agents/UpgradeStatus')).targets?.filter((t) => t.state === 'Placed').length, 1));
}
