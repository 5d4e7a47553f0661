package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/drift"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// maxReports and maxReportBytes bound one report; the hub accepts 500 statuses
	// and 8 MiB.
	maxReports     = 500
	maxReportBytes = 6 << 20
	// statusHashDigits is how many digits of the hash over all statuses are sent.
	statusHashDigits = 16
	// quiet is how long the reporter waits for more changes.
	quiet = 500 * time.Millisecond
	// WholePeriod is how often all statuses and facts are sent without a request.
	WholePeriod = 2 * time.Hour
	// mismatchesTolerated: a replica may not know the last report yet.
	mismatchesTolerated = 1
)

// Reporter sends only changes to the hub. For each service it knows the hash that the
// hub acknowledged. A report names it as its base, so that the hub notices a lost or
// reordered report. The status hash of a poll reveals a lost answer.
type Reporter struct {
	cfg  Config
	wake chan struct{}

	mu sync.Mutex
	// since is when each message of a service first appeared.
	since map[string]map[string]time.Time
	// acked are the hashes that the hub has, as far as known.
	acked map[string]string
	// sum is the hash over acked, empty if it must be computed again.
	sum string
	// dirty are services whose status must be checked.
	dirty map[string]bool
	// gone are completed tombstones, by id.
	gone map[string]string
	// sending: a flush goes on.
	sending bool
	// whole requests a report of everything.
	whole      bool
	wholeAt    time.Time
	mismatches int
	sequence   int64
}

// Config is what a reporter needs. All fields but heals and tests are required.
type Config struct {
	BootID string
	Clock  clock.Clock
	Log    *slog.Logger
	// Send sends a report to the hub; Counted is called with taken or failed.
	Send    func(ctx context.Context, r *agentv1.ReportRequest) (*agentv1.ReportResponse, error)
	Counted func(result string)
	// View returns the state of a service, false if it has nothing to report.
	View func(id string) (View, bool)
	// Each counts the services that can be reported, and whether these are all; it
	// calls the function with their ids if there is one.
	Each func(func(id string)) (count int, complete bool)
	// WholeTaken is called after the hub took a report of everything.
	WholeTaken func()

	Watch     statuses
	Inventory applied
	Tests     failedTests
	Heals     healed
}

// statuses tells from memory what objects look like now.
type statuses interface {
	Findings(service string) []drift.Finding
	Components(objects []kubeobj.Expected) []*agentv1.Component
}

// applied tells from memory what was applied.
type applied interface {
	State(service string) (apply.State, bool)
	Objects(service string) []kubeobj.Expected
}

// failedTests says which tests of a service failed.
type failedTests interface{ Problems(service string) []string }

// healed are the heals to report to the hub.
type healed interface {
	// Heals returns those not acknowledged by the hub, in order of number.
	Heals() []*agentv1.Heal
	// HealsTaken acknowledges the heals up to a number.
	HealsTaken(number int64)
}

// New returns a reporter; Run must be called.
func New(c Config) *Reporter {
	return &Reporter{
		cfg: c, since: map[string]map[string]time.Time{}, wake: make(chan struct{}, 1), acked: map[string]string{}, dirty: map[string]bool{}, gone: map[string]string{},
		wholeAt: c.Clock.Now().Add(jitter.Around(WholePeriod, WholePeriod/8)),
	}
}

// Touch marks services to be checked again.
func (r *Reporter) Touch(ids map[string]bool) {
	if len(ids) == 0 {
		return
	}
	r.mu.Lock()
	maps.Copy(r.dirty, ids)
	r.mu.Unlock()
	r.poke()
}

func (r *Reporter) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// WantWhole requests a report of everything.
func (r *Reporter) WantWhole() {
	r.mu.Lock()
	r.whole = true
	r.mu.Unlock()
	r.poke()
}

// Drained records that a tombstone is completed.
func (r *Reporter) Drained(t *agentv1.Tombstone) {
	if t == nil {
		return
	}
	r.mu.Lock()
	r.gone[t.GetTombstoneId()] = t.GetServiceId()
	r.mu.Unlock()
	r.poke()
}

// Forget drops a service that this agent no longer has.
func (r *Reporter) Forget(id string) {
	r.mu.Lock()
	delete(r.dirty, id)
	delete(r.acked, id)
	delete(r.since, id)
	r.sum = ""
	r.mu.Unlock()
}

// Compare checks the hash in a poll's answer over the statuses that the hub has. A
// mismatch twice in a row means that reports were lost.
func (r *Reporter) Compare(theirs string) {
	count, complete := r.cfg.Each(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if complete && r.whole {
		r.poke() // it may have waited for the last service to be complete
	}
	if !complete || len(r.dirty) > 0 || len(r.gone) > 0 || r.whole || len(r.acked) < count {
		return // a report is pending anyway
	}
	if r.sum == "" {
		r.sum = hashAll(r.acked)
	}
	if theirs == r.sum {
		r.mismatches = 0
	} else if r.mismatches++; r.mismatches > mismatchesTolerated {
		r.cfg.Log.Info("the hub's statuses differ from what was reported; sending everything again")
		r.mismatches, r.whole = 0, true
	}
	if r.cfg.Clock.Now().After(r.wholeAt) {
		r.whole = true
	}
	if r.whole {
		r.poke()
	}
}

// hashAll is the hub's hash over all statuses: hex SHA-256 over a line "<service id>
// <hash>" for each, in order of id, the first 16 digits.
func hashAll(hashes map[string]string) string {
	if len(hashes) == 0 {
		return ""
	}
	h := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(hashes)) {
		h.Write([]byte(id + " " + hashes[id] + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil))[:statusHashDigits]
}

// Run sends changes after a moment of quiet, so that one report carries all of them.
func (r *Reporter) Run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		}
		wait := quiet
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-r.cfg.Clock.After(wait):
			}
			err := r.flush(ctx)
			if err == nil {
				backoff.Reset()
				break
			}
			wait = max(backoff.Next(), quiet, errcode.RetryAfter(err))
		}
	}
}

// flush sends everything that is not acknowledged. Failed reports remain pending,
// together with changes that arrive meanwhile.
func (r *Reporter) flush(ctx context.Context) error {
	r.mu.Lock()
	whole, ids := r.whole, slices.Sorted(maps.Keys(r.dirty))
	r.sending = true
	r.mu.Unlock()
	defer r.sent()
	if whole {
		var complete bool
		if ids, complete = r.reportable(); !complete {
			whole = false // until every service has a status
		}
	}
	wholeSent := false
	for start := 0; ; {
		batch := r.batch(ids[start:], whole)
		if start == 0 && r.cfg.Heals != nil {
			batch.request.Heals = r.cfg.Heals.Heals()
		}
		start += batch.looked
		wholeSent = whole && batch.looked == len(ids)
		batch.request.Whole = wholeSent
		if len(batch.request.GetServices()) > 0 || len(batch.request.GetHeals()) > 0 || len(batch.request.GetDrainedTombstones()) > 0 || batch.request.GetWhole() {
			if err := r.deliver(ctx, batch); err != nil {
				return err
			}
		}
		if start == len(ids) {
			break
		}
	}
	if whole && !wholeSent {
		if err := r.deliver(ctx, r.listing(ids)); err != nil {
			return err
		}
	}
	if whole {
		r.mu.Lock()
		r.whole = false
		r.wholeAt = r.cfg.Clock.Now().Add(jitter.Around(WholePeriod, WholePeriod/8))
		r.mu.Unlock()
		r.cfg.WholeTaken()
	}
	return nil
}

func (r *Reporter) sent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sending = false
}

// reportable returns the services that can be reported, and whether these are all.
func (r *Reporter) reportable() (ids []string, complete bool) {
	_, complete = r.cfg.Each(func(id string) { ids = append(ids, id) })
	slices.Sort(ids)
	return ids, complete
}

// batch is one report and what its acknowledgement settles.
type batch struct {
	request *agentv1.ReportRequest
	hashes  map[string]string
	ids     []string
	looked  int
}

// batch makes the next report, with as many services as fit. They are clean from here
// on; later changes mark them dirty again.
func (r *Reporter) batch(ids []string, whole bool) batch {
	b := batch{hashes: map[string]string{}, request: &agentv1.ReportRequest{BootId: r.cfg.BootID}}
	size := 0
	for _, id := range ids {
		if len(b.request.GetServices()) >= maxReports || size >= maxReportBytes {
			break
		}
		b.looked++
		b.ids = append(b.ids, id)
		r.mu.Lock()
		delete(r.dirty, id)
		base := r.acked[id]
		r.mu.Unlock()
		v, ok := r.cfg.View(id)
		if !ok {
			continue
		}
		status, err := proto.MarshalOptions{Deterministic: true}.Marshal(r.statusOf(v))
		if err != nil {
			r.cfg.Log.Error("cannot encode a status", logkey.Service, id, logkey.Error, err)
			continue
		}
		sum := sha256.Sum256(status)
		hash := hex.EncodeToString(sum[:])
		if hash == base && !whole {
			continue
		}
		if whole {
			base = ""
		}
		b.hashes[id] = hash
		b.request.Services = append(b.request.Services, &agentv1.ServiceReport{ServiceId: id, BaseHash: base, NewHash: hash, Status: status})
		size += len(status)
	}
	r.mu.Lock()
	b.request.DrainedTombstones = slices.Sorted(maps.Keys(r.gone))
	b.request.DrainedTombstones = b.request.DrainedTombstones[:min(maxReports, len(b.request.DrainedTombstones))]
	r.mu.Unlock()
	return b
}

// listing makes the last part of a whole report that did not fit into one. It names
// every service with its acknowledged hash, without statuses, so that the hub drops
// all others.
func (r *Reporter) listing(ids []string) batch {
	b := batch{hashes: map[string]string{}, request: &agentv1.ReportRequest{BootId: r.cfg.BootID, Whole: true}}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if hash := r.acked[id]; hash != "" {
			b.hashes[id] = hash
			b.request.Services = append(b.request.Services, &agentv1.ServiceReport{ServiceId: id, BaseHash: hash, NewHash: hash})
		}
	}
	return b
}

// deliver sends a report and applies what the answer settles.
func (r *Reporter) deliver(ctx context.Context, b batch) error {
	r.mu.Lock()
	r.sequence++
	b.request.Sequence = r.sequence
	r.mu.Unlock()
	answer, err := r.cfg.Send(ctx, b.request)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		for _, id := range b.ids {
			r.dirty[id] = true
		}
		r.cfg.Counted("failed")
		return err
	}
	r.cfg.Counted("taken")
	if heals := b.request.GetHeals(); len(heals) > 0 {
		r.cfg.Heals.HealsTaken(heals[len(heals)-1].GetNumber())
	}
	r.sum = ""
	if b.request.GetWhole() {
		clear(r.acked)
	}
	maps.Copy(r.acked, b.hashes)
	for _, t := range b.request.GetDrainedTombstones() {
		delete(r.acked, r.gone[t])
		delete(r.gone, t)
	}
	for _, id := range answer.GetResync() {
		// The hub has something else; the next report overwrites it.
		r.acked[id] = ""
		r.dirty[id] = true
	}
	if len(answer.GetResync()) > 0 {
		return errResync
	}
	return nil
}

// errResync makes the loop resend at once what the hub requested.
var errResync = errors.New("the hub asks for some statuses again")
