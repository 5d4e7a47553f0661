// The routes of the console, by what they need.

/** Pages that exist whatever the hub holds, and say how the fleet is. */
export const ofFleet = ['/', '/clusters', '/clusters/new', '/clusters/new/template', '/services', '/repositories', '/rollouts', '/activity', '/notifications', '/audit'];

/** Pages that exist whatever the hub holds. */
export const always = [
  ...ofFleet,
  ...['profile', 'tokens', 'users', 'groups', 'service-accounts', 'roles', 'auth', 'notifications', 'applications', 'webhooks', 'projects', 'contexts', 'hub', 'about'].map((one) => `/settings/${one}`),
];

/** Pages of one cluster that are read from the hub. */
export const ofCluster = (name) => [`/clusters/${name}`, `/clusters/${name}/services`, `/clusters/${name}/settings`];

/** Pages of one cluster that are read through its tunnel. */
export const live = (name) => [`/clusters/${name}/workloads`, `/clusters/${name}/nodes`, `/clusters/${name}/k8s`, `/clusters/${name}/readiness`, `/clusters/${name}/metrics`, `/clusters/${name}/logs`];

/** Pages of one service. */
export const ofService = (cluster, name) => ['', '?view=graph', '?tab=diff', '?tab=revisions', '?tab=config', '?tab=metrics', '?tab=events'].map((tab) => `/services/${cluster}/${name}${tab}`);
