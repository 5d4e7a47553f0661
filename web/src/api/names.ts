import type { rules } from './rules'

// nameProblem is what is wrong with the name of a new object; the hub checks again.
export function nameProblem(rule: (typeof rules)[keyof typeof rules], name: string, field = 'Name'): string | undefined {
  return rule.pattern.test(name) ? undefined : `${field}: use ${rule.words}.`
}

// serviceName is how a service is named where its cluster is not known: CLUSTER/NAME.
export const serviceName = /^[^/\s]+\/[^/\s]+$/
