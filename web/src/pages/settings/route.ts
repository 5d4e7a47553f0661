import { pageAt } from '#/app/page'

export const settingsRoutes = [pageAt('/settings', () => import('./Page'))]
