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

// Renderer makes objects from a tree; *render.Runner implements it.
type Renderer interface {
	Render(ctx context.Context, p render.Pass) (render.Result, error)
	RendererVersion() string
}

// Applier writes to the cluster; *apply.Engine implements it.
type Applier interface {
	Load(ctx context.Context) error
	// LookAgain finds inventories that came back without this agent, forgets unwanted
	// services that have none any more, and returns both.
	LookAgain(ctx context.Context, unwanted []string) (changed []string, err error)
	Pass(ctx context.Context, permit tenancy.Permit, service apply.Service, objects []*unstructured.Unstructured) (apply.Result, error)
	// Confirm reports without a request whether all is as the last pass left it;
	// false if it cannot tell.
	Confirm(service apply.Service) (apply.Result, bool)
	Pause(service string)
	Drain(ctx context.Context, permit tenancy.Permit, service apply.Service) (apply.DrainResult, error)
	Detach(ctx context.Context, permit tenancy.Permit, service apply.Service) (apply.DrainResult, error)
}

// Claims records objects that services render while others have them; *apply.Engine
// implements it.
type Claims interface {
	// Claim records what a service renders without applying it, and why.
	Claim(ctx context.Context, permit tenancy.Permit, service apply.Service, objects []*unstructured.Unstructured, why string) error
	// Unclaim forgets the claims of a service that leaves.
	Unclaim(service string)
}

// Inventory tells from memory what was applied; *apply.Engine implements it.
type Inventory interface {
	Services() []string
	State(service string) (apply.State, bool)
	Objects(service string) []kubeobj.Expected
}

// Watch tells from memory what the objects look like now; *drift.Watcher implements
// it.
type Watch interface {
	Findings(service string) []drift.Finding
	Components(objects []kubeobj.Expected) []*agentv1.Component
}

// Heals are the heals to report to the hub; *drift.Watcher implements it.
type Heals interface {
	// Heals returns those not acknowledged by the hub, in order of number.
	Heals() []*agentv1.Heal
	// HealsTaken acknowledges the heals up to a number.
	HealsTaken(number int64)
}

// Cluster answers renders' questions about the cluster.
type Cluster interface {
	// Lookup implements render.Lookup for a service: it sees what the service may
	// see.
	Lookup(ctx context.Context, permit tenancy.Permit, key render.LookupKey) ([]byte, error)
	// Capabilities returns what charts may ask for, from memory once known. partial
	// says why some of it may be missing: then nothing is pruned.
	Capabilities(ctx context.Context) (caps render.Capabilities, partial string, err error)
	// Facts reads what is reported to the hub about the cluster; it makes requests.
	Facts(ctx context.Context) (Facts, error)
}

// Facts are reported to the hub about the cluster.
type Facts struct {
	KubernetesVersion string
	Distro            string
	// Nodes is rounded, so that autoscaling does not cause reports.
	Nodes int
}
