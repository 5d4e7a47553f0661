import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { shellRoute } from '#/app/root'

// The frame with the sections beside the page.
const layout = createRoute({ getParentRoute: () => shellRoute, path: '/settings', component: lazyRouteComponent(() => import('./Layout'), 'Page') })

function at<const Path extends string>(path: Path, load: () => Promise<{ Page: () => React.ReactNode }>) {
  return createRoute({ getParentRoute: () => layout, path, component: lazyRouteComponent(load, 'Page') })
}

const first = createRoute({
  getParentRoute: () => layout,
  path: '/',
  beforeLoad: () => {
    // oxlint-disable-next-line typescript/only-throw-error -- the router's own way
    throw redirect({ to: '/settings/profile', replace: true })
  },
})

export const settingsRoutes = [
  layout.addChildren([
    first,
    at('/profile', () => import('./profile/Page')),
    at('/tokens', () => import('./tokens/Page')),
    at('/users', () => import('./users/Page')),
    at('/groups', () => import('./groups/Page')),
    at('/service-accounts', () => import('./accounts/Page')),
    at('/roles', () => import('./roles/Page')),
    at('/auth', () => import('./auth/Page')),
    at('/applications', () => import('./applications/Page')),
    at('/notifications', () => import('./notifications/Page')),
    at('/webhooks', () => import('./webhooks/Page')),
    at('/projects', () => import('./projects/Page')),
    at('/contexts', () => import('./contexts/Page')),
    at('/hub', () => import('./hub/Page')),
    at('/about', () => import('./about/Page')),
  ]),
]
