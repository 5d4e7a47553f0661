package explain_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/explain"
)

// run returns what axle explain prints.
func run(t *testing.T, format string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := explain.Command(&command.App{Streams: command.Streams{Out: &out, Err: &out}, Getenv: func(string) string { return "" }, Output: format})
	c.SetArgs(append([]string{}, args...))
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestExplain(t *testing.T) {
	tests := map[string]struct {
		argument string
		want     []string
	}{
		"a kind":                     {"notificationsink", []string{"NotificationSink (deployments.plural.sh/v1alpha1)", "NAME:        up to 253 lower-case", "A destination of notifications.", "spec <object"}},
		"a field with words":         {"NotificationSink.spec.type", []string{"VALUES:      SLACK, TEAMS, PLURAL, WEBHOOK", "REQUIRED:    yes"}},
		"a field that does nothing":  {"NotificationSink.spec.configuration.plural.urgent", []string{"TYPE:        boolean", "EFFECT:      none"}},
		"a field of a list":          {"ServiceDeployment.spec.renderers[].type", []string{"VALUES:      AUTO, RAW, HELM"}},
		"a field without a default":  {"GlobalService.spec.distro", []string{"VALUES:      GENERIC, EKS"}},
		"a field with a default":     {"ServiceDeployment.spec.syncConfig.createNamespace", []string{"DEFAULT:     true"}},
		"a kind that is only stored": {"Pipeline", []string{"SUPPORT:     stored"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, "table", tc.argument)
			for _, want := range tc.want {
				if err != nil || !strings.Contains(out, want) {
					t.Errorf("no %q in %v\n%s", want, err, out)
				}
			}
		})
	}
}

// TestEveryKindIsExplained also reads the definitions of all kinds.
func TestEveryKindIsExplained(t *testing.T) {
	list, err := run(t, "name")
	for _, k := range kinds.All {
		if out, err := run(t, "json", k.Name); err != nil || !json.Valid([]byte(out)) {
			t.Errorf("%s: %v\n%s", k.Name, err, out)
		}
		if !slices.Contains(strings.Fields(list), k.Name) {
			t.Errorf("%s is not listed (%v)", k.Name, err)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for argument, want := range map[string]string{
		"Sink":                       `"Sink" is not a kind`,
		"NotificationSink.spec.host": "NotificationSink.spec has no field host; it has bindings, configuration",
		"NotificationSink.status.x":  "NotificationSink.status has no field x",
	} {
		if out, err := run(t, "table", argument); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q\n%s", argument, err, want, out)
		}
	}
}

// TestSchema looks at the parts of a schema that editors act on.
func TestSchema(t *testing.T) {
	out, err := run(t, "table", "ScmConnection", "--schema")
	var s struct {
		Schema     string   `json:"$schema"`
		Required   []string `json:"required"`
		Open       *bool    `json:"additionalProperties"`
		Properties map[string]struct {
			Const      string `json:"const"`
			Properties map[string]struct {
				Type string   `json:"type"`
				Enum []string `json:"enum"`
			} `json:"properties"`
			Open *bool `json:"additionalProperties"`
		} `json:"properties"`
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	spec := s.Properties["spec"]
	switch {
	case err != nil || !strings.Contains(s.Schema, "json-schema.org") || !slices.Equal(s.Required, []string{"apiVersion", "kind", "metadata"}):
		t.Errorf("%v: %s %v", err, s.Schema, s.Required)
	case s.Properties["apiVersion"].Const != "deployments.plural.sh/v1alpha1" || s.Properties["kind"].Const != "ScmConnection":
		t.Errorf("it is for %q %q", s.Properties["apiVersion"].Const, s.Properties["kind"].Const)
	case s.Open == nil || *s.Open || spec.Open == nil || *spec.Open:
		t.Error("an unknown field is taken")
	case spec.Properties["default"].Type != "boolean" || !slices.Contains(spec.Properties["type"].Enum, "GITHUB"):
		t.Errorf("fields: %+v", spec.Properties)
	case strings.Contains(out, "x-kubernetes") || s.Properties["status"].Properties != nil:
		t.Error("it has what no editor reads, or a status")
	}
}

func TestSchemaOfAllKinds(t *testing.T) {
	out, err := run(t, "table", "--schema")
	var s struct {
		All []struct {
			If, Then map[string]any
		} `json:"allOf"`
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	full := 0
	for _, k := range kinds.All {
		if k.Level == kinds.Full && !k.Cluster {
			full++
		}
	}
	if err != nil || len(s.All) != full || full < 20 {
		t.Errorf("%v: %d schemas of %d kinds", err, len(s.All), full)
	}
}
