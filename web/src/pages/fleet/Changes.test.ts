// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { happened } from './Changes'

test('an event says what happened in words', () => {
  expect(['service.rolled_back', 'cluster.created', 'global_service.updated', 'odd'].map(happened)).toEqual(['rolled back', 'created', 'updated', 'odd'])
})
