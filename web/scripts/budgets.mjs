// The console's size limits in bytes. finish.mjs fails the build above them.
const kB = 1000

export const budgets = {
  firstViewJS: 210 * kB,
  chunk: 80 * kB,
  editorChunk: 130 * kB,
  terminalChunk: 90 * kB,
  allJS: 790 * kB,
  firstViewCSS: 25 * kB,
  firstViewFonts: 60 * kB,
}

// Pages that count as a first view: what they import, statically or at once.
export const firstViews = {
  '/': ['index.html', 'src/pages/fleet/FleetPage.tsx'],
  '/clusters': ['index.html', 'src/pages/clusters/ClustersPage.tsx'],
  '/services': ['index.html', 'src/pages/services/ServicesPage.tsx'],
}

// Libraries that no first view loads, each with a text that only its code has.
export const neverFirst = { uPlot: 'u-over', CodeMirror: 'cm-content', xterm: 'xterm-helper-textarea' }
