import { pageAt } from '#/app/page'

export const notificationRoutes = [pageAt('/notifications', () => import('./Page'))]
