import type { Service } from '#/api/gen/hub/v1/hub_pb'
import { millis, spanOf } from '#/status/age'

// The way of a revision from its repository to running pods.
export interface Step {
  name: 'Fetched' | 'Delivered' | 'Rendered' | 'Applied' | 'Healthy'
  // A status word.
  state: string
  // When it was, in microseconds.
  at: bigint
  // What went wrong, or what is waited for; verbatim from the hub or the agent.
  message: string
  // How long after the step before, where both are known.
  took?: string
}

type Fields = Pick<Service, 'sync' | 'reason' | 'health' | 'freshness' | 'message' | 'errors' | 'sources' | 'desiredRevision' | 'desiredDigest' | 'appliedDigest' | 'polledAt' | 'reportedAt' | 'updatedAt' | 'committedAt' | 'counts' | 'paused'>

// stepsOf says how far the desired revision is. The hub fetches and delivers;
// the agent renders, applies and watches. After a step that failed or waits the
// others are not reached yet.
export function stepsOf(s: Fields): Step[] {
  const errors = (source: string) =>
    s.errors
      .filter((e) => e.source === source && !e.warning)
      .map((e) => e.message)
      .join('\n')
  const applied = s.desiredDigest !== '' && s.desiredDigest === s.appliedDigest
  const fetchedAt = s.sources.reduce((at, x) => (x.fetchedAt > at ? x.fetchedAt : at), 0n)
  const sourceError = errors('source') || (s.reason === 'SourceError' ? s.message : '')

  const steps: Step[] = []
  let reached = true
  const add = (name: Step['name'], state: string, at: bigint, message = '') => {
    steps.push(reached ? { name, state, at, message } : { name, state: 'NotYet', at: 0n, message: '' })
    if (state !== 'Done') reached = false
  }

  if (sourceError) add('Fetched', 'Failed', fetchedAt, sourceError)
  else if (s.desiredRevision === '') add('Fetched', 'Waiting', 0n, s.message || 'The hub has not read its source yet.')
  else add('Fetched', 'Done', fetchedAt)

  if (s.reason === 'NoAgent' || s.reason === 'AgentTooOld' || s.reason === 'ClusterPending') add('Delivered', 'Waiting', s.polledAt, s.message)
  else if (applied || (s.polledAt >= s.updatedAt && s.polledAt > 0n)) add('Delivered', 'Done', s.polledAt)
  else if (s.freshness === 'Stale') add('Delivered', 'Stale', s.polledAt, 'The agent has not polled since this revision was made.')
  else add('Delivered', 'Waiting', s.polledAt, 'The agent takes it at its next poll.')

  const renderError = errors('render')
  if (renderError) add('Rendered', 'Failed', s.reportedAt, renderError)
  else if (applied || s.reportedAt >= s.updatedAt) add('Rendered', 'Done', s.reportedAt)
  else add('Rendered', 'Waiting', s.reportedAt, 'The agent has not reported on this revision yet.')

  const problem = [errors('agent'), errors('apply'), errors('prune')].filter(Boolean).join('\n') || s.message
  if (s.sync === 'Failed') add('Applied', 'Failed', s.reportedAt, problem)
  else if (s.sync === 'Held') add('Applied', 'Held', s.reportedAt, problem)
  else if (s.sync === 'Paused' || s.paused) add('Applied', applied ? 'Done' : 'Paused', s.reportedAt, applied ? '' : s.message)
  else if (s.sync === 'Drifted') add('Applied', 'Drifted', s.reportedAt, s.message)
  else if (applied && s.sync === 'Synced') add('Applied', 'Done', s.reportedAt)
  else add('Applied', s.sync === 'Applying' ? 'Applying' : 'Waiting', s.reportedAt, s.message)

  // Health is of what runs: it stays known while a step before it has failed.
  const health = s.health === 'Healthy' ? 'Done' : s.health || 'Unknown'
  const runs = reached || s.sync === 'Drifted' || s.sync === 'Held'
  steps.push(runs ? { name: 'Healthy', state: health, at: s.reportedAt, message: s.health === 'Healthy' ? '' : (errors('health') || s.message) } : { name: 'Healthy', state: 'NotYet', at: 0n, message: '' })

  if (fetchedAt > s.committedAt && s.committedAt > 0n && steps[0]!.state === 'Done') steps[0]!.took = `${spanOf(millis(fetchedAt - s.committedAt))} after the commit`
  return steps
}
