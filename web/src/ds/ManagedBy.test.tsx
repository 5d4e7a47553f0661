import { readFileSync } from 'node:fs'
import { create } from '@bufbuild/protobuf'
import { render, screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { ManagedBy } from './ManagedBy'
import { ManagerSchema } from '#/api/gen/hub/v1/hub_pb'

const path = `terraform/environments/${'production/'.repeat(20)}main.tf`

// jsdom has no layout: what keeps a text on one line is asked of the sheet that it has.
test('a long path stays on one line, and all of it is the title', () => {
  const { container } = render(<ManagedBy manager={create(ManagerSchema, { tool: 'terraform', id: path })} prefix />)
  const text = screen.getByText(`Managed by Terraform: ${path}`)
  expect(text.closest('[title]')?.getAttribute('title')).toContain(`Terraform: ${path}.`)
  document.head.append(Object.assign(document.createElement('style'), { textContent: readFileSync('src/ds/Text.module.css', 'utf8') }))
  const style = getComputedStyle(text)
  expect([style.whiteSpace, style.overflow, style.textOverflow, style.minWidth]).toEqual(['nowrap', 'hidden', 'ellipsis', '0px'])
  expect(getComputedStyle(container.firstElementChild!).maxWidth).toBe('100%')
})

test('of an operator, the kind and the name are shown, not its raw path', () => {
  render(<ManagedBy manager={create(ManagerSchema, { tool: 'operator', id: 'mgmt/ServiceDeployment.deployments.plural.sh/infra/web' })} />)
  expect(screen.getByText('the operator: ServiceDeployment infra/web')).toBeTruthy()
})
