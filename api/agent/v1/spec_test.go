package agentv1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/spec/convert/converttest"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
)

// notSent are the fields of a spec that do not reach agents, or that reach them as values
// the hub has collected.
var notSent = []string{
	"configuration", "contexts", "detach", "docsPath", "git",
	"helm.chart", "helm.git", "helm.repository", "helm.url", "helm.version",
	"imports", "namespace",
	"renderers.helm.chart", "renderers.helm.git", "renderers.helm.repository", "renderers.helm.url", "renderers.helm.version",
	"repository", "secretRefs", "secrets", "sources", "version",
}

func TestEveryFieldReachesTheAgent(t *testing.T) {
	lost := converttest.Lost(func(spec *specv1.Spec) string {
		text, err := json.Marshal(agentv1.Deliver(*spec).Declared())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	})
	if diff := cmp.Diff(notSent, lost); diff != "" {
		t.Errorf("fields that agents do not get (-want +got):\n%s", diff)
	}
}

// What an agent reads is what was declared, field by field.
func TestDeclaredIsWhatWasDelivered(t *testing.T) {
	var spec specv1.Spec
	converttest.Fill(&spec)
	sent := agentv1.Deliver(spec).Declared()
	want := spec
	want.Configuration, want.Contexts, want.Detach, want.DocsPath, want.Git = nil, nil, false, "", nil
	want.Imports, want.Namespace, want.Repository, want.SecretRefs, want.Secrets, want.Sources, want.Version = nil, "", "", nil, nil, nil, ""
	for _, h := range []*specv1.Helm{want.Helm, want.Renderers[0].Helm} {
		h.Chart, h.Git, h.Repository, h.URL, h.Version = "", nil, "", "", ""
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("(-declared +read):\n%s", diff)
	}
}

// A service that uses no newer field costs nothing more than before.
func TestNoSettingsWithoutNewFields(t *testing.T) {
	if got := agentv1.Deliver(specv1.Spec{Adopt: true}).GetSettings(); got != nil {
		t.Errorf("settings %v", got)
	}
	if got := (*agentv1.ServiceSpec)(nil).Declared(); !cmp.Equal(got, specv1.Spec{}) {
		t.Errorf("nothing is read as %v", got)
	}
}
