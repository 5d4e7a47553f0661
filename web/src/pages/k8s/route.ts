import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { clusterRoute } from '#/pages/clusters/clusterRoute'

const workloads = createRoute({ getParentRoute: () => clusterRoute, path: '/workloads', component: lazyRouteComponent(() => import('./Page'), 'Page') })
const nodes = createRoute({ getParentRoute: () => clusterRoute, path: '/nodes', component: lazyRouteComponent(() => import('./Page'), 'Page') })
const explore = createRoute({ getParentRoute: () => clusterRoute, path: '/k8s', component: lazyRouteComponent(() => import('./Page'), 'Page') })

export const k8sRoutes = [workloads, nodes, explore]
