package gitcache

import "github.com/axle-cd/axle/hub/gitcache/gitagent"

// AuthKind says which of the credentials an upstream is offered.
type AuthKind = gitagent.AuthKind

// The ways to authenticate to a Git server.
const (
	AuthNone  = gitagent.AuthNone
	AuthBasic = gitagent.AuthBasic
	AuthToken = gitagent.AuthToken
	AuthSSH   = gitagent.AuthSSH
)
