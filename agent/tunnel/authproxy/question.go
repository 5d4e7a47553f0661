package authproxy

import (
	"context"
	"net/http"
	"slices"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubereq"
)

// Caller is the person for whom the hub asks the agent itself, within the same policy as a
// request to the API server.
type Caller struct {
	// User and Groups are what the API server sees of the person.
	User   string
	Groups []string
	policy Policy
	// groups are those of the hub.
	groups []string
}

// Answer answers a question of the hub that is for the agent itself, for a caller whom the
// policy lets read something. A refusal has the form of an API server's.
func (p *Proxy) Answer(ctx context.Context, s Stream, how func(context.Context, Caller) (proto.Message, error)) {
	answer, err := p.answerTo(ctx, s.Head(), how)
	if err != nil {
		p.refuse(ctx, s, err)
		return
	}
	if s.Begin(&agentv1.StreamAnswer{Status: http.StatusOK, Headers: []*agentv1.StreamHeader{{Name: "Content-Type", Values: []string{"application/x-protobuf"}}}}) == nil {
		// The hub may be gone.
		_, _ = s.Write(answer)
	}
}

func (p *Proxy) answerTo(ctx context.Context, head *agentv1.StreamHead, how func(context.Context, Caller) (proto.Message, error)) ([]byte, error) {
	if _, err := p.admit(head); err != nil {
		return nil, err
	}
	c := Caller{policy: p.policy, groups: head.GetIdentity().GetGroups()}
	c.User, c.Groups = p.policy.as(head.GetIdentity().GetUser(), c.groups)
	m, err := how(ctx, c)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(m)
}

// Administrates reports whether the caller is an administrator of the hub, whom the policy lets
// be one here.
func (c Caller) Administrates() bool { return slices.Contains(c.Groups, AdminsGroup) }

// Allowed reports whether the policy lets the caller list the objects of a path of the API
// server, such as /api/v1/namespaces/web/pods. The cluster's RBAC decides after it.
func (c Caller) Allowed(path string) bool {
	return c.policy.allow(kubereq.Parse(http.MethodGet, path, ""), c.groups) == nil
}
