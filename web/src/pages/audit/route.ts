import { pageAt } from '#/app/page'

export const auditRoutes = [pageAt('/audit', () => import('./Page'))]
