import { pageAt } from '#/app/page'

// The gallery is for the development server and for the test of it, which builds the
// console in the mode gallery; what ships leaves it out.
export const galleryRoutes = import.meta.env.DEV || import.meta.env.MODE === 'gallery' ? [pageAt('/__gallery', () => import('./Gallery'))] : []
