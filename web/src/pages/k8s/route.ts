import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { clusterRoute } from '#/pages/clusters/clusterRoute'

const at = <const Path extends string>(path: Path, load: () => Promise<{ Page: () => React.ReactNode }>) => createRoute({ getParentRoute: () => clusterRoute, path, component: lazyRouteComponent(load, 'Page') })

const object = () => import('./object/ObjectPage')

export const k8sRoutes = [
  at('/workloads', () => import('./WorkloadsPage')),
  at('/nodes', () => import('./NodesPage')),
  at('/nodes/$node', () => import('./NodePage')),
  at('/logs', () => import('./logs/StorePage')),
  at('/k8s', () => import('./ExplorePage')),
  at('/k8s/$gvr', () => import('./list/ListPage')),
  at('/k8s/$gvr/$ns/$name', object),
  at('/k8s/$gvr/$ns/$name/$tab', object),
]
