package poll

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Renderer makes objects of a tree; *render.Runner is one.
type Renderer interface {
	Render(ctx context.Context, p render.Pass) (render.Result, error)
	RendererVersion() string
}

// Applier writes to the cluster; *apply.Engine is one.
type Applier interface {
	Load(ctx context.Context) error
	Pass(ctx context.Context, permit tenancy.Permit, service apply.Service, objects []*unstructured.Unstructured) (apply.Result, error)
	// Confirm says that all is as the last pass left it, without a request; no
	// when it cannot tell.
	Confirm(service apply.Service) (apply.Result, bool)
	Pause(service string)
	Drain(ctx context.Context, permit tenancy.Permit, service apply.Service) (apply.DrainResult, error)
	Detach(ctx context.Context, permit tenancy.Permit, service apply.Service) (apply.DrainResult, error)
}

// Claims knows what services render while other ones have it; *apply.Engine is
// one.
type Claims interface {
	// Claim notes what a service renders that is not applied, and why it is not.
	Claim(ctx context.Context, permit tenancy.Permit, service apply.Service, objects []*unstructured.Unstructured, why string) error
	// Unclaim forgets what one renders that is not to be here any more.
	Unclaim(service string)
}

// Inventory says what was applied, from memory; *apply.Engine is one.
type Inventory interface {
	Services() []string
	State(service string) (apply.State, bool)
	Objects(service string) []kubeobj.Expected
}

// Watch says what the objects look like now, from memory; *drift.Watcher is
// one.
type Watch interface {
	Findings(service string) []drift.Finding
	Components(objects []kubeobj.Expected) []*agentv1.Component
}

// Heals is what was put back, for the hub; *drift.Watcher is one.
type Heals interface {
	// Heals are those that the hub has not taken, in order of number.
	Heals() []*agentv1.Heal
	// HealsTaken says that the hub has those up to a number.
	HealsTaken(number int64)
}

// Cluster answers what renders ask about the cluster.
type Cluster interface {
	// Lookup is render.Lookup for a service: it sees what the service may.
	Lookup(ctx context.Context, permit tenancy.Permit, key render.LookupKey) ([]byte, error)
	// Capabilities returns what charts may ask, from memory once it is known.
	// partial says why some of it may be missing: then nothing is pruned.
	Capabilities(ctx context.Context) (caps render.Capabilities, partial string, err error)
	// Facts reads what the hub is told of the cluster; it sends requests.
	Facts(ctx context.Context) (Facts, error)
}

// Facts are what the hub is told of the cluster.
type Facts struct {
	KubernetesVersion string
	Distro            string
	// Nodes is rounded, so that autoscaling is no news.
	Nodes int
}
