package doctor

import (
	"context"
	"iter"
	"time"

	"github.com/axle-cd/axle/agent"
)

const (
	doctorTimeout = 10 * time.Second
	// skewTolerated is the skew that the hub accepts in a signed renewal.
	skewTolerated = 10 * time.Minute
	// diskWanted is enough for an agent with a few dozen services.
	diskWanted = 256 << 20
)

// Check is one thing that an agent needs, and its state.
type Check struct {
	// Name is one word.
	Name string
	// Detail says what was found if all is well, or why the check was skipped.
	Detail string
	// Skipped: the check was not run.
	Skipped bool
	// Problem is empty if all is well.
	Problem string
	// Fix says what to do about the problem.
	Fix string
}

// Run runs one check after the other; a later one may fail because of an earlier
// one. It changes nothing.
func Run(ctx context.Context, cfg agent.Config) iter.Seq[Check] {
	return func(yield func(Check) bool) {
		for _, check := range []func(context.Context, agent.Config) Check{
			checkDNS, checkHub, checkTunnel, checkIdentity, checkCluster, checkRights, checkDisk, checkRender,
		} {
			limited, cancel := context.WithTimeout(ctx, doctorTimeout)
			result := check(limited, cfg)
			cancel()
			if !yield(result) {
				return
			}
		}
	}
}

func (c Check) fails(problem, fix string) Check {
	c.Problem, c.Fix = problem, fix
	return c
}
