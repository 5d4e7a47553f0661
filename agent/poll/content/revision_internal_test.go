package content

import (
	"testing"

	"github.com/axle-cd/axle/agent/poll/change"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

func TestWhatMakesARevisionForHooks(t *testing.T) {
	spec := func() *agentv1.ServiceSpec {
		return &agentv1.ServiceSpec{Id: "s", SpecDigest: "s1:a", Configuration: map[string]string{"a": "1", "b": "2"}, Secrets: map[string]string{"c": "3"}}
	}
	before := Revision(spec(), change.Inputs{TarballDigest: "axle1:a"})
	for name, test := range map[string]struct {
		change func(*agentv1.ServiceSpec, *change.Inputs)
		same   bool
	}{
		"nothing":             {func(*agentv1.ServiceSpec, *change.Inputs) {}, true},
		"a sync is asked for": {func(s *agentv1.ServiceSpec, _ *change.Inputs) { s.SyncRequest, s.SpecDigest = 1, "s1:b" }, true},
		"a prune is approved": {func(s *agentv1.ServiceSpec, _ *change.Inputs) { s.PruneApproval, s.SpecDigest = 1, "s1:b" }, true},
		"the cluster changed": {func(s *agentv1.ServiceSpec, _ *change.Inputs) { s.Cluster = &agentv1.ClusterData{Id: "c"} }, true},
		"other words":         {func(s *agentv1.ServiceSpec, _ *change.Inputs) { s.Display = &agentv1.Display{Revision: 3} }, true},
		"other files":         {func(_ *agentv1.ServiceSpec, in *change.Inputs) { in.TarballDigest = "axle1:b" }, false},
		"other parts":         {func(_ *agentv1.ServiceSpec, in *change.Inputs) { in.Parts = "p" }, false},
		"a value":             {func(s *agentv1.ServiceSpec, _ *change.Inputs) { s.Configuration["a"] = "9" }, false},
		"a secret":            {func(s *agentv1.ServiceSpec, _ *change.Inputs) { s.Secrets["c"] = "9" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := spec(), change.Inputs{TarballDigest: "axle1:a"}
			test.change(s, &in)
			if got := Revision(s, in); (got == before) != test.same {
				t.Errorf("%s, before %s", got, before)
			}
		})
	}
}
