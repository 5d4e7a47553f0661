// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { mountEditor } from './editor'

test('an editor keeps its styles out of style elements', () => {
  const host = document.createElement('div')
  document.body.append(host)
  const editor = mountEditor(host, { label: 'YAML', text: 'a: 1\n', readOnly: true })
  expect(document.querySelectorAll('style')).toHaveLength(0)
  expect(host.shadowRoot?.querySelector('[aria-label="YAML"]')).not.toBeNull()
  editor.setText('a: 1\nb: 2\n')
  expect(editor.text()).toBe('a: 1\nb: 2\n')
  editor.destroy()
})
