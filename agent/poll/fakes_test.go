package poll_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/seal"
	"github.com/axle-cd/axle/internal/tarball"
)

// within bounds a condition on a loaded machine.
const within = time.Minute

// hub is a hub of one cluster that does what a test tells it to, above all faults.
type hub struct {
	t *testing.T

	mu       sync.Mutex
	list     *agentv1.Desired
	sequence int64
	version  int
	lineage  poll.Lineage
	specs    map[string]*agentv1.ServiceSpec
	tarballs map[digest.Digest][]byte
	away     error
	noSpecs  error // instead of specs
	// onServices runs before specs are answered, without the lock.
	onServices func()
	polls      int
	asked      int // calls of Services
	fetched    int // downloads

	stored  map[string]string // service id -> hash
	status  map[string]*agentv1.ServiceStatus
	drained []string
	reports []*agentv1.ReportRequest
	// onReport may fail a report before or after it is stored.
	onReport func(r *agentv1.ReportRequest, store func()) error
}

func newHub(t *testing.T) *hub {
	return &hub{
		t: t, list: &agentv1.Desired{ClusterId: "c1", Incarnation: &agentv1.Incarnation{Id: "life1", Confirmed: true}},
		lineage: poll.SameLife, specs: map[string]*agentv1.ServiceSpec{}, tarballs: map[digest.Digest][]byte{},
		stored: map[string]string{}, status: map[string]*agentv1.ServiceStatus{},
	}
}

// change edits the hub's state; the next poll sees another list.
func (h *hub) change(edit func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	edit()
	h.version++
	h.sequence++
}

// put makes a service run a content.
func (h *hub) put(id, content string, edits ...func(w *agentv1.DesiredService, s *agentv1.ServiceSpec)) {
	d, body := pack(h.t, content)
	h.change(func() {
		h.tarballs[d] = body
		spec := &agentv1.ServiceSpec{Id: id, Name: id, Namespace: "default", SpecDigest: "s1:" + id, Display: &agentv1.Display{Revision: int64(h.version + 1), SourceRevision: content}}
		want := &agentv1.DesiredService{Id: id, Name: id, Namespace: "default", TarballDigest: d.String(), SpecDigest: spec.GetSpecDigest()}
		for _, edit := range edits {
			edit(want, spec)
		}
		h.specs[id] = spec
		h.remove(id)
		h.list.Services = append(h.list.Services, want)
	})
}

func (h *hub) remove(id string) {
	h.list.Services = slices.DeleteFunc(h.list.Services, func(s *agentv1.DesiredService) bool { return s.GetId() == id })
}

func (h *hub) Desired(_ context.Context, etag string) (poll.Answer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polls++
	if h.away != nil {
		return poll.Answer{}, h.away
	}
	now := fmt.Sprint(h.version)
	if etag == now {
		return poll.Answer{StatusHash: hashAll(h.stored)}, nil
	}
	list := proto.CloneOf(h.list)
	list.Position = &agentv1.Position{Incarnation: list.GetIncarnation().GetId(), Sequence: h.sequence}
	return poll.Answer{List: list, Signed: []byte("signed"), ETag: now, Seen: "a.1", Lineage: h.lineage, StatusHash: hashAll(h.stored)}, nil
}

func hashAll(hashes map[string]string) string {
	if len(hashes) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(hashes)) {
		io.WriteString(sum, id+" "+hashes[id]+"\n")
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

func (h *hub) Services(_ context.Context, ids []string) (*agentv1.ServicesResponse, error) {
	h.mu.Lock()
	before := h.onServices
	h.mu.Unlock()
	if before != nil {
		before()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	if err := cmp.Or(h.away, h.noSpecs); err != nil {
		return nil, err
	}
	answer := &agentv1.ServicesResponse{}
	for _, id := range ids {
		if spec := h.specs[id]; spec != nil {
			answer.Services = append(answer.Services, proto.CloneOf(spec))
		} else {
			answer.Missing = append(answer.Missing, id)
		}
	}
	return answer, nil
}

func (h *hub) Tarball(_ context.Context, r tarball.Request) (*tarball.Download, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fetched++
	body, ok := h.tarballs[r.Digest]
	switch {
	case h.away != nil:
		return nil, h.away
	case !ok:
		return nil, errcode.New(errcode.NotFound, "no such tarball")
	}
	return &tarball.Download{ReadCloser: io.NopCloser(bytes.NewReader(body)), Size: int64(len(body))}, nil
}

func (h *hub) Report(_ context.Context, r *agentv1.ReportRequest) (*agentv1.ReportResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away != nil {
		return nil, h.away
	}
	answer := &agentv1.ReportResponse{}
	store := func() { answer.Resync = h.store(r) }
	if h.onReport != nil {
		if err := h.onReport(r, store); err != nil {
			return nil, err
		}
		return answer, nil
	}
	store()
	return answer, nil
}

// store keeps what fits, as a hub does.
func (h *hub) store(r *agentv1.ReportRequest) (resync []string) {
	h.reports = append(h.reports, r)
	if r.GetWhole() {
		listed := map[string]bool{}
		for _, s := range r.GetServices() {
			listed[s.GetServiceId()] = true
		}
		maps.DeleteFunc(h.stored, func(id, _ string) bool { return !listed[id] })
		maps.DeleteFunc(h.status, func(id string, _ *agentv1.ServiceStatus) bool { return !listed[id] })
	}
	carried := 0
	for _, s := range r.GetServices() {
		if base := s.GetBaseHash(); base != "" && base != h.stored[s.GetServiceId()] && s.GetNewHash() != h.stored[s.GetServiceId()] {
			resync = append(resync, s.GetServiceId())
			continue
		}
		if len(s.GetStatus()) == 0 && s.GetBaseHash() == s.GetNewHash() {
			continue // named only
		}
		if carried++; carried > 500 {
			h.t.Errorf("a report carries more than 500 statuses")
		}
		status := &agentv1.ServiceStatus{}
		if err := proto.Unmarshal(s.GetStatus(), status); err != nil {
			h.t.Error(err)
		}
		h.stored[s.GetServiceId()], h.status[s.GetServiceId()] = s.GetNewHash(), status
	}
	h.drained = append(h.drained, r.GetDrainedTombstones()...)
	return resync
}

func (h *hub) Ping(context.Context, *agentv1.PingRequest) error { return nil }

// says waits until the hub's status of a service is as wanted.
func (h *hub) says(id, sync, reason string) *agentv1.ServiceStatus {
	h.t.Helper()
	var last *agentv1.ServiceStatus
	eventually.For(h.t, within, fmt.Sprintf("%s is %s %s", id, sync, reason), func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		last = h.status[id]
		if last.GetSync() != sync || last.GetReason() != reason {
			return fmt.Errorf("it is %s %s: %s", last.GetSync(), last.GetReason(), last.GetMessage())
		}
		return nil
	})
	return last
}

func (h *hub) polled(n int) {
	h.t.Helper()
	h.mu.Lock()
	goal := h.polls + n
	h.mu.Unlock()
	eventually.For(h.t, within, "polls", func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.polls < goal {
			return fmt.Errorf("%d of %d", h.polls, goal)
		}
		return nil
	})
}

// fast is the machine's clock with its waits shortened, so that minutes of the
// loop pass in moments.
type fast struct{ clock.Real }

func (fast) After(d time.Duration) <-chan time.Time { return time.After(d / 50) }

// agent is a loop that runs, over a folder that outlives it.
type agent struct {
	*poll.Loop
	stop func()
}

func start(t *testing.T, h *hub, c *cluster, dir string, changes ...func(*poll.Config)) *agent {
	t.Helper()
	sealer, err := seal.OpenFile(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	store, err := cache.New(cache.Config{Dir: dir, Sealer: sealer})
	if err != nil {
		t.Fatal(err)
	}
	remembered, err := store.Recall()
	if err != nil {
		t.Fatal(err)
	}
	cfg := poll.Config{
		Hub: h, Cache: store, Gate: tenancy.New(&rest.Config{}, "axle-system"), Render: c, Apply: c, Claims: c, Inventory: c, Watch: c, Cluster: c,
		Remembered: remembered, Fresh: true, BootID: "boot", Interval: 5 * time.Second, Fixed: true, Clock: fast{},
	}
	for _, change := range changes {
		change(&cfg)
	}
	loop, err := poll.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	a := &agent{Loop: loop}
	var once sync.Once
	a.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(a.stop)
	return a
}

func pack(t *testing.T, text string) (digest.Digest, []byte) {
	t.Helper()
	var out bytes.Buffer
	entries := iter.Seq2[tarball.Entry, error](func(yield func(tarball.Entry, error) bool) {
		yield(tarball.Entry{Path: "file.yaml", Size: int64(len(text)), Body: strings.NewReader(text)}, nil)
	})
	d, _, err := tarball.Write(&out, entries, tarball.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d, out.Bytes()
}
