// Writes src/api/gen from api/hub/v1/*.proto, when a proto is newer than it.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const web = resolve(import.meta.dirname, '..')
const root = resolve(web, '..')
const protos = join(root, 'api/hub/v1')
const stamp = join(web, 'src/api/gen/.from')

const hash = createHash('sha256')
for (const file of [join(web, 'package-lock.json'), join(web, 'buf.gen.es.yaml')]) hash.update(readFileSync(file))
for (const name of readdirSync(protos).filter((n) => n.endsWith('.proto')).toSorted()) {
  hash.update(name).update(readFileSync(join(protos, name)))
}
const from = hash.digest('hex')
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== from) {
  execFileSync('web/node_modules/.bin/buf', ['generate', '--template', 'web/buf.gen.es.yaml'], { cwd: root, stdio: 'inherit' })
  writeFileSync(stamp, from)
}
