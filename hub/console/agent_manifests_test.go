package console_test

import (
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// The hub answers with the objects of its own version, and keeps no token.
func TestAgentManifests(t *testing.T) {
	b := newBed(t)
	got := must(t, b.clusters.AgentManifests, &hubv1.AgentManifestsRequest{BootstrapToken: "t0ken", Namespace: "tools", Args: []string{"--log-level=debug"}})
	for _, want := range []string{"namespace: \"tools\"", "token: dDBrZW4=", "--log-level=debug", "image: \"" + got.GetImage() + "\"", "--hub-url="} {
		if !strings.Contains(got.GetManifests(), want) {
			t.Errorf("the manifests have no %q", want)
		}
	}
	for text, bad := range map[string]*hubv1.AgentManifestsRequest{
		"not a name":       {Namespace: "Tools\n---\nkind: Secret"},
		"not a URL":        {HubUrl: "https://user:secret@hub"},
		"not a duration":   {PollInterval: "soon"},
		"at most 50":       {Args: make([]string, 51)},
		"1000 bytes":       {Image: strings.Repeat("x", 1001)},
		"is not a dur":     {PollInterval: "-1m"},
		"hub_url is not":   {HubUrl: "ftp://hub"},
		"namespace \"-x\"": {Namespace: "-x"},
	} {
		refused(t, b.clusters.AgentManifests, bad, errcode.Invalid, text)
	}
	// Quotes and new lines in an image or an argument stay in their values.
	odd := must(t, b.clusters.AgentManifests, &hubv1.AgentManifestsRequest{Image: "a\"\n---\nkind: Evil", Args: []string{"x\"]\nkind: Evil"}})
	if strings.Contains(odd.GetManifests(), "\nkind: Evil") {
		t.Error("a value made an object")
	}
}
