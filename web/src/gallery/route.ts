import { pageAt } from '#/app/page'

// The gallery is for the development server; builds leave it out.
export const galleryRoutes = import.meta.env.DEV ? [pageAt('/__gallery', () => import('./Gallery'))] : []
