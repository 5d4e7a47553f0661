package agentapi

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/fleet"
)

// Agents of older releases read what this hub sends: the bytes of a spec that exists do
// not change. The hash was taken before specs had a definition of their own.
func TestBytesOfASpecStay(t *testing.T) {
	text, err := os.ReadFile("../../api/spec/v1/testdata/full.json")
	if err != nil {
		t.Fatal(err)
	}
	full := fleet.AgentSpec{Configuration: map[string]string{"a": "1"}, Contexts: `{"prod":{}}`}
	if err := json.Unmarshal(text, &full.Service.Spec); err != nil {
		t.Fatal(err)
	}
	full.Service.ID, full.Service.Parts = "svc_1", []fleet.Part{{Path: fleet.ChartPath}}
	full.Service.Limits = fleet.Limits{SyncWindows: []fleet.SyncWindow{{Kind: "deny"}}, HubWindows: []fleet.SyncWindow{{Kind: "allow"}}}
	limited := fleet.AgentSpec{}
	limited.Service.Limits.ServiceAccount = "guest"
	for name, tc := range map[string]struct {
		spec fleet.AgentSpec
		want string
	}{
		"full":    {full, "d3bd611432fd3dcd55542440b859e1a441dcf725883b42960289a451ca48dd3a"},
		"limited": {limited, "db6445b61fa22eda3e880184123b5d81c723f30b9f71b145fa27094fad9bc775"},
		"empty":   {fleet.AgentSpec{}, "669641215255f9edc159d2a60c38f132580bba155715cc757a8dad03bb93e5d4"},
	} {
		sent := specMessage(tc.spec)
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
		var read agentv1.ServiceSpec
		if err := proto.Unmarshal(text, &read); err != nil || !proto.Equal(&read, sent) {
			t.Errorf("%s: read as %v, %v", name, &read, err)
		}
	}
}

// The agent lets services of administrators do what those of the default project may.
func TestProjectsOfAdministratorsAreTold(t *testing.T) {
	for id, want := range map[string]bool{"prj_default": false, "prj_abc": false, "prj_admins_abc": true} {
		var spec fleet.AgentSpec
		spec.Service.ProjectID = id
		if got := specMessage(spec).GetTenancy().GetAdministrators(); got != want {
			t.Errorf("%s: %t", id, got)
		}
	}
}
