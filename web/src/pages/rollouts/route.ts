import { pageAt } from '#/app/page'

export const rolloutRoutes = [pageAt('/rollouts', () => import('./Page')), pageAt('/rollouts/$name', () => import('./RolloutPage')), pageAt('/managed-namespaces/$name', () => import('./NamespacePage'))]
