import { pageAt } from '#/app/page'

export const serviceRoutes = [pageAt('/services', () => import('./ServicesPage')), pageAt('/services/$cluster/$service', () => import('./ServicePage'))]
