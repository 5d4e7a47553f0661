package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// Needs is what an attack needs beside the API.
type Needs int

// What attacks need.
const (
	// API is the hub's API: the attack is safe and cleans up after itself.
	API Needs = iota
	// Bed is a hub of ours, with upstreams and a provider of ours.
	Bed
	// Cluster is the bed with an API server and an agent.
	Cluster
	// Operator is the cluster with an operator.
	Operator
)

// Attack is one attack.
type Attack struct {
	// Class is A1 to C4, Name unique.
	Class, Name string
	// Story is what the attacker has and wants, a sentence.
	Story string
	Needs Needs
	// Play plays it and returns what was got, empty when it was withstood.
	Play func(p *Play) string
}

// All are the attacks in the order in which they are played. Those that take the hub's
// processor come last.
var All = []Attack{
	chartURL, chartURLOfAGlobalService, urlOfAnother, computedName, repositoryNames,
	deletedAndTaken, usedAddress, handles, groups, tags, tagsByTerraform, tagsByAnObject, hubMadeNames, applications, sopsRepository,
	readTokenListsSecrets, readTokenRevokes, unknownUpgrade, openWatch, openExec, lostBinding, lostGroup, openTail, madeCluster, lookedUpKubeconfig, accounts, hubCluster,
	hashes, errorTexts, errorsOfTemplates, errorsOfGeneratedSecrets, ownSecrets, credentialInTexts, supportBundle, storeToken,
	redirects, kelvin, unverified, federated, exchangedToken,
	dearSchema, dearLiquid, dearRegex, dearQuery, dearGeneratedSecrets, dearClusterSyncs, dearRouters, yamlAliases,
}

// limit bounds one attack, cleanUpLimit all that it cleans up and undoLimit one thing of it.
// An attack takes at most 25 s, and on a machine with a load of 8 four times as long.
const limit, cleanUpLimit, undoLimit = 2 * time.Minute, time.Minute, 5 * time.Second

// Result is how an attack ended.
type Result struct {
	Attack
	// Captured is what was got.
	Captured string
	// Err is why the attack could not be played.
	Err error
	// Skipped is set when the attack needs the bed.
	Skipped bool
	Took    time.Duration
}

// String is the line of a result.
func (r Result) String() string {
	var parts []string
	switch {
	case r.Skipped:
		parts = append(parts, "not played: it needs the bed (make attack without --hub)")
	case r.Captured != "":
		parts = append(parts, "CAPTURED: "+r.Captured)
	case r.Err == nil:
		parts = append(parts, "withstood")
	}
	if r.Err != nil {
		parts = append(parts, "FAILED: "+strings.Join(strings.Fields(r.Err.Error()), " "))
	}
	verdict := strings.Join(parts, "; ")
	return fmt.Sprintf("%-2s  %-28s %5.1fs  %s", r.Class, r.Name, r.Took.Seconds(), verdict)
}

// Bad reports whether the attack succeeded or could not be played.
func (r Result) Bad() bool { return r.Captured != "" || r.Err != nil }

// ErrCaptured is returned when an attack succeeded or could not be played.
var ErrCaptured = errors.New("the hub did not withstand all attacks")

// Run plays attacks on a target, prints a line for each, and returns ErrCaptured if one of
// them is bad.
func Run(ctx context.Context, out io.Writer, t *Target, attacks []Attack) error {
	bad := 0
	for _, a := range attacks {
		r := t.play(ctx, a)
		if r.Bad() {
			bad++
		}
		fmt.Fprintln(out, r)
		if t.Bed == nil {
			continue
		}
		if err := t.Bed.world.Hub.Ended(); err != nil {
			return fmt.Errorf("%w: %w", ErrCaptured, err)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%w: %d of %d", ErrCaptured, bad, len(attacks))
	}
	return nil
}

// play plays one attack and cleans up after it.
func (t *Target) play(ctx context.Context, a Attack) Result {
	r := Result{Attack: a}
	if a.Needs > t.has() {
		r.Skipped = true
		return r
	}
	started := time.Now()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p := &Play{Target: t, ctx: bounded, name: a.Name}
	done := make(chan struct{})
	go func() { // what fails ends this goroutine, as it does in a test
		defer close(done)
		ended := false
		defer func() {
			if !ended && p.failed == nil {
				p.failed = errors.New("it ended early")
			}
		}()
		r.Captured = a.Play(p)
		ended = true
	}()
	<-done
	r.Took = time.Since(started)
	after, cancelAfter := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
	defer cancelAfter()
	r.Err = errors.Join(p.failed, p.cleanUp(after))
	return r
}

// fail ends the attack: a step that is not the attack itself went wrong.
func (p *Play) fail(format string, args ...any) {
	p.failed = fmt.Errorf(format, args...)
	runtime.Goexit()
}
