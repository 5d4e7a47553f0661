import { create } from '@bufbuild/protobuf'
import { render, screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { AccountNote } from './AccountNote'
import { ProjectSchema } from '#/api/gen/hub/v1/hub_pb'

// What axle clusters create notes (cli/command/project.go).
test('a project whose services have no account is noted, with the command', () => {
  render(<AccountNote project={create(ProjectSchema, { name: 'shop' })} />)
  expect(screen.getAllByRole('status')[0]!.textContent).toContain('nothing of them is applied without one')
  expect(screen.getByLabelText('Command that names a service account').textContent).toBe('axle projects update shop --service-account NAME --allow-account NAMESPACE/NAME')
})

test('one that has an account, or needs none, is not', () => {
  for (const project of [undefined, { name: 'default' }, { name: 'shop', limits: { serviceAccount: 'deployer' } }, { name: 'hub', administratorsOnly: true }]) {
    const { container, unmount } = render(<AccountNote project={project && create(ProjectSchema, project)} />)
    expect(container.textContent).toBe('')
    unmount()
  }
})
