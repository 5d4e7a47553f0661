package tenancy

import (
	"path"
	"slices"
	"strings"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// adminProject is the project whose services may act as the agent itself.
const adminProject = "default"

// Limits are what a project allows its services, besides the rights of their
// accounts. The zero value limits nothing.
type Limits struct {
	// Project is named in refusals. Any project but default needs an account.
	Project string
	// Namespaces are all that the service may touch besides its own, with * and ?;
	// empty leaves this to the account.
	Namespaces []string
	// Kinds are all that it may touch, as Kind or Kind.group, with * and ?; empty
	// means all.
	Kinds []string
	// ClusterScoped allows writing cluster-scoped objects outside the project
	// default.
	ClusterScoped bool
	// Administrators is set where only administrators have rights in the project: it may
	// do what the project default may.
	Administrators bool
	// Closed refuses even the service's own namespace if it is not in Namespaces.
	Closed bool
}

// Request says which service wants to act, and with which account.
type Request struct {
	// Service is its id.
	Service string
	// Namespace is the service's own.
	Namespace string
	// Account is the service account to use, "namespace/name" or a name in Namespace;
	// empty means the agent's own.
	Account string
	Limits  Limits
}

// FromSpec converts the hub's spec.
func FromSpec(spec *agentv1.ServiceSpec) Request {
	t := spec.GetTenancy()
	return Request{
		Service: spec.GetId(), Namespace: spec.GetNamespace(), Account: spec.GetServiceAccount(),
		Limits: Limits{Project: spec.GetProject(), Namespaces: t.GetNamespaces(), Kinds: t.GetKinds(), ClusterScoped: t.GetClusterScoped(), Closed: t.GetClosed(), Administrators: t.GetAdministrators()},
	}
}

// guest reports whether the service is outside the administrators' projects.
func (l Limits) guest() bool {
	return l.Project != "" && l.Project != adminProject && !l.Administrators
}

// limited reports whether the service may not act as the agent.
func (l Limits) limited() bool { return l.guest() || l.Closed || len(l.Namespaces)+len(l.Kinds) > 0 }

func (l Limits) names(namespace string) bool { return matches(l.Namespaces, namespace) }

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// account splits the name of the account.
func (r Request) account() (namespace, name string) {
	if namespace, name, found := strings.Cut(r.Account, "/"); found {
		return namespace, name
	}
	return r.Namespace, r.Account
}

// namespace returns why the service may not touch a namespace, nil if it may.
func (r Request) namespace(namespace, reserved string) error {
	l := r.Limits
	switch {
	case l.guest() && r.system(namespace, reserved):
		return errcode.New(errcode.Forbidden, "namespace %s is the cluster's own, which project %s may not change", namespace, l.Project)
	case len(l.Namespaces) == 0 || namespace == r.Namespace && !l.Closed || l.names(namespace):
		return nil
	}
	allowed := l.Namespaces
	if !l.Closed {
		allowed = append([]string{r.Namespace}, allowed...)
	}
	return errcode.New(errcode.Forbidden, "namespace %s is not one of those that the service may write to (%s, allowed by project %s)", namespace, strings.Join(allowed, ", "), l.Project)
}

// kind returns why the service may not touch a kind, nil if it may.
func (r Request) kind(kind kubeobj.Kind) error {
	l := r.Limits
	if len(l.Kinds) == 0 || matches(l.Kinds, kind.Kind) || matches(l.Kinds, strings.TrimSuffix(kind.Kind+"."+kind.Group, ".")) {
		return nil
	}
	return errcode.New(errcode.Forbidden, "kind %s is not one of those that the service may write (%s, allowed by project %s)", kind.Kind, strings.Join(l.Kinds, ", "), l.Project)
}

// system reports whether a namespace belongs to the cluster's system: its accounts
// have more rights than a project should be able to use.
func (r Request) system(namespace, reserved string) bool {
	return namespace == reserved || strings.HasPrefix(namespace, "kube-") && !slices.Contains(r.Limits.Namespaces, namespace)
}

// write returns why the service may not write an object, nil if it may.
func (r Request) write(kind kubeobj.Kind, namespace, reserved string) error {
	if !kind.Namespaced {
		if l := r.Limits; l.guest() && !l.ClusterScoped {
			return errcode.New(errcode.Forbidden, "%s belongs to the whole cluster, which project %s may not change: move it to a service of project %s", kind.Kind, l.Project, adminProject)
		}
	} else if err := r.namespace(namespace, reserved); err != nil {
		return err
	}
	return r.kind(kind)
}

// read returns why the service may not look an object up, nil if it may. An empty
// namespace means all of them. The account's rights decide about cluster-scoped
// objects.
func (r Request) read(kind kubeobj.Kind, namespace, reserved string) error {
	switch l := r.Limits; {
	case !kind.Namespaced:
	case namespace == "" && (l.guest() || len(l.Namespaces) > 0):
		return errcode.New(errcode.Forbidden, "project %s may not look up objects in all namespaces at once: name one", l.Project)
	case namespace != "":
		if err := r.namespace(namespace, reserved); err != nil {
			return err
		}
	}
	return r.kind(kind)
}
