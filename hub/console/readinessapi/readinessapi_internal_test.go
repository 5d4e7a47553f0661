package readinessapi

import (
	"context"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/liveapi"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestResultsOfReports(t *testing.T) {
	finding := &agentv1.ReadinessFinding{ServiceId: "svc_1", Name: "web"}
	report := func(change func(applied *agentv1.ReadinessCheck)) *agentv1.ReadinessReport {
		out := &agentv1.ReadinessReport{}
		for _, name := range append(slices.Clone(names), addons) {
			c := &agentv1.ReadinessCheck{Name: name, Examined: 1}
			c.AddOnsOnly = true
			if name == "applied" {
				change(c)
			}
			out.Checks = append(out.Checks, c)
		}
		return out
	}
	for name, tc := range map[string]struct {
		change        func(c *agentv1.ReadinessCheck)
		result, state string
	}{
		"nothing":   {func(*agentv1.ReadinessCheck) {}, ready, passed},
		"a finding": {func(c *agentv1.ReadinessCheck) { c.Findings = append(c.Findings, finding) }, notReady, failed},
		"a finding to hide": {func(c *agentv1.ReadinessCheck) {
			c.Findings = append(c.Findings, &agentv1.ReadinessFinding{ServiceId: "svc_2"})
		}, notReady, failed},
		"withheld by the agent": {func(c *agentv1.ReadinessCheck) { c.Withheld = 1 }, notReady, failed},
		"left out by the agent": {func(c *agentv1.ReadinessCheck) { c.LeftOut = 1 }, notReady, failed},
		"a part was not read":   {func(c *agentv1.ReadinessCheck) { c.Incomplete = "no rights" }, unknown, unknown},
		"a check is not made":   {func(c *agentv1.ReadinessCheck) { c.Name = "another" }, unknown, unknown},
		"not read, with finding": {func(c *agentv1.ReadinessCheck) {
			c.Incomplete, c.Findings = "no rights", []*agentv1.ReadinessFinding{finding}
		}, notReady, failed},
	} {
		got, err := shown(report(tc.change), addonsFor{to: "1.37", readable: map[string]string{"svc_1": "web"}})
		if err != nil {
			t.Fatal(err)
		}
		if c := got.GetChecks()[1]; got.GetResult() != tc.result || c.GetState() != tc.state {
			t.Errorf("%s: %s, %v", name, got.GetResult(), c)
		}
		if last := got.GetChecks()[len(got.GetChecks())-1]; last.GetName() != addons || last.GetState() != passed {
			t.Errorf("%s: add-ons are %v", name, last)
		}
	}
}

// answering is a cluster whose agent answers with a text.
type answering struct {
	liveapi.Clusters
	text []byte
}

func (a answering) Do(context.Context, liveapi.Query) (liveapi.Answer, error) {
	return liveapi.Answer{Text: a.text}, nil
}

func TestAReportOfStrangersIsBounded(t *testing.T) {
	text, err := proto.Marshal(&agentv1.ReadinessReport{KubernetesVersion: "v1.36.3\x1b[2J" + strings.Repeat("x", 3000)})
	if err != nil {
		t.Fatal(err)
	}
	// An element of two bytes is one of some hundred in memory.
	many := bytesOf(2_000_000)
	for name, tc := range map[string]struct {
		text []byte
		code errcode.Code
	}{
		"a report": {text, ""}, "too long": {make([]byte, maxReport+1), errcode.Unprocessable}, "many empty checks": {many, errcode.Unavailable}, "no report": {[]byte("<html>"), errcode.Unavailable},
	} {
		a := &API{
			Live: &liveapi.API{
				Clusters: answering{text: tc.text}, Caller: func(context.Context) identity.Principal { return identity.Principal{} },
				Find: func(context.Context, string) (fleet.Cluster, error) { return fleet.Cluster{Name: "edge"}, nil },
			},
			Readable: func(context.Context) (identity.Reach, error) { return identity.Reach{}, nil },
			Services: func(context.Context, fleet.ServiceFilter) (fleet.ServicePage, error) { return fleet.ServicePage{}, nil },
		}
		answer, err := a.Readiness(t.Context(), connect.NewRequest(&hubv1.ReadinessRequest{Name: "edge", To: "1.37"}))
		switch {
		case tc.code != "" && !errcode.Is(err, tc.code):
			t.Errorf("%s: %v", name, err)
		case tc.code == "" && (err != nil || strings.ContainsRune(answer.Msg.GetKubernetesVersion(), 0x1b) || len(answer.Msg.GetKubernetesVersion()) > maxText+10):
			t.Errorf("%s: %v, %v", name, answer, err)
		}
	}
}

// bytesOf is a report of empty checks.
func bytesOf(checks int) []byte { return slices.Repeat([]byte{0x12, 0x00}, checks) }
