package agentapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestHealsOfAReport(t *testing.T) {
	fields := make([]*agentv1.DriftedField, maxHealed+5)
	for i := range fields {
		fields[i] = &agentv1.DriftedField{Path: ".data.a" + strings.Repeat("a", 1000), Manager: "kubectl-edit"}
	}
	got, err := heals([]*agentv1.Heal{
		{Number: 1, ServiceId: "svc_1", At: 5, Kind: "Namespace", Name: "shop"},
		{Number: 4, ServiceId: "svc_1", Kind: "Deployment", Group: "apps", Namespace: "shop", Name: "web", Fields: fields, Times: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || len(got[1].Fields) != maxHealed || len(got[1].Fields[0].Path) > maxDriftedText+3 || got[1].Fields[0].Manager != "kubectl-edit" {
		t.Fatalf("%+v", got)
	}
	got[1].Fields = nil
	want := []fleet.Heal{{Number: 1, ServiceID: "svc_1", At: 5, Object: "Namespace shop"}, {Number: 4, ServiceID: "svc_1", Object: "Deployment shop/web", Times: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("heals (-want +got):\n%s", diff)
	}
	good := func(number int64) *agentv1.Heal {
		return &agentv1.Heal{Number: number, ServiceId: "svc_1", Kind: "Pod", Name: "a"}
	}
	many := make([]*agentv1.Heal, maxHeals+1)
	for i := range many {
		many[i] = good(int64(i + 1))
	}
	for name, bad := range map[string][]*agentv1.Heal{
		"too many":    many,
		"no service":  {{Number: 1, Kind: "Pod"}},
		"no kind":     {{Number: 1, ServiceId: "svc_1"}},
		"no number":   {good(0)},
		"not sorted":  {good(2), good(1)},
		"twice":       {good(2), good(2)},
		"one is lost": {good(1), nil},
	} {
		if _, err := heals(bad); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
