package apply_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// ill is a Live that finds one object unhealthy.
type ill struct {
	*oracle
	mu     sync.Mutex
	name   string
	health string
}

func (i *ill) set(health string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.health = health
}

func (i *ill) Lookup(kind kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, synced bool) {
	live, found, synced = i.oracle.Lookup(kind, ref)
	i.mu.Lock()
	defer i.mu.Unlock()
	if ref.Name == i.name {
		live.Health, live.Message = i.health, "it is ill"
	}
	return live, found, synced
}

func TestPruneWaitsForHealthAndGivesUpInTime(t *testing.T) {
	now := clock.NewManual(time.Unix(1e9, 0))
	b := newBed(t, nil)
	live := &ill{oracle: b.live, name: "m0"}
	change := func(cfg *apply.Config) { cfg.Live, cfg.Clock = live, now }
	b.engine = b.restart(change)
	service := newService("d1")
	b.pass(service, maps(3)...)

	service.TarballDigest = "d2"
	live.set("Progressing")
	docs := []string{configMap("m0", "new"), maps(3)[1]}
	result := b.pass(service, docs...)
	if result.Phase != apply.PhaseWaiting || result.Sync != apply.SyncApplying || b.count(service.Namespace) != 3 {
		t.Errorf("while ill: %+v", result)
	}
	// The wait and its deadline survive a restart.
	b.engine = b.restart(change)
	now.Advance(9 * time.Minute)
	if result = b.pass(service, docs...); result.Phase != apply.PhaseWaiting || result.Applied != 0 {
		t.Errorf("after a restart: %+v", result)
	}
	now.Advance(2 * time.Minute)
	if result = b.pass(service, docs...); result.Sync != apply.SyncFailed || result.Reason != apply.ReasonHealth || !strings.Contains(result.Message, "it is ill") {
		t.Errorf("after 11 minutes: %+v", result)
	}
	if state, _ := b.engine.State(service.ID); state.TarballDigest != "d1" || b.count(service.Namespace) != 3 {
		t.Errorf("a failed pass is called applied, or pruned: %+v", state)
	}
	live.set("Healthy")
	if result = b.pass(service, docs...); result.Phase != apply.PhaseApplied || b.count(service.Namespace) != 2 {
		t.Errorf("once healthy: %+v", result)
	}
}

// A claim whose class waits for a pod that uses it is bound when there is one: a service
// whose only claim nobody uses is applied, and its prunes happen.
func TestClaimThatWaitsForAPodDelaysNothing(t *testing.T) {
	b := newBed(t, nil)
	live := &ill{oracle: b.live, name: "claim"}
	b.engine = b.restart(func(cfg *apply.Config) { cfg.Live = live })
	service := newService("d1")
	b.pass(service, maps(3)...)
	service.TarballDigest = "d2"
	live.set("Progressing")
	claim := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: claim}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	if result := b.pass(service, append(maps(2), claim)...); result.Phase != apply.PhaseApplied || b.count(service.Namespace) != 2 {
		t.Errorf("%+v, %d objects left", result, b.count(service.Namespace))
	}
	live.set("Degraded")
	service.TarballDigest = "d3"
	if result := b.pass(service, append(maps(1), claim)...); result.Phase != apply.PhaseApplied {
		t.Errorf("an ill claim of before delays: %+v", result)
	}
}

func TestObjectThatWasIllBeforeDelaysNothing(t *testing.T) {
	b := newBed(t, nil)
	live := &ill{oracle: b.live, name: "m0", health: "Degraded"}
	b.engine = b.restart(func(cfg *apply.Config) { cfg.Live = live })
	service := newService("d1")
	b.pass(service, maps(3)...)
	if result := b.pass(service, maps(3)[:2]...); result.Phase != apply.PhaseApplied || result.Pruned != 1 {
		t.Errorf("%+v", result)
	}
}
