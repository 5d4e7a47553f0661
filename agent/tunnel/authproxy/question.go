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

// Passed is the header of an answer that a program of the cluster gave, so that its refusals
// are not taken for the agent's.
const Passed = "Axle-Passed"

// passed are the headers of such an answer that go on.
var passed = []string{"Content-Type", "Location", "Retry-After"}

// Pass is Answer for a question whose answer is that of a program of the cluster, which goes
// on as it comes.
func (p *Proxy) Pass(ctx context.Context, s Stream, how func(context.Context, Caller) (*http.Response, error)) {
	caller, err := p.callerOf(s.Head())
	var response *http.Response
	if err == nil {
		response, err = how(ctx, caller)
	}
	if err != nil {
		p.refuse(ctx, s, err)
		return
	}
	defer response.Body.Close()
	answer := &agentv1.StreamAnswer{Status: int32(response.StatusCode), Headers: []*agentv1.StreamHeader{{Name: Passed, Values: []string{"true"}}}}
	for _, name := range passed {
		if values := response.Header[name]; len(values) > 0 {
			answer.Headers = append(answer.Headers, &agentv1.StreamHeader{Name: name, Values: values[:1]})
		}
	}
	if s.Answer(answer) == nil {
		relayBody(s, response, false)
	}
}

// callerOf is the person of a head, whom the policy lets read something.
func (p *Proxy) callerOf(head *agentv1.StreamHead) (Caller, error) {
	if _, err := p.admit(head); err != nil {
		return Caller{}, err
	}
	c := Caller{policy: p.policy, groups: head.GetIdentity().GetGroups()}
	c.User, c.Groups = p.policy.as(head.GetIdentity().GetUser(), c.groups)
	return c, nil
}

func (p *Proxy) answerTo(ctx context.Context, head *agentv1.StreamHead, how func(context.Context, Caller) (proto.Message, error)) ([]byte, error) {
	c, err := p.callerOf(head)
	if err != nil {
		return nil, err
	}
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
