import { pageAt } from '#/app/page'

export const activityRoutes = [pageAt('/activity', () => import('./Page')), pageAt('/operations/$id', () => import('./OperationPage'))]
