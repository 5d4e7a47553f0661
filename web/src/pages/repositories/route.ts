import { pageAt } from '#/app/page'

export const repositoryRoutes = [pageAt('/repositories', () => import('./Page')), pageAt('/repositories/$name', () => import('./RepositoryPage'))]
