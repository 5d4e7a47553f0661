import { pageAt } from '#/app/page'

export const rolloutRoutes = [pageAt('/rollouts', () => import('./Page'))]
