package world

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/tarball"
)

// lightInterval is the base time between two polls of a light agent.
const lightInterval = 500 * time.Millisecond

// LightAgent is a cluster's end of the protocol without a cluster. It polls with the
// agent's own client, accepts lists, specs and tarballs, compares digests, holds
// services missing from a list, deletes only by tombstones, reports, and records each
// step for the checker. It unpacks with the product's code and computes the digest of
// the files on disk with its own.
type LightAgent struct {
	Cluster string

	dir      string
	bootID   string
	client   *hubclient.Client
	interval time.Duration

	mu       sync.Mutex
	steps    []Step
	polls    int
	etag     string
	sequence int64
	holding  bool // deletes wait for a person's word
	services map[string]*lightService
	whole    bool
	odd      int
}

// lightService is an agent's state of a service.
type lightService struct {
	want    *agentv1.DesiredService
	spec    *agentv1.ServiceSpec
	applied Step
	missing bool
	stored  string
	report  []byte
}

// LightConfig says how a light agent is made. URL and Token are needed.
type LightConfig struct {
	URL, Token string
	// Transport may be shared; nil makes a new one.
	Transport http.RoundTripper
	// Dir is the folder for unpacked files.
	Dir string
	// Interval between polls; zero is half a second.
	Interval time.Duration
}

// JoinLight registers a light agent with a bootstrap token. Run lets it poll.
func JoinLight(ctx context.Context, c LightConfig) (*LightAgent, error) {
	client, err := hubclient.New(hubclient.Config{URL: c.URL, Transport: c.Transport})
	if err != nil {
		return nil, err
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	a := &LightAgent{dir: c.Dir, bootID: rand.Text(), client: client, interval: c.Interval, services: map[string]*lightService{}, whole: true}
	if a.interval == 0 {
		a.interval = lightInterval
	}
	answer, err := client.Register(ctx, c.Token, key, &agentv1.RegisterRequest{
		ClusterUid: rand.Text(), BootId: a.bootID, AgentVersion: "light", ProtocolVersion: 1,
	})
	if err != nil {
		return nil, err
	}
	a.Cluster = answer.GetClusterName()
	return a, client.Ping(ctx, &agentv1.PingRequest{
		BootId: a.bootID, AgentVersion: "light", ProtocolVersion: 1, KubernetesVersion: "v1.36.3", Distro: "k3s", Nodes: 1,
		PollIntervalMicros: a.interval.Microseconds(),
	})
}

// Run polls until the context ends. What fails is written down and tried again
// at the next poll, as the real one does.
func (a *LightAgent) Run(ctx context.Context) {
	for wait := jitter.Full(a.interval); jitter.Wait(ctx, wait) == nil; wait = jitter.Add(a.interval, a.interval/2) {
		if err := a.Pass(ctx); err != nil && ctx.Err() == nil {
			a.note(Step{Kind: StepError, Error: err.Error()})
		}
	}
}

// Steps returns the recorded steps.
func (a *LightAgent) Steps() []Step {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.steps)
}

// Polls counts the answers to polls so far.
func (a *LightAgent) Polls() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.polls
}

// Version returns the version in the files of a service, 0 without any.
func (a *LightAgent) Version(service string) int {
	version := 0
	for _, s := range a.Steps() {
		if s.Service == service && s.Kind == StepApplied {
			version = s.Version
		}
	}
	return version
}

func (a *LightAgent) note(s Step) {
	s.At = time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps = append(a.steps, s)
}

// Pass polls once and does what follows. One at a time may call it.
func (a *LightAgent) Pass(ctx context.Context) error {
	answer, err := a.client.Desired(ctx, a.etag)
	if err != nil {
		return fmt.Errorf("poll: %w", err)
	}
	a.mu.Lock()
	a.polls++
	a.mu.Unlock()
	if answer.List == nil {
		return a.compare(ctx, answer.StatusHash)
	}
	drained, err := a.take(ctx, answer.List)
	// What succeeded is reported even if something else failed.
	if err := errors.Join(err, a.send(ctx, drained)); err != nil {
		return err
	}
	a.etag = answer.List.ETag
	return nil
}

// take brings the services up to a list.
func (a *LightAgent) take(ctx context.Context, list *hubclient.List) (drained []string, err error) {
	place := list.Desired.GetPosition()
	step := Step{Incarnation: place.GetIncarnation(), Sequence: place.GetSequence()}
	list1 := step
	list1.Kind = StepList
	a.note(list1)
	switch {
	case list.Lineage == hubclient.Restored:
		a.holding = true
	case list.Desired.GetIncarnation().GetConfirmed():
		a.holding = false
	}
	drained = a.bury(list.Desired.GetTombstones(), step)
	listed := map[string]bool{}
	var stale []string
	for _, want := range list.Desired.GetServices() {
		s := a.services[want.GetId()]
		if s == nil {
			s = &lightService{}
			a.services[want.GetId()] = s
		}
		if s.spec.GetSpecDigest() != want.GetSpecDigest() || s.want.GetTarballDigest() != want.GetTarballDigest() {
			stale = append(stale, want.GetId())
		}
		s.want, listed[want.GetId()] = want, true
	}
	for id, s := range a.services {
		if missing := !listed[id]; missing != s.missing {
			if s.missing = missing; missing {
				held := step
				held.Kind, held.Service = StepHeld, s.want.GetName()
				a.note(held)
			}
		}
	}
	if err := a.specs(ctx, stale); err != nil {
		return drained, err
	}
	var failures []error
	for id := range listed {
		failures = append(failures, a.apply(ctx, a.services[id], step))
	}
	return drained, errors.Join(failures...)
}

// bury removes what tombstones name, unless a person has to be waited for.
func (a *LightAgent) bury(stones []*agentv1.Tombstone, step Step) (drained []string) {
	if a.holding {
		return nil
	}
	for _, t := range stones {
		if s := a.services[t.GetServiceId()]; s != nil {
			step.Kind, step.Service, step.Tombstone = StepDeleted, s.want.GetName(), t.GetTombstoneId()
			a.note(step)
			delete(a.services, t.GetServiceId())
		}
		drained = append(drained, t.GetTombstoneId())
	}
	return drained
}

func (a *LightAgent) specs(ctx context.Context, ids []string) error {
	for part := range slices.Chunk(ids, 500) {
		answer, err := a.client.Services(ctx, part)
		if err != nil {
			return fmt.Errorf("specs: %w", err)
		}
		for _, spec := range answer.GetServices() {
			if s := a.services[spec.GetId()]; s != nil {
				s.spec = spec
			}
		}
	}
	return nil
}

// version is the version in the files of a scenario.
var version = regexp.MustCompile(`(?m)^  version: "(\d+)"$`)

// apply takes the content that a service wants.
func (a *LightAgent) apply(ctx context.Context, s *lightService, step Step) error {
	promised := s.want.GetTarballDigest()
	if promised == "" || s.spec == nil || s.want.GetPaused() || s.applied.Promised == promised {
		return nil
	}
	step.Service, step.Promised, step.Revision = s.want.GetName(), promised, s.spec.GetDisplay().GetRevision()
	want, err := digest.Parse(promised)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(a.dir, "light-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	body, err := a.client.Download(ctx, tarball.Request{Digest: want})
	if err != nil {
		return fmt.Errorf("tarball of %s: %w", step.Service, err)
	}
	defer body.Close()
	root := filepath.Join(dir, "tree")
	got, _, err := tarball.Unpack(ctx, body, root, tarball.Limits{})
	if err == nil {
		// What comes after the end of the archive is part of the download.
		_, err = io.Copy(io.Discard, body)
	}
	if err != nil {
		return fmt.Errorf("tarball of %s: %w", step.Service, err)
	}
	if err := digest.Verify(want, got); err != nil {
		step.Kind, step.Error = StepRefused, err.Error()
		a.note(step)
		return err
	}
	if step.Computed, err = folderDigest(root); err != nil {
		return err
	}
	if step.Version, err = versionOf(filepath.Join(root, filepath.FromSlash(s.spec.GetEntry()))); err != nil {
		return err
	}
	step.Kind = StepApplied
	a.note(step)
	s.applied = step
	return nil
}

// versionOf reads the version out of the files of a folder.
func versionOf(folder string) (int, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		if m := version.FindSubmatch(text); m != nil {
			return strconv.Atoi(string(m[1]))
		}
	}
	return 0, nil
}

// compare reports everything whole when the hub twice running said that it
// has other statuses than were sent.
func (a *LightAgent) compare(ctx context.Context, hash string) error {
	if hash == "" || hash == a.hash() {
		a.odd = 0
		if a.unsent() {
			return a.send(ctx, nil)
		}
		return nil
	}
	if a.odd++; a.odd < 2 {
		return nil
	}
	a.odd, a.whole = 0, true
	return a.send(ctx, nil)
}

// hash is the hub's hash of the reported statuses.
func (a *LightAgent) hash() string {
	h := sha256.New()
	for _, id := range a.ids() {
		if stored := a.services[id].stored; stored != "" {
			h.Write([]byte(id + " " + stored + "\n"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func (a *LightAgent) ids() []string {
	var ids []string
	for id := range a.services {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (a *LightAgent) unsent() bool {
	for _, s := range a.services {
		if s.spec != nil && !bytes.Equal(s.report, s.status()) {
			return true
		}
	}
	return a.whole
}

// status is an agent's status of a service whose objects all exist.
func (s *lightService) status() []byte {
	status := &agentv1.ServiceStatus{Sync: "Pending", Reason: "NoContent", Health: "Unknown"}
	if s.applied.Promised != "" {
		status = &agentv1.ServiceStatus{
			Sync: "Synced", Health: "Healthy", TarballDigest: s.applied.Promised, SpecDigest: s.spec.GetSpecDigest(),
			Revision: s.spec.GetDisplay().GetRevision(), SourceRevision: s.spec.GetDisplay().GetSourceRevision(), AppliedAt: s.applied.At.UnixMicro(),
		}
	}
	if s.missing {
		status.Sync, status.Reason = "Held", "Orphaned"
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(status)
	if err != nil {
		return nil
	}
	return raw
}

// send reports what changed, or all.
func (a *LightAgent) send(ctx context.Context, drained []string) error {
	all := a.whole
	request := &agentv1.ReportRequest{BootId: a.bootID, Sequence: a.sequence + 1, Whole: all, DrainedTombstones: drained}
	for _, id := range a.ids() {
		s := a.services[id]
		if s.spec == nil {
			continue
		}
		status := s.status()
		if !all && bytes.Equal(status, s.report) {
			continue
		}
		sum := sha256.Sum256(status)
		report := &agentv1.ServiceReport{ServiceId: id, BaseHash: s.stored, NewHash: hex.EncodeToString(sum[:]), Status: status}
		if all {
			report.BaseHash = ""
		}
		request.Services = append(request.Services, report)
	}
	if len(request.GetServices()) == 0 && len(drained) == 0 && !all {
		return nil
	}
	a.sequence++
	answer, err := a.client.Report(ctx, request)
	if err != nil {
		a.whole = true // what was sent may not have arrived
		return fmt.Errorf("report: %w", err)
	}
	a.whole = false
	for _, r := range request.GetServices() {
		s := a.services[r.GetServiceId()]
		s.stored, s.report = r.GetNewHash(), r.GetStatus()
	}
	if len(answer.GetResync()) > 0 {
		a.whole = true
	}
	return nil
}
