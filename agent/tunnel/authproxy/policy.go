package authproxy

import (
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

// The modes of a Policy.
const (
	// Off allows nobody.
	Off = "off"
	// Read allows get, list and watch.
	Read = "read"
	// Full leaves everything to the cluster's RBAC.
	Full = "full"
)

// Policy is what the owner of a cluster allows people to do in it through the hub,
// within the limits of the cluster's RBAC. Empty lists limit nothing.
type Policy struct {
	// Mode is Off, Read or Full; empty is Full.
	Mode string
	// Verbs are get, list, watch, create, update, patch, delete, deletecollection,
	// and exec, attach, portforward, proxy and connect, which count as separate
	// verbs; connect is every other upgrade of a connection.
	Verbs []string
	// Namespaces are the only ones that may be used. Cluster-scoped objects are then
	// forbidden, except for API discovery.
	Namespaces []string
	// APIGroups are the only allowed groups of resources; "core" is the group without
	// a name.
	APIGroups []string
	// Groups are the only allowed groups of people. A person in none of them may do
	// nothing, and requests carry no other group.
	Groups []string
	// Prefix is put before each user and group, so that names of the hub cannot
	// collide with names that the cluster has from elsewhere. Groups that the hub
	// alone gives, axle:admins and axle:cluster:…, keep their names.
	Prefix string
}

// AdminsGroup is the group of the hub's administrators.
const AdminsGroup = "axle:admins"

// hubGroups is the prefix of groups that the hub alone gives, hubRights of those that
// say what it lets a person do with the cluster.
const (
	hubGroups = "axle:"
	hubRights = hubGroups + "cluster:"
)

// Check returns Invalid for a policy that would not have the intended effect.
func (p Policy) Check() error {
	switch p.Mode {
	case "", Off, Read, Full:
	default:
		return errcode.New(errcode.Invalid, "--proxy %q is not one of off, read and full", p.Mode)
	}
	known := kubereq.Actions()
	for _, v := range p.Verbs {
		if !slices.Contains(known, v) {
			return errcode.New(errcode.Invalid, "--proxy-verbs has %q, which is not one of %s", v, strings.Join(known, ", "))
		}
	}
	if strings.HasPrefix(strings.ToLower(p.Prefix), "system:") {
		return errcode.New(errcode.Invalid, "--proxy-prefix %q begins with system:, which is reserved for the cluster", p.Prefix)
	}
	return nil
}

// allow returns Forbidden if the policy does not allow the request.
func (p Policy) allow(info kubereq.Info, groups []string) error {
	switch {
	case p.Mode == Off:
		return errcode.New(errcode.Forbidden, "the agent of this cluster allows no access through the hub (--proxy=off)")
	case len(p.Groups) > 0 && !slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(p.Groups, g) }):
		return errcode.New(errcode.Forbidden, "the agent of this cluster lets in only the groups %s (--proxy-groups)", strings.Join(p.Groups, ", "))
	case p.Mode == Read && !info.Reads():
		return errcode.New(errcode.Forbidden, "the agent of this cluster lets people only read through the hub (--proxy=read); this is %s %s", info.Action(), info.Kind())
	case !info.IsResource():
		return p.allowOther(info)
	case len(p.Verbs) > 0 && !slices.Contains(p.Verbs, info.Action()):
		return errcode.New(errcode.Forbidden, "the agent of this cluster lets through only %s (--proxy-verbs); this is %s", strings.Join(p.Verbs, ", "), info.Action())
	case len(p.Namespaces) > 0 && !slices.Contains(p.Namespaces, info.Namespace):
		return errcode.New(errcode.Forbidden, "the agent of this cluster lets through only the namespaces %s (--proxy-namespaces)", strings.Join(p.Namespaces, ", "))
	case len(p.APIGroups) > 0 && !slices.Contains(p.APIGroups, groupName(info.Group)):
		return errcode.New(errcode.Forbidden, "the agent of this cluster lets through only the API groups %s (--proxy-api-groups)", strings.Join(p.APIGroups, ", "))
	}
	return nil
}

// allowOther decides on paths that are not resources: everybody who may make any
// request may use API discovery, and nothing may be written.
func (p Policy) allowOther(info kubereq.Info) error {
	if info.Verb == "get" && !info.Connects() || len(p.Verbs)+len(p.Namespaces)+len(p.APIGroups) == 0 {
		return nil
	}
	return errcode.New(errcode.Forbidden, "the agent of this cluster limits what people may do; %s %s is not allowed", info.Action(), info.Path)
}

func groupName(group string) string {
	if group == "" {
		return "core"
	}
	return group
}

// as returns the user and groups that the API server sees.
func (p Policy) as(user string, groups []string) (string, []string) {
	out := make([]string, 0, len(groups))
	for _, g := range groups {
		if len(p.Groups) > 0 && !slices.Contains(p.Groups, g) {
			continue
		}
		if strings.HasPrefix(g, hubGroups) {
			out = append(out, g)
			continue
		}
		if g = p.Prefix + g; g == AdminsGroup || strings.HasPrefix(g, hubRights) || kubereq.Reserved(g) && !kubereq.Reserved(p.Prefix) {
			continue // the prefix makes another group look like one of the hub's or the cluster's
		}
		out = append(out, g)
	}
	return p.Prefix + user, out
}
