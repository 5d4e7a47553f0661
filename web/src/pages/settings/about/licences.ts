import { dependencies } from '../../../../package.json'

// What the console's program contains, with the licences of the packages. A test
// compares them with the installed packages.
const licences: Record<string, string> = {
  '@bufbuild/protobuf': 'Apache-2.0 AND BSD-3-Clause',
  '@connectrpc/connect': 'Apache-2.0',
  '@connectrpc/connect-web': 'Apache-2.0',
  '@fontsource-variable/inter': 'OFL-1.1',
  '@fontsource-variable/jetbrains-mono': 'OFL-1.1',
  'lucide-react': 'ISC',
  'react-aria-components': 'Apache-2.0',
  yaml: 'ISC',
}

export interface Part {
  name: string
  version: string
  licence: string
}

export const parts: Part[] = Object.entries(dependencies).map(([name, version]) => ({ name, version, licence: licences[name] ?? 'MIT' }))
