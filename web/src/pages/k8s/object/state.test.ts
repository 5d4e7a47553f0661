// @vitest-environment jsdom
import { expect, test } from 'vitest'
import type { KubeObject } from '../kube/object'
import { consequenceOf, typedConfirmation } from './consequence'
import { selects, usedBy } from './relations'
import { podState, statusOf, whyEmpty } from './state'

const pod = (status: object, more: object = {}): KubeObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', ...more }, status })

test('a pod is what kubectl says it is', () => {
  expect(podState(pod({ phase: 'Running' }))).toBe('Running')
  expect(podState(pod({ phase: 'Running' }, { deletionTimestamp: 'x' }))).toBe('Terminating')
  expect(podState(pod({ phase: 'Running', containerStatuses: [{ name: 'a', state: { waiting: { reason: 'CrashLoopBackOff' } } }] }))).toBe('CrashLoopBackOff')
  expect(podState(pod({ phase: 'Pending', containerStatuses: [{ name: 'a', state: { waiting: { reason: 'ContainerCreating' } } }] }))).toBe('ContainerCreating')
  expect(podState(pod({ phase: 'Failed', reason: 'Evicted' }))).toBe('Evicted')
  expect(statusOf(pod({ phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] }))).toMatchObject({ word: 'Degraded', label: 'Not ready' })
})

test('an empty log says whether the container started, and how it ended', () => {
  expect(whyEmpty(pod({ conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }] }), 'a', false)).toBe('a never started: the pod is on no node. 0/3 nodes are available')
  expect(whyEmpty(pod({ containerStatuses: [{ name: 'a', state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } }] }), 'a', false)).toBe('a never started: ImagePullBackOff. no such image')
  expect(whyEmpty(pod({ containerStatuses: [{ name: 'a', state: { terminated: { reason: 'OOMKilled', exitCode: 137 } } }] }), 'a', false)).toBe('a ended (OOMKilled, exit code 137) and wrote nothing.')
  expect(whyEmpty(pod({ containerStatuses: [{ name: 'a', restartCount: 0, state: { running: {} } }] }), 'a', true)).toContain('never restarted')
  expect(whyEmpty(pod({ containerStatuses: [{ name: 'a', restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { exitCode: 2 } } }] }), 'a', false)).toContain('press Previous')
})

test('workloads count their replicas', () => {
  const deployment = (status: object, replicas = 3): KubeObject => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', generation: 2 }, spec: { replicas }, status })
  expect(statusOf(deployment({ observedGeneration: 2, readyReplicas: 3, updatedReplicas: 3 }))?.word).toBe('Healthy')
  expect(statusOf(deployment({ observedGeneration: 1, readyReplicas: 3, updatedReplicas: 3 }))?.word).toBe('Progressing')
  expect(statusOf(deployment({ observedGeneration: 2, readyReplicas: 1, updatedReplicas: 3 }))?.word).toBe('Degraded')
  expect(statusOf(deployment({ observedGeneration: 2, conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }] }))?.word).toBe('Failed')
  expect(statusOf(deployment({}, 0))?.label).toBe('Scaled to 0')
})

test('a deletion says what it does, and asks for the name where data goes', () => {
  const of = (kind: string) => ({ apiVersion: 'v1', kind, metadata: { name: 'x', finalizers: ['example.com/hold'] } })
  expect(consequenceOf(of('Namespace'))).toMatch(/Everything in the namespace x.*cannot be undone.*example\.com\/hold/)
  expect(consequenceOf(of('PersistentVolumeClaim'))).toContain('data is destroyed')
  expect(['Namespace', 'PersistentVolumeClaim', 'Pod', 'ConfigMap'].map((k) => typedConfirmation(of(k)))).toEqual([true, true, false, false])
})

test('what a pod uses is found once each', () => {
  const found = usedBy({ serviceAccountName: 'sa', nodeName: 'n', volumes: [{ secret: { secretName: 's' } }, { configMap: { name: 'c' } }, { persistentVolumeClaim: { claimName: 'v' } }], containers: [{ env: [{ valueFrom: { secretKeyRef: { name: 's' } } }, { value: 'x' }], envFrom: [{ configMapRef: { name: 'c2' } }] }] }, 'ns')
  expect(found.map((r) => `${r.kind} ${r.name}`)).toEqual(['ConfigMap c', 'ConfigMap c2', 'Secret s', 'PersistentVolumeClaim v', 'ServiceAccount sa', 'Node n'])
  expect(selects({ app: 'a' }, { app: 'a', x: 'y' })).toBe(true)
  expect(selects({}, { app: 'a' })).toBe(false)
})
