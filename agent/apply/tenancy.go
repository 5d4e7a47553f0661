package apply

import (
	"slices"
	"strings"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// adminProject is the project whose services may act as the agent itself.
const adminProject = "default"

// Tenancy limits what a service may touch, beside what its account is granted.
// It is judged after the render, so that no template gets around it.
type Tenancy struct {
	// Project is named in refusals; empty and the admin project are not limited
	// but by what follows.
	Project string
	// Namespaces are all that the service may write to, beside its own, with *
	// and ?; empty leaves it to the account.
	Namespaces []string
	// Kinds are all that it may write, as Kind or Kind.group, with * and ?;
	// empty is all.
	Kinds []string
	// ClusterScoped allows objects of the whole cluster outside of the admin
	// project.
	ClusterScoped bool
	// Closed refuses the service's own namespace, too, when it is none of
	// Namespaces.
	Closed bool
}

func tenancyOf(spec *agentv1.ServiceSpec) Tenancy {
	t := spec.GetTenancy()
	return Tenancy{Project: spec.GetProject(), Namespaces: t.GetNamespaces(), Kinds: t.GetKinds(), ClusterScoped: t.GetClusterScoped(), Closed: t.GetClosed()}
}

// guest reports whether the service is none of the administrators'.
func (t Tenancy) guest() bool { return t.Project != "" && t.Project != adminProject }

// account splits the name of a service's account.
func (s Service) account() (namespace, name string) {
	if namespace, name, found := strings.Cut(s.ServiceAccount, "/"); found {
		return namespace, name
	}
	return s.Namespace, s.ServiceAccount
}

// permits returns why a service may not write an object, nil when it may.
func (s Service) permits(kind kubeobj.Kind, ref kubeobj.Ref) error {
	t, reserved := s.Tenancy, s.reserved
	if t.guest() {
		if s.ServiceAccount == "" {
			return errcode.New(errcode.Forbidden, "project %s may not act as the agent: set serviceAccount to one that is granted what the service needs", t.Project)
		}
		if namespace, _ := s.account(); s.system(namespace, reserved) || namespace != s.Namespace && !t.names(namespace) {
			return errcode.New(errcode.Forbidden, "project %s may not use accounts of namespace %s: name a serviceAccount of the service's own namespace", t.Project, namespace)
		}
		if !kind.Namespaced && !t.ClusterScoped {
			return errcode.New(errcode.Forbidden, "%s belongs to the whole cluster, which project %s may not change: move it to a service of project %s", kind.Kind, t.Project, adminProject)
		}
		if s.system(ref.Namespace, reserved) {
			return errcode.New(errcode.Forbidden, "namespace %s is the cluster's own, which project %s may not change", ref.Namespace, t.Project)
		}
	}
	if kind.Namespaced && !t.allowsNamespace(s, ref.Namespace) {
		allowed := t.Namespaces
		if !t.Closed {
			allowed = append([]string{s.Namespace}, allowed...)
		}
		return errcode.New(errcode.Forbidden, "namespace %s is none of those that the service may write to (%s)", ref.Namespace, strings.Join(allowed, ", "))
	}
	if len(t.Kinds) > 0 && !slices.ContainsFunc(t.Kinds, func(pattern string) bool {
		return like(pattern, ref.Kind) || like(pattern, strings.TrimSuffix(ref.Kind+"."+ref.Group, "."))
	}) {
		return errcode.New(errcode.Forbidden, "kind %s is none of those that the service may write (%s)", ref.Kind, strings.Join(t.Kinds, ", "))
	}
	return nil
}

func (t Tenancy) allowsNamespace(s Service, namespace string) bool {
	return len(t.Namespaces) == 0 || namespace == s.Namespace && !t.Closed || t.names(namespace)
}

func (t Tenancy) names(namespace string) bool {
	return slices.ContainsFunc(t.Namespaces, func(pattern string) bool { return like(pattern, namespace) })
}

// system reports whether a namespace holds what runs the cluster: its accounts
// may do more than a project should be able to borrow.
func (s Service) system(namespace, reserved string) bool {
	return namespace != "" && (namespace == reserved || strings.HasPrefix(namespace, "kube-") && !slices.Contains(s.Tenancy.Namespaces, namespace))
}
