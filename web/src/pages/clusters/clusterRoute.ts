import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { shellRoute } from '#/app/root'

// clusterRoute is the parent of a cluster's tabs: it has the header and the tab
// bar, and renders the tab below. Tabs get the cluster by useCluster().
export const clusterRoute = createRoute({ getParentRoute: () => shellRoute, path: '/clusters/$cluster', component: lazyRouteComponent(() => import('./ClusterLayout'), 'Page') })
