package poll

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/poll/content"
	"github.com/axle-cd/axle/agent/poll/queue"
	"github.com/axle-cd/axle/agent/poll/report"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/packedobj"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/scrub"
)

// service is the loop's state of one service. Loop.mu guards it; a worker uses
// copies.
type service struct {
	queue.Entry
	name, namespace string

	// passes is the loop's queue.
	passes *queue.Queue

	// want is the service's entry in the present list, nil if it has none; wantKey
	// belongs to it.
	want    *agentv1.DesiredService
	wantKey string
	// waiting is why the cluster keeps what it has, usually empty.
	waiting string
	// inList is the number (see Loop.lists) of the last list that named it.
	inList uint64
	// tombstone is set if the list says that the service leaves.
	tombstone *agentv1.Tombstone
	// spec is the newest spec received; specFor is the list entry that it was fetched
	// for, see wantKey.
	spec    *agentv1.ServiceSpec
	specFor string
	// scrub knows the spec's secrets.
	scrub *scrub.Scrubber

	// done is the input of the last pass that wrote everything.
	done *change.Inputs
	// planned is the input of the last objects known to the engine, even if they were
	// not applied; claiming: another service waits for that.
	planned  *change.Inputs
	claiming bool
	// objects are kept while a pass for the same inputs is unfinished.
	objects  packedobj.List
	inputs   change.Inputs
	warnings []string
	result   *apply.Result
	drain    *apply.DrainResult
	applied  cache.Applied
	// settings are those of done, empty if a requested sync needs more than a check.
	settings string

	// trouble is why the last pass failed; fails sets it.
	trouble *report.Trouble
	// gate is the dependency that the service waits for; gatedBy are its keys in
	// Loop.gated.
	gate    string
	gatedBy []string

	cause change.Cause
	// held: paused, or in no list.
	held bool
	// diffed, previewed and selected are the last answered requests for a diff, for a
	// preview, and for a sync of some objects.
	diffed, previewed, selected int64
	// readReads makes the next pass read looked-up objects again.
	readReads bool
	// deletesHeld: the last pass could not prune because deletes are held.
	deletesHeld bool
	backoff     jitter.Backoff
	// known: the service has something to report.
	known bool
}

func newService(id string, a *queue.Queue) *service {
	return &service{Entry: queue.Entry{Id: id}, passes: a, backoff: jitter.Backoff{Min: 5 * time.Second, Max: 5 * time.Minute}}
}

// wantKey changes with every part of a list entry that a spec belongs to.
func wantKey(w *agentv1.DesiredService) string {
	tarball, parts := content.Of(w)
	return tarball + " " + w.GetSpecDigest() + " " + parts
}

// needsSpec reports whether to fetch the spec from the hub. A paused service gets it
// too, for people's requests, but applies nothing of it.
func (s *service) needsSpec() bool {
	return s.want != nil && s.waiting == "" && s.specFor != s.wantKey
}

// desire sets the service's entry of a list, nil for none.
func (s *service) desire(w *agentv1.DesiredService) {
	s.want, s.wantKey = w, ""
	if w == nil {
		s.waiting = ""
	} else {
		s.wantKey = wantKey(w)
	}
}

// specify sets the spec.
func (s *service) specify(spec *agentv1.ServiceSpec) {
	s.passes.Move(&s.Entry, spec.GetProject())
	s.spec, s.scrub = spec, apply.FromSpec(spec, "").Scrub
}

// specFits reports whether the spec can be used with the list's content. The hub may
// have sent a newer spec, which is accepted; with parts it is not, because their
// paths belong to it: then the service waits for the matching list.
func (s *service) specFits() bool {
	if s.spec != nil && len(s.want.GetParts()) > 0 {
		return s.spec.GetSpecDigest() == s.want.GetSpecDigest()
	}
	return s.spec != nil && (s.specFor == s.wantKey || s.spec.GetSpecDigest() == s.want.GetSpecDigest())
}

// wanted returns the inputs that are known without a request.
func (s *service) wanted(renderer string) change.Inputs {
	return inputsOf(s.want, s.spec, renderer)
}

func inputsOf(want *agentv1.DesiredService, spec *agentv1.ServiceSpec, renderer string) change.Inputs {
	tarball, parts := content.Of(want)
	return change.Inputs{TarballDigest: tarball, Parts: parts, SpecDigest: spec.GetSpecDigest(), Renderer: renderer}
}

// queue queues a pass at a time; the earlier one wins.
func (s *service) queue(at time.Time, cause change.Cause) {
	if s.Due.IsZero() || at.Before(s.Due) {
		s.passes.Put(&s.Entry, at)
		s.cause = cause
	}
}

// unqueue cancels the queued pass.
func (s *service) unqueue() {
	s.passes.Put(&s.Entry, time.Time{})
}

// job is a worker's copy of a service.
type job struct {
	id string
	// place is its place among the running passes.
	place     *pool.Held
	want      *agentv1.DesiredService
	tombstone *agentv1.Tombstone
	spec      *agentv1.ServiceSpec
	fits      bool
	done      *change.Inputs
	inputs    change.Inputs
	settings  string
	seen      string // position of the list it works for
	objects   packedobj.List
	warnings  []string
	cause     change.Cause
	readReads bool
	// held: only requests on demand run.
	held              bool
	diffed, previewed int64
	// claim: record what is rendered even if it is not applied.
	claim bool
	// onDemand: a person waits for something other than a sync.
	onDemand bool
	// deletes is what deletes wait for, empty if they do not wait.
	deletes string
	// gate is the dependency to wait for.
	gate string
	// dependent names a service that still depends on this one.
	dependent string
}

// outcome is the result of a pass.
type outcome struct {
	step     string // that ended the pass
	trouble  *report.Trouble
	gate     string
	skipped  bool   // nothing to do
	settled  bool   // the desired revision is already applied
	again    bool   // a request could not be done yet
	claimed  bool   // the rendered objects are known
	dry      bool   // nothing of it is written
	words    string // what a dry run would change
	inputs   change.Inputs
	permit   tenancy.Permit
	settings string
	tests    []*unstructured.Unstructured
	objects  packedobj.List
	warnings []string
	result   *apply.Result
	// confirmed: nothing was rendered, because nothing can have changed.
	confirmed bool
	drain     *apply.DrainResult
}

// fails notes why a step failed, nil if none did. A hub is away since the first step that
// found it so.
func (s *service) fails(trouble *report.Trouble, now time.Time) {
	if trouble != nil && trouble.Away() {
		trouble.Since = now
		if s.trouble != nil && s.trouble.Away() {
			trouble.Since = s.trouble.Since
		}
	}
	s.trouble = trouble
}
