package authproxy

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// A question for the agent itself is within the policy of requests to its API server.
func TestQuestionsAreWithinThePolicy(t *testing.T) {
	const pods = "/api/v1/namespaces/shop/pods"
	for name, test := range map[string]struct {
		policy   Policy
		user     string
		answered bool
		allowed  bool
	}{
		"no limit":             {Policy{}, "ann", true, true},
		"off":                  {Policy{Mode: Off}, "ann", false, false},
		"read":                 {Policy{Mode: Read}, "ann", true, true},
		"another namespace":    {Policy{Namespaces: []string{"lab"}}, "ann", true, false},
		"no lists":             {Policy{Verbs: []string{"get"}}, "ann", true, false},
		"people: in none":      {Policy{Groups: []string{"ops"}}, "ann", false, false},
		"people: in one":       {Policy{Groups: []string{"dev"}}, "ann", true, true},
		"nobody":               {Policy{}, "", false, false},
		"a name of Kubernetes": {Policy{}, "system:admin", false, false},
	} {
		p := &Proxy{policy: test.policy}
		head := &agentv1.StreamHead{Method: "GET", RequestUri: "/axle/readiness", Identity: &agentv1.StreamIdentity{User: test.user, Groups: []string{"dev"}}, Readiness: &agentv1.ReadinessQuestion{To: "1.37"}}
		asked := false
		_, err := p.answerTo(t.Context(), head, func(_ context.Context, c Caller) (proto.Message, error) {
			asked = true
			if c.Allowed(pods) != test.allowed || c.User != test.user || !slices.Equal(c.Groups, []string{"dev"}) {
				t.Errorf("%s: %+v, pods are allowed: %v", name, c, c.Allowed(pods))
			}
			return &agentv1.ReadinessReport{}, nil
		})
		if asked != test.answered || (err == nil) != test.answered || err != nil && !errcode.Is(err, errcode.Forbidden) && !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: asked %v, %v", name, asked, err)
		}
	}
}
