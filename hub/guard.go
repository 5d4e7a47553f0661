package hub

import "github.com/axle-cd/axle/hub/gitcache/gitagent"

// GitGuardCommand is the argument with which this program runs a git fetch
// under guard instead of a hub.
const GitGuardCommand = "git-guard"

// GitGuard runs one git fetch, and ends it when the hub that started it is gone
// or silent. It returns the exit code.
func GitGuard(args []string) int { return gitagent.GuardMain(args) }
