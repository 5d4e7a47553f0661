import { createRoute, createRouter } from '@tanstack/react-router'
import { NotFound } from './NotFound'
import { PageError } from './PageError'
import { rootRoute, shellRoute } from './root'
import { parseSearch, stringifySearch } from './search'
import { activityRoutes } from '#/pages/activity/route'
import { auditRoutes } from '#/pages/audit/route'
import { clusterRoutes } from '#/pages/clusters/route'
import { fleetRoutes } from '#/pages/fleet/route'
import { galleryRoutes } from '#/gallery/route'
import { notificationRoutes } from '#/pages/notifications/route'
import { repositoryRoutes } from '#/pages/repositories/route'
import { rolloutRoutes } from '#/pages/rollouts/route'
import { serviceRoutes } from '#/pages/services/route'
import { settingsRoutes } from '#/pages/settings/route'

// Inside the shell, so that a mistyped address still has the navigation.
const nowhere = createRoute({ getParentRoute: () => shellRoute, path: '/$', component: NotFound })

const routeTree = rootRoute.addChildren([
  shellRoute.addChildren([...fleetRoutes, ...clusterRoutes, ...serviceRoutes, ...rolloutRoutes, ...repositoryRoutes, ...activityRoutes, ...auditRoutes, ...notificationRoutes, ...settingsRoutes, ...galleryRoutes, nowhere]),
])

export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: PageError,
  scrollRestoration: true,
  scrollToTopSelectors: ['#main'],
})
