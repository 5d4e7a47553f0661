import { pageAt } from '#/app/page'

export const activityRoutes = [pageAt('/activity', () => import('./Page'))]
