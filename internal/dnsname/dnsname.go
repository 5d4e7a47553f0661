// Package dnsname has the rule for names of objects that a custom resource may declare:
// that of Kubernetes, so that the resource and the object have one name. Names of
// clusters, services and projects are shorter, because they become labels; their rule
// is in hub/fleet/specrules. Every package may call it.
package dnsname

import "regexp"

var rule = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// Rule is the rule in words, for errors.
const Rule = "up to 253 lower-case letters, digits, dots and dashes, with a letter or digit at both ends"

// Valid reports whether a text keeps the rule.
func Valid(name string) bool { return rule.MatchString(name) }
