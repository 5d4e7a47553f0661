package poll_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// cluster implements the steps: it renders a file to one ConfigMap, and records what
// was applied and deleted.
type cluster struct {
	mu      sync.Mutex
	applied map[string]apply.State
	passes  map[string]int
	renders map[string]int
	// renderedAt are the times that templates were told.
	renderedAt map[string][]time.Time
	parts      map[string][]render.Part
	deleted    []string
	paused     map[string]bool
	partial    map[string]string
	result     map[string]apply.Result
	health     map[string]string
	reads      []render.Read
	objects    map[string][]byte
	lookups    map[string]int
	asked      []string
	served     []string
	// unlisted is why not all that is served is known.
	unlisted string
	fail     error
	// refuses fails a render, depending on the file's content.
	refuses func(content string) error
	// failPass fails the passes of a service.
	failPass map[string]error
	// confirms: Confirm says yes, and counts.
	confirms  bool
	confirmed map[string]int
	// claims are the reasons why rendered services are not applied.
	claims map[string]string
	// pending is what the last pass of each service in it was told to wait for.
	pending map[string][]apply.Pending
	// restored are inventories that came back under a running agent, removed those that
	// somebody deleted, and makes the clusters of Cluster API that services have.
	restored map[string]apply.State
	removed  map[string]bool
	makes    map[string]kubeobj.Ref
}

func newCluster() *cluster {
	return &cluster{
		applied: map[string]apply.State{}, passes: map[string]int{}, renders: map[string]int{}, renderedAt: map[string][]time.Time{}, parts: map[string][]render.Part{}, paused: map[string]bool{},
		partial: map[string]string{}, result: map[string]apply.Result{}, health: map[string]string{}, objects: map[string][]byte{}, lookups: map[string]int{}, served: []string{"v1"}, confirmed: map[string]int{}, claims: map[string]string{}, pending: map[string][]apply.Pending{},
	}
}

func (c *cluster) Load(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fail
}

// LookAgain takes what came back, and forgets what somebody removed.
func (c *cluster) LookAgain(_ context.Context, unwanted []string) (changed []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, state := range c.restored {
		c.applied[id] = state
		changed = append(changed, id)
	}
	clear(c.restored)
	for _, id := range unwanted {
		if _, has := c.applied[id]; has && c.removed[id] {
			delete(c.applied, id)
			changed = append(changed, id)
		}
	}
	return changed, nil
}

func (c *cluster) Pass(_ context.Context, _ tenancy.Permit, s apply.Service, objects []*unstructured.Unstructured) (apply.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return apply.Result{}, c.fail
	}
	c.passes[s.ID]++
	if err := c.failPass[s.ID]; err != nil {
		return apply.Result{}, err
	}
	c.partial[s.ID] = s.Partial
	if _, deletes := c.pending[s.ID]; deletes {
		c.mu.Unlock()
		pending := s.Unsettled()
		c.mu.Lock()
		if c.pending[s.ID] = pending; len(pending) > 0 {
			return apply.Result{Phase: apply.PhaseWaiting, Sync: apply.SyncApplying, Message: "waits for " + pending[0].Name + ": " + pending[0].Why, Awaits: true, Again: time.Hour}, nil
		}
	}
	delete(c.paused, s.ID)
	if r, ok := c.result[s.ID]; ok {
		return r, nil
	}
	c.applied[s.ID] = apply.State{ServiceID: s.ID, Name: s.Name, Namespace: s.Namespace, TarballDigest: s.TarballDigest, SpecDigest: s.SpecDigest, Seen: s.Seen, Phase: apply.PhaseApplied, Objects: len(objects)}
	return apply.Result{Phase: apply.PhaseApplied, Sync: apply.SyncSynced, Applied: len(objects)}, nil
}

func (c *cluster) Confirm(s apply.Service) (apply.Result, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state, ok := c.applied[s.ID]
	if !ok || !c.confirms {
		return apply.Result{}, false
	}
	state.SpecDigest = s.SpecDigest
	c.applied[s.ID] = state
	c.confirmed[s.ID]++
	return apply.Result{Phase: apply.PhaseApplied, Sync: apply.SyncSynced}, true
}

func (c *cluster) Pause(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused[id] = true
}

func (c *cluster) Claim(_ context.Context, _ tenancy.Permit, s apply.Service, _ []*unstructured.Unstructured, why string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claims[s.ID] = why
	return nil
}

func (c *cluster) Unclaim(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.claims, id)
}

func (c *cluster) Drain(_ context.Context, _ tenancy.Permit, s apply.Service) (apply.DrainResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deleted = append(c.deleted, s.ID)
	delete(c.applied, s.ID)
	return apply.DrainResult{Done: true}, nil
}

func (c *cluster) Detach(_ context.Context, _ tenancy.Permit, s apply.Service) (apply.DrainResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.applied, s.ID)
	return apply.DrainResult{Done: true}, nil
}

func (c *cluster) Services() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.applied))
}

func (c *cluster) State(id string) (apply.State, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.applied[id]
	return s, ok
}

func (c *cluster) Objects(id string) []kubeobj.Expected {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.applied[id]; !ok {
		return nil
	}
	all := []kubeobj.Expected{{Ref: kubeobj.Ref{Kind: "ConfigMap", Name: id}, Service: id}}
	if made, ok := c.makes[id]; ok {
		all = append(all, kubeobj.Expected{Ref: made, Service: id})
	}
	return all
}

func (c *cluster) Findings(string) []drift.Finding { return nil }

func (c *cluster) Components(objects []kubeobj.Expected) []*agentv1.Component {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*agentv1.Component
	for _, o := range objects {
		state := c.health[o.Service]
		if state == "" {
			state = "Healthy"
		}
		all = append(all, &agentv1.Component{Kind: o.Ref.Kind, Name: o.Ref.Name, Health: state, Synced: true})
	}
	return all
}

func (c *cluster) Render(_ context.Context, p render.Pass) (render.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.renders[p.ID]++
	if c.refuses != nil {
		text, err := os.ReadFile(filepath.Join(p.Folder, "file.yaml"))
		if err == nil {
			err = c.refuses(string(text))
		}
		if err != nil {
			return render.Result{}, err
		}
	}
	c.renderedAt[p.ID] = append(c.renderedAt[p.ID], p.Now)
	c.parts[p.ID] = p.Parts
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": p.Name}})
	if err != nil {
		return render.Result{}, err
	}
	return render.Result{Objects: []render.Object{{JSON: text}}, Reads: c.reads, APIVersionsAsked: c.asked}, nil
}

func (c *cluster) RendererVersion() string { return "r1" }

func (c *cluster) Capabilities(context.Context) (render.Capabilities, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return render.Capabilities{KubernetesVersion: "v1.36.3", APIVersions: c.served}, c.unlisted, nil
}

func (c *cluster) Lookup(_ context.Context, _ tenancy.Permit, key render.LookupKey) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lookups[key.Name]++
	return c.objects[key.Name], nil
}

func (c *cluster) Facts(context.Context) (poll.Facts, error) { return poll.Facts{Nodes: 3}, nil }

func (c *cluster) count(what map[string]int, id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return what[id]
}

// set changes the cluster under its lock.
func (c *cluster) set(edit func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	edit()
}
