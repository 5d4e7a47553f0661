package render_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/agent/render"
)

// live answers lookups from a map and counts them.
type live struct {
	objects map[render.LookupKey]string
	fail    error
	asked   int
}

// Lookup returns what the map holds.
func (l *live) Lookup(_ context.Context, key render.LookupKey) ([]byte, error) {
	l.asked++
	return []byte(l.objects[key]), l.fail
}

func TestLookupsAreAnsweredAndNoted(t *testing.T) {
	secret := render.LookupKey{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "s"}
	none := render.LookupKey{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "none"}
	list := render.LookupKey{APIVersion: "v1", Kind: "Node"}
	cluster := &live{objects: map[render.LookupKey]string{
		secret: `{"metadata":{"name":"s","uid":"u1","resourceVersion":"7"},"data":{"key":"live"}}`,
		list:   `{"kind":"NodeList","items":[{"metadata":{"name":"a","uid":"u2","resourceVersion":"8"}},{"metadata":{"name":"b","uid":"u3","resourceVersion":"9"}}]}`,
	}}
	pass := helmPass(t, `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  key: {{ (lookup "v1" "Secret" "shop" "s").data.key }}
  again: {{ (lookup "v1" "Secret" "shop" "s").data.key }}
  none: "{{ lookup "v1" "Secret" "shop" "none" }}"
  nodes: "{{ range (lookup "v1" "Node" "" "").items }}{{ .metadata.name }}{{ end }}"
  random: {{ uuidv4 }}
  has: "{{ .Capabilities.APIVersions.Has "batch/v1/CronJob" }}"
`)
	pass.Lookup = cluster
	pass.Capabilities = render.Capabilities{KubernetesVersion: "v1.36.3", APIVersions: []string{"v1"}}
	result, err := newRunner(t, render.Config{}).Render(patient(t), pass)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"key":"live"`, `"again":"live"`, `"none":"map[]"`, `"nodes":"ab"`, `"has":"false"`} {
		if !strings.Contains(string(result.Objects[0].JSON), want) {
			t.Errorf("%s lacks %s", result.Objects[0].JSON, want)
		}
	}
	// The chart generates a value, so it was rendered twice: asked once each.
	if cluster.asked != 3 {
		t.Errorf("the cluster was asked %d times, want 3", cluster.asked)
	}
	wantReads := []render.Read{
		{Key: secret, State: "u1/7"}, {Key: none, State: "absent"},
		{Key: list, State: render.StateOf([]byte(cluster.objects[list]))},
	}
	if diff := cmp.Diff(wantReads, result.Reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	// A kind that was looked up is asked for: a CRD may bring it later.
	if diff := cmp.Diff([]string{"batch/v1/CronJob", "v1/Node", "v1/Secret"}, result.APIVersionsAsked); diff != "" {
		t.Errorf("API versions asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/data/random"}, result.Objects[0].Volatile); diff != "" {
		t.Errorf("volatile (-want +got):\n%s", diff)
	}
}

func TestFailedLookupIsNoAbsence(t *testing.T) {
	pass := helmPass(t, looksUp)
	pass.Lookup = &live{fail: errors.New("the API server is away")}
	_, err := newRunner(t, render.Config{}).Render(patient(t), pass)
	if err == nil || !strings.Contains(err.Error(), "templates/a.yaml:1") || !strings.Contains(err.Error(), "the API server is away") {
		t.Errorf("got %v, want the template and the cause", err)
	}
}

func TestStateOf(t *testing.T) {
	node := func(version string) string { return `{"metadata":{"uid":"u","resourceVersion":"` + version + `"}}` }
	tests := map[string]struct {
		a, b string
		same bool
	}{
		"absent and empty list":    {a: "", b: `{"items":[]}`},
		"same object":              {a: node("1"), b: node("1"), same: true},
		"changed object":           {a: node("1"), b: node("2")},
		"list in another order":    {a: `{"items":[` + node("1") + `,` + node("2") + `]}`, b: `{"items":[` + node("2") + `,` + node("1") + `]}`, same: true},
		"list with another item":   {a: `{"items":[` + node("1") + `]}`, b: `{"items":[` + node("1") + `,` + node("2") + `]}`},
		"list's own version moves": {a: `{"metadata":{"resourceVersion":"1"},"items":[]}`, b: `{"metadata":{"resourceVersion":"2"},"items":[]}`, same: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, b := render.StateOf([]byte(test.a)), render.StateOf([]byte(test.b))
			if (a == b) != test.same {
				t.Errorf("states %q and %q, want same: %v", a, b, test.same)
			}
		})
	}
}
