import { pageAt } from '#/app/page'

export const fleetRoutes = [pageAt('/', () => import('./FleetPage'))]
