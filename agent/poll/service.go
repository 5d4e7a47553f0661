package poll

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/poll/change"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/packedobj"
	"github.com/axle-cd/axle/internal/scrub"
)

// service is what the loop knows of one service. Loop.mu guards it; a worker
// works on copies.
type service struct {
	id, name, namespace string

	// agenda is the loop's; place is where the service is in it, zero is
	// nowhere.
	agenda *agenda
	place  int

	// want is the service in the present list, nil when it is not in it;
	// wantKey is of it.
	want    *agentv1.DesiredService
	wantKey string
	// waiting is why the cluster keeps what it has, empty for most.
	waiting string
	// inList is the last list, as Loop.lists counts them, that named it.
	inList uint64
	// tombstone is set when the list says that the service leaves.
	tombstone *agentv1.Tombstone
	// spec is the newest that was received; specFor is the list entry for which
	// it was, see wantKey.
	spec    *agentv1.ServiceSpec
	specFor string
	// scrub knows the spec's secrets.
	scrub *scrub.Scrubber

	// done is what the last pass depended on that wrote everything.
	done *change.Inputs
	// planned is what the last objects were made of that the engine knows, also
	// where they were not applied; claiming: somebody waits for that.
	planned  *change.Inputs
	claiming bool
	// objects are kept while a pass is unfinished for the same inputs.
	objects  packedobj.List
	inputs   change.Inputs
	warnings []string
	result   *apply.Result
	drain    *apply.DrainResult
	applied  cache.Applied
	// settings are those of done, empty when a sync that is asked for has more
	// to do than to look.
	settings string

	// trouble is why the last pass did not come to its end.
	trouble *trouble
	// gate says which dependency the service waits for; gatedBy are the names
	// under which Loop.gated has it.
	gate    string
	gatedBy []string
	// since remembers when each message appeared.
	since map[string]time.Time

	// due is when the next pass starts, zero is never.
	due     time.Time
	cause   change.Cause
	running bool
	// held: paused, or in no list.
	held bool
	// diffed, previewed and selected are the last requests for a diff, a preview,
	// and a sync of some objects, that were answered.
	diffed, previewed, selected int64
	// readReads makes the next pass look at looked-up objects again.
	readReads bool
	// deletesHeld: the last pass could not prune because deletes are held.
	deletesHeld bool
	backoff     jitter.Backoff
	// known: there is something to say about the service.
	known bool
}

// trouble is a failed step.
type trouble struct {
	// source is a word of StatusError.
	source string
	err    error
	// refused: the service may not do what it is set to do.
	refused bool
}

func newService(id string, a *agenda) *service {
	return &service{id: id, agenda: a, since: map[string]time.Time{}, backoff: jitter.Backoff{Min: 5 * time.Second, Max: 5 * time.Minute}}
}

// wantKey changes when anything of a list entry does that a spec goes with.
func wantKey(w *agentv1.DesiredService) string {
	tarball, parts := contentOf(w)
	return tarball + " " + w.GetSpecDigest() + " " + parts
}

// needsSpec reports whether the hub must be asked for the spec. A paused
// service gets it too, for what people ask of it; it applies nothing of it.
func (s *service) needsSpec() bool {
	return s.want != nil && s.waiting == "" && s.specFor != s.wantKey
}

// desire takes the service's entry of a list over, nil for none.
func (s *service) desire(w *agentv1.DesiredService) {
	s.want, s.wantKey = w, ""
	if w == nil {
		s.waiting = ""
	} else {
		s.wantKey = wantKey(w)
	}
}

// specify takes a spec over.
func (s *service) specify(spec *agentv1.ServiceSpec) {
	s.spec, s.scrub = spec, apply.FromSpec(spec, "").Scrub
}

// specFits reports whether the spec may be used with the list's content. The
// hub may have sent a newer one, which is taken; but not with parts, whose paths
// it goes with: then the list that belongs to it is waited for.
func (s *service) specFits() bool {
	if s.spec != nil && len(s.want.GetParts()) > 0 {
		return s.spec.GetSpecDigest() == s.want.GetSpecDigest()
	}
	return s.spec != nil && (s.specFor == s.wantKey || s.spec.GetSpecDigest() == s.want.GetSpecDigest())
}

// wanted are the inputs that are known without asking anybody.
func (s *service) wanted(renderer string) change.Inputs {
	return inputsOf(s.want, s.spec, renderer)
}

func inputsOf(want *agentv1.DesiredService, spec *agentv1.ServiceSpec, renderer string) change.Inputs {
	tarball, parts := contentOf(want)
	return change.Inputs{TarballDigest: tarball, Parts: parts, SpecDigest: spec.GetSpecDigest(), Renderer: renderer}
}

// queue asks for a pass at a time; the earlier one wins.
func (s *service) queue(at time.Time, cause change.Cause) {
	if s.due.IsZero() || at.Before(s.due) {
		s.due, s.cause = at, cause
		s.agenda.put(s)
	}
}

// unqueue takes back what queue asked for.
func (s *service) unqueue() {
	s.due = time.Time{}
	s.agenda.put(s)
}

// job is the copy of a service that a worker works on.
type job struct {
	id        string
	want      *agentv1.DesiredService
	tombstone *agentv1.Tombstone
	spec      *agentv1.ServiceSpec
	fits      bool
	done      *change.Inputs
	inputs    change.Inputs
	settings  string
	seen      string // the list that it works for
	objects   packedobj.List
	warnings  []string
	cause     change.Cause
	readReads bool
	// held: only errands are run.
	held              bool
	diffed, previewed int64
	// claim: what is rendered must be told, also when it is not applied.
	claim bool
	// errand says that a person waits for more than a sync.
	errand bool
	// deletes says what deletes wait for, empty when they do not.
	deletes string
	// gate is the dependency to wait for.
	gate string
	// dependent names a service that still needs this one.
	dependent string
}

// outcome is what a pass found.
type outcome struct {
	step     string // that ended the pass
	trouble  *trouble
	gate     string
	skipped  bool   // nothing to do
	settled  bool   // because what is wanted is applied
	again    bool   // an errand could not be done yet
	claimed  bool   // it is known what the service wants
	dry      bool   // nothing is written of it
	words    string // what a dry run would change
	inputs   change.Inputs
	permit   tenancy.Permit
	settings string
	tests    []*unstructured.Unstructured
	objects  packedobj.List
	warnings []string
	result   *apply.Result
	// confirmed: nothing was rendered, since nothing can have changed.
	confirmed bool
	drain     *apply.DrainResult
}
