import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parts } from './licences'

test('each part is named with the version and licence of the installed package', () => {
  expect(parts.length).toBeGreaterThan(10)
  for (const { name, version, licence } of parts) {
    const installed = JSON.parse(readFileSync(join(process.cwd(), 'node_modules', name, 'package.json'), 'utf8')) as { version: string; license: string }
    expect([name, version, licence]).toEqual([name, installed.version, installed.license.replace(/[()]/g, '')])
    expect(installed.license).not.toMatch(/GPL/)
  }
})
