import { Ban, CircleCheck, CircleHelp, CircleMinus, CirclePause, CircleX, Clock, CloudOff, GitCompare, Hand, Link2Off, type LucideIcon, Plug, RefreshCw, TriangleAlert, Undo2 } from 'lucide-react'

// A tone is what a colour means, and it means nothing else.
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'stale' | 'idle'

export interface Word {
  tone: Tone
  icon: LucideIcon
  // What a person reads, where it differs from the API's word.
  label?: string
  meaning: string
}

const words: Record<string, Word> = {
  Healthy: { tone: 'good', icon: CircleCheck, meaning: 'the last report is good and fresh' },
  Synced: { tone: 'good', icon: CircleCheck, meaning: 'the cluster runs the desired revision' },
  Fresh: { tone: 'good', icon: CircleCheck, meaning: 'the agent polls on time' },
  Up: { tone: 'good', icon: Plug, meaning: 'the tunnel is open: live views work' },
  Done: { tone: 'good', icon: CircleCheck, meaning: 'finished' },
  Passed: { tone: 'good', icon: CircleCheck, meaning: 'the tests passed' },
  Ready: { tone: 'good', icon: CircleCheck, meaning: 'nothing that was looked at speaks against it' },
  NotReady: { tone: 'bad', icon: CircleX, label: 'Not ready', meaning: 'something speaks against it' },
  Compatible: { tone: 'good', icon: CircleCheck, meaning: 'its version supports the version of Kubernetes' },
  Incompatible: { tone: 'bad', icon: CircleX, meaning: 'its version does not support the version of Kubernetes' },
  VersionUnknown: { tone: 'warn', icon: CircleHelp, label: 'Version unknown', meaning: 'its compatibility matrix does not have its version' },
  AddonUnknown: { tone: 'warn', icon: CircleHelp, label: 'Add-on unknown', meaning: 'it has no compatibility matrix' },
  Warning: { tone: 'warn', icon: TriangleAlert, meaning: 'look at it; it does not count' },
  NotChecked: { tone: 'idle', icon: CircleMinus, label: 'Not checked', meaning: 'nobody looked at it, and it does not count' },
  Pullable: { tone: 'good', icon: CircleCheck, meaning: 'the last fetch worked' },
  Progressing: { tone: 'busy', icon: RefreshCw, meaning: 'an apply or a rollout is under way' },
  Applying: { tone: 'busy', icon: RefreshCw, meaning: 'the agent applies the desired revision' },
  Running: { tone: 'busy', icon: RefreshCw, meaning: 'under way' },
  Provisioning: { tone: 'busy', icon: RefreshCw, meaning: 'Cluster API makes its machines' },
  Provisioned: { tone: 'good', icon: CircleCheck, meaning: 'Cluster API has made what it stands on' },
  ScalingUp: { tone: 'busy', icon: RefreshCw, meaning: 'machines are added' },
  ScalingDown: { tone: 'busy', icon: RefreshCw, meaning: 'machines are removed' },
  Deleting: { tone: 'busy', icon: RefreshCw, meaning: 'is being deleted' },
  Destroying: { tone: 'busy', icon: RefreshCw, meaning: 'its machines are being removed' },
  Degraded: { tone: 'warn', icon: TriangleAlert, meaning: 'works partly' },
  Drifted: { tone: 'warn', icon: GitCompare, meaning: 'the cluster differs from what was applied' },
  Missing: { tone: 'warn', icon: CircleMinus, meaning: 'an object is not on the cluster' },
  Down: { tone: 'warn', icon: Link2Off, meaning: 'the tunnel is closed: no live views, deploys go on' },
  Held: { tone: 'warn', icon: Hand, meaning: 'not applied, because it cannot be done safely' },
  NeedsYou: { tone: 'bad', icon: CircleX, label: 'Needs you', meaning: 'waits for a person' },
  Failed: { tone: 'bad', icon: CircleX, meaning: 'needs a person' },
  Stale: { tone: 'stale', icon: CloudOff, meaning: 'the agent has not polled for more than three intervals; the last values are shown' },
  Paused: { tone: 'idle', icon: CirclePause, meaning: 'somebody paused it' },
  Suspended: { tone: 'idle', icon: CirclePause, meaning: 'suspended' },
  Pending: { tone: 'idle', icon: Clock, meaning: 'waits for approval or for the agent' },
  Waiting: { tone: 'idle', icon: Clock, meaning: 'has not begun' },
  NotYet: { tone: 'idle', icon: Clock, label: 'Not yet', meaning: 'an earlier step waits' },
  Cancelled: { tone: 'idle', icon: Ban, meaning: 'somebody cancelled it' },
  Good: { tone: 'good', icon: CircleCheck, meaning: 'has the change and is healthy' },
  Placed: { tone: 'busy', icon: RefreshCw, meaning: 'was given the change and has not yet shown that it is healthy' },
  Stopped: { tone: 'bad', icon: CircleX, meaning: 'too many clusters failed; waits for a person' },
  Aborting: { tone: 'warn', icon: Undo2, meaning: 'all clusters go back to the former version' },
  Aborted: { tone: 'idle', icon: Undo2, meaning: 'all clusters went back to the former version' },
  Reverted: { tone: 'idle', icon: Undo2, meaning: 'went back to the former version' },
  Unchanged: { tone: 'idle', icon: CircleMinus, meaning: 'the change makes no difference here' },
  Absent: { tone: 'stale', icon: CloudOff, meaning: 'its agent does not answer' },
  Superseded: { tone: 'idle', icon: Ban, meaning: 'another change took its place' },
  DryRun: { tone: 'idle', icon: CircleHelp, label: 'Dry run', meaning: 'only what would be done' },
  Off: { tone: 'idle', icon: Link2Off, meaning: 'the agent opens no tunnel' },
  Unknown: { tone: 'idle', icon: CircleHelp, meaning: 'never reported' },
}

// wordOf explains a status word of the API; an unknown word is idle.
export function wordOf(word: string): Word {
  return words[word] ?? { tone: 'idle', icon: CircleHelp, meaning: word ? 'a state that this console does not know' : 'never reported' }
}

export function labelOf(word: string): string {
  return wordOf(word).label ?? (word || 'Unknown')
}

export function toneOf(word: string): Tone {
  return wordOf(word).tone
}

export const knownWords = Object.keys(words)
