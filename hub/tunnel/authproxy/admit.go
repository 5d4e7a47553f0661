package authproxy

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/bearertoken"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

// reserved is the prefix of groups that only the hub gives.
const reserved = "axle:"

// admit determines the caller and the cluster, and whether the caller may use
// it.
func (p *Proxy) admit(r *http.Request, a *parsedRequest) (err error) {
	if len(r.Header["Authorization"]) == 0 {
		return errcode.New(errcode.Unauthorized, "no token was sent; axle clusters kubeconfig makes a kubeconfig that sends one")
	}
	bearer := bearertoken.Of(r.Header)
	if bearer == "" {
		return errcode.New(errcode.Unauthorized, "send one Authorization: Bearer <token>; no other authentication is supported here")
	}
	if a.cluster, err = p.authenticate(r.Context(), a, bearer); err != nil {
		return err
	}
	return p.allow(r.Context(), a)
}

// authenticate sets the caller and returns the cluster. Unauthenticated callers
// do not learn which clusters exist.
func (p *Proxy) authenticate(ctx context.Context, a *parsedRequest, bearer string) (Cluster, error) {
	if sealed, ok := strings.CutPrefix(bearer, credentialPrefix); ok {
		c, err := p.openCredential(ctx, a, sealed)
		if err != nil {
			return Cluster{}, err
		}
		cluster, err := p.cluster(ctx, a.handle)
		if err == nil && cluster.ID != c.Cluster {
			err = errcode.New(errcode.Forbidden, "this credential is for another cluster")
		}
		return cluster, err
	}
	var err error
	if a.caller, err = p.config.Identity.Authenticate(ctx, bearer); err != nil {
		return Cluster{}, err
	}
	// A caller without any access gets this error for every name.
	err = p.config.Identity.Authorize(ctx, a.caller, identity.ActionRead, identity.Scope{Project: a.caller.Project})
	if errors.Is(err, identity.ErrNoAccess) {
		return Cluster{}, err
	}
	return p.cluster(ctx, a.handle)
}

// allow checks that the caller may use the cluster, and sets the impersonated
// identity.
func (p *Proxy) allow(ctx context.Context, a *parsedRequest) error {
	who, err := p.judge(ctx, a.caller, a.cluster)
	if errors.Is(err, identity.ErrNoBinding) && !errors.Is(err, identity.ErrNoAccess) {
		return noCluster(a.handle)
	}
	if err != nil {
		return err
	}
	if !a.caller.HasScope(identity.ScopeWrite) && !a.info.Reads() {
		return errcode.New(errcode.Forbidden, "this token has only the scope %q, which allows get, list and watch; this is %s %s", identity.ScopeRead, a.info.Action(), a.info.Kind())
	}
	a.head.Identity = who
	return nil
}

// judge returns the identity that the cluster's API server sees of a caller who may
// read the cluster, as of now. A new request and an open stream are judged by it alike.
func (p *Proxy) judge(ctx context.Context, caller identity.Principal, c Cluster) (*agentv1.StreamIdentity, error) {
	if err := p.config.Identity.Authorize(ctx, caller, identity.ActionRead, c.scope()); err != nil {
		return nil, err
	}
	return as(caller, p.rights(ctx, caller, c))
}

// The groups that say what the hub lets a caller do with the cluster. The agent's
// manifests bind them to roles there. Only the hub gives them: no group of people
// may have a name that begins with "axle:".
const (
	ReadGroup  = reserved + "cluster:read"
	WriteGroup = reserved + "cluster:write"
)

// rights returns the groups of a caller who may read the cluster, as of now: what a
// binding or the token's scopes do not give any more is gone with the next request, and
// from open streams when they are looked at. The
// roles hold in every namespace, so who is limited to some gets none of them, and who is
// limited in what they deliver may only look.
func (p *Proxy) rights(ctx context.Context, caller identity.Principal, c Cluster) []string {
	if c.LimitsNamespaces {
		return nil
	}
	groups := []string{ReadGroup}
	if c.Limited {
		return groups
	}
	if p.config.Identity.Authorize(ctx, caller, identity.ActionWrite, c.scope()) == nil {
		groups = append(groups, WriteGroup)
	}
	return groups
}

// hint adds to an API server's refusal what would allow the request.
func (a *parsedRequest) hint(err error) error {
	if !errcode.Is(err, errcode.Forbidden) {
		return err
	}
	who := a.head.GetIdentity()
	rule := "a RoleBinding in the cluster for user " + who.GetUser() + " or one of the groups " + strings.Join(who.GetGroups(), ", ") + " gives single rights"
	switch {
	case a.cluster.LimitsNamespaces, a.cluster.Limited && slices.Contains(who.GetGroups(), ReadGroup):
		rule = "the project of the cluster has limits, so its bindings give no role in every namespace; " + rule
	case !slices.Contains(who.GetGroups(), WriteGroup):
		rule = "an administrator of the hub gives the role edit there with: " + a.caller.BindCommand(identity.ActionWrite, "--cluster "+a.cluster.Name) + "; " + rule
	}
	return errcode.New(errcode.Forbidden, "%s. To allow it: %s", strings.TrimSuffix(errcode.Message(err), "."), rule)
}

// as returns the identity that the cluster's API server sees, with the groups of its
// rights.
func as(caller identity.Principal, rights []string) (*agentv1.StreamIdentity, error) {
	// Groups of before their names were checked may mean something to a cluster.
	groups := slices.DeleteFunc(slices.Clone(caller.Groups), func(g string) bool { return strings.HasPrefix(g, reserved) || kubereq.Reserved(g) })
	if caller.Administers() {
		groups = append(groups, identity.AdminsGroup)
	}
	groups = append(groups, rights...)
	if err := kubereq.CheckIdentity(caller.Name, groups); err != nil {
		return nil, errcode.New(errcode.Forbidden, "%s; rename it at the hub", err)
	}
	return &agentv1.StreamIdentity{User: caller.Name, Groups: groups}, nil
}
