import { pageAt } from '#/app/page'

export const repositoryRoutes = [pageAt('/repositories', () => import('./Page'))]
