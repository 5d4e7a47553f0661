package tenancy

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Gate decides about the services of one cluster. It is safe for concurrent use.
type Gate struct {
	rest     *rest.Config
	reserved string
	maker    func(namespace string) (service string)
}

// New returns the gate for the API server that cfg reaches as the agent; namespace is
// the agent's own.
func New(cfg *rest.Config, namespace string) *Gate {
	return &Gate{rest: cfg, reserved: namespace, maker: func(string) string { return "" }}
}

// Close closes namespaces to all services but one: maker returns that one, empty for a
// namespace that is open. It is called before the first Permit.
func (g *Gate) Close(maker func(namespace string) (service string)) { g.maker = maker }

// closed returns why a service may not use a namespace that is closed to it, nil if it may.
func (g *Gate) closed(r Request, namespace string) error {
	if maker := g.maker(namespace); maker == "" || maker == r.Service {
		return nil
	}
	return errcode.New(errcode.Forbidden, "namespace %s holds the credentials of a cluster that is made there, and is closed to all services but the one that makes it", namespace)
}

// Permit is what a service may do, and the only way to a client for it. The zero
// value permits nothing.
type Permit struct {
	gate    *Gate
	request Request
	user    string
	// refused is why nothing may be written or looked up.
	refused error
}

// Permit decides about a service. Forbidden says what to set.
func (g *Gate) Permit(r Request) (Permit, error) {
	user, err := r.user()
	if err != nil {
		return Permit{}, err
	}
	accounts, _ := r.account()
	if err := cmp.Or(g.closed(r, r.Namespace), g.closed(r, accounts)); err != nil {
		return Permit{}, err
	}
	if l := r.Limits; l.limited() {
		namespace, name := r.account()
		switch {
		case r.Account == "" && l.guest():
			return Permit{}, errcode.New(errcode.Forbidden, "project %s may not act as the agent: set serviceAccount of the service, or of its project, to an account with the rights that the service needs, with: axle projects update %s --service-account NAME --allow-account NAMESPACE/NAME", l.Project, l.Project)
		case r.Account == "":
			return Permit{}, errcode.New(errcode.Forbidden, "project %s has limits, and services with limits may not act as the agent: set serviceAccount of the service, or of its project, to an account with the rights that the service needs, with: axle projects update %s --service-account NAME --allow-account NAMESPACE/NAME", l.Project, l.Project)
		case r.system(namespace, g.reserved) || namespace != r.Namespace && !l.names(namespace):
			return Permit{}, errcode.New(errcode.Forbidden, "project %s may not use accounts of namespace %s: name a serviceAccount %s of the service's own namespace", l.Project, namespace, name)
		}
		if err := r.namespace(r.Namespace, g.reserved); err != nil {
			return Permit{}, err
		}
	}
	return Permit{gate: g, request: r, user: user}, nil
}

// user is the Kubernetes user name of the account, empty without one.
func (r Request) user() (string, error) {
	if r.Account == "" {
		return "", nil
	}
	namespace, name := r.account()
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", errcode.New(errcode.Invalid, "serviceAccount %.80q is not valid: write NAME, in the service's own namespace, or NAMESPACE/NAME", r.Account)
	}
	return strings.Join([]string{"system:serviceaccount", namespace, name}, ":"), nil
}

// Leaving permits a service to leave that may do nothing else: what it created is
// deleted or released, as the user who created it. It cannot write anything: refused,
// which Permit returned, says why. The service's inventory says who user is, empty
// for the agent itself.
func (g *Gate) Leaving(r Request, user string, refused error) Permit {
	return Permit{gate: g, request: r, user: user, refused: refused}
}

// MightWrite reports whether the service could be permitted to write an object if it
// had an account with that right: it checks only the limits.
func (g *Gate) MightWrite(r Request, kind kubeobj.Kind, ref kubeobj.Ref) bool {
	return g.write(r, kind, ref) == nil
}

func (g *Gate) write(r Request, kind kubeobj.Kind, ref kubeobj.Ref) error {
	namespace := ref.Namespace
	if kind.Group == "" && kind.Kind == "Namespace" {
		namespace = ref.Name
	}
	return cmp.Or(g.closed(r, namespace), r.write(kind, ref.Namespace, g.reserved))
}

// Service is the id of the permit's service, empty for the zero permit.
func (p Permit) Service() string { return p.request.Service }

// User is the account of the service, empty for the agent itself.
func (p Permit) User() string { return p.user }

// REST returns a configuration that acts with the permit. Forbidden for the zero
// permit.
func (p Permit) REST() (*rest.Config, error) {
	if p.gate == nil {
		return nil, errNone
	}
	cfg := rest.CopyConfig(p.gate.rest)
	if p.user != "" {
		cfg.Impersonate = rest.ImpersonationConfig{UserName: p.user}
	}
	return cfg, nil
}

var errNone = errcode.New(errcode.Forbidden, "the service has no permit")

// MayWrite returns why the service may not write an object, nil if it may.
func (p Permit) MayWrite(kind kubeobj.Kind, ref kubeobj.Ref) error {
	switch {
	case p.gate == nil:
		return errNone
	case p.refused != nil:
		return p.refused
	}
	return p.gate.write(p.request, kind, ref)
}

// MayRead returns why the service may not look up objects of a namespace, nil if it
// may; an empty namespace means all of them.
func (p Permit) MayRead(kind kubeobj.Kind, namespace string) error {
	switch {
	case p.gate == nil:
		return errNone
	case p.refused != nil:
		return p.refused
	}
	return cmp.Or(p.gate.closed(p.request, namespace), p.request.read(kind, namespace, p.gate.reserved))
}
