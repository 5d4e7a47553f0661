import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { clusterRoute } from './clusterRoute'
import { pageAt } from '#/app/page'
import { k8sRoutes } from '#/pages/k8s/route'

const overview = createRoute({ getParentRoute: () => clusterRoute, path: '/', component: lazyRouteComponent(() => import('./OverviewTab'), 'Page') })
const services = createRoute({ getParentRoute: () => clusterRoute, path: '/services', component: lazyRouteComponent(() => import('./ServicesTab'), 'Page') })
const readiness = createRoute({ getParentRoute: () => clusterRoute, path: '/readiness', component: lazyRouteComponent(() => import('./ReadinessTab'), 'Page') })
const metrics = createRoute({ getParentRoute: () => clusterRoute, path: '/metrics', component: lazyRouteComponent(() => import('#/pages/metrics/MetricsPage'), 'Page') })
const dashboard = createRoute({ getParentRoute: () => clusterRoute, path: '/dashboards/$ns/$name', component: lazyRouteComponent(() => import('#/pages/metrics/DashboardPage'), 'Page') })
const settings = createRoute({ getParentRoute: () => clusterRoute, path: '/settings', component: lazyRouteComponent(() => import('./SettingsTab'), 'Page') })

export const clusterRoutes = [pageAt('/clusters', () => import('./ClustersPage')), pageAt('/clusters/new', () => import('./AddClusterPage')), pageAt('/clusters/new/template', () => import('./template/CreatePage')), clusterRoute.addChildren([overview, services, readiness, metrics, dashboard, settings, ...k8sRoutes])]
