package kinds

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// alternatives lists, for kinds with fields that exclude each other, the fields to
// leave out of each of the objects that TestEveryFieldIsKept creates.
var alternatives = map[string][][]string{
	"AccessBinding": {
		{"spec.subjects[].user", "spec.subjects[].group", "spec.place.cluster", "spec.place.service"},
		{"spec.subjects[].user", "spec.subjects[].serviceAccount", "spec.place.project"},
		{"spec.subjects[].serviceAccount", "spec.subjects[].group", "spec.place.project"},
	},
	"AdminGrant":          {{"spec.user"}, {"spec.serviceAccount"}},
	"AgentRuntimePolicy":  {{"spec.cluster"}, {"spec.clusterRef"}},
	"ClusterRegistration": {{"spec.tokenSecretRef"}, {"spec.templateRef", "spec.variables", "spec.managementCluster"}},
	"CustomHealth":        {{"spec.script"}, {"spec.expressions"}},
	"GlobalService":       {{"spec.template"}, {"spec.serviceRef", "spec.template.git.url"}, {"spec.serviceRef", "spec.template.repositoryRef"}},
	"GroupMembership":     {{"spec.members[].user"}, {"spec.members[].serviceAccount"}},
	"InfrastructureStack": {{"spec.cluster", "spec.git.url"}, {"spec.clusterRef", "spec.repositoryRef"}},
	"ManagedNamespace":    {{"spec.service.git.url"}, {"spec.service.repositoryRef"}},
	"Monitor":             {{"spec.service", "spec.query.log"}, {"spec.serviceRef", "spec.query.metrics"}},
	"PreviewEnvironmentTemplate": {
		{"spec.template.git.url"},
		{"spec.template.repositoryRef"},
	},
	"ServiceDeployment": {{"spec.cluster", "spec.git.url"}, {"spec.clusterRef", "spec.repositoryRef"}},
}

// samples has a match for each pattern.
var samples = []string{"5m", "10%", "2.5", "edge/web", "a_tool", "Reason"}

// filler creates an object with every field of a schema.
type filler struct {
	t    *testing.T
	left []string // the fields to leave out
	has  map[string]bool
}

func (f *filler) fill(path, name string, s *fieldSchema) any {
	f.has[path] = true
	switch {
	case len(s.Enum) > 0:
		for _, v := range s.Enum {
			if v != s.Default {
				return v
			}
		}
		return s.Enum[0]
	case s.Type == "object" || s.Open:
		out := map[string]any{}
		if s.Open {
			out["any"] = map[string]any{"deep": []any{int64(1), "two", map[string]any{"three": true}}}
		}
		if s.AdditionalProperties != nil {
			out["key"] = f.fill(path+".*", "value", s.AdditionalProperties)
		}
		for _, name := range s.sorted() {
			if at := path + "." + name; !slices.Contains(f.left, at) {
				out[name] = f.fill(at, name, s.Properties[name])
			}
		}
		return out
	case s.Type == "array":
		return []any{f.fill(path+"[]", name, s.Items)}
	case s.Type == "boolean":
		return s.Default != true
	case s.Type == "integer":
		if s.Minimum != nil {
			return int64(*s.Minimum) + 1
		}
		return int64(7)
	}
	return f.text(path, name, s)
}

func (f *filler) text(path, name string, s *fieldSchema) string {
	if s.Format == "date-time" {
		return "2026-01-02T03:04:05Z"
	}
	if s.Pattern != "" {
		for _, sample := range samples {
			if regexp.MustCompile(s.Pattern).MatchString(sample) {
				return sample
			}
		}
		f.t.Fatalf("%s: no sample matches %s", path, s.Pattern)
	}
	return strings.ToLower(name)
}

// withDefault returns a status with the conditions that the CRD sets by default.
// Applying others keeps them.
func withDefault(d *definition, status any) any {
	fallback, ok := d.root().Properties["status"].Default.(map[string]any)
	set, is := status.(map[string]any)
	if !ok || !is {
		return status
	}
	merged := maps.Clone(set)
	if a, ok := fallback["conditions"].([]any); ok {
		if b, ok := set["conditions"].([]any); ok {
			merged["conditions"] = slices.Concat(a, b)
		}
	}
	return merged
}

// Every kind stores each of its fields and returns it unchanged, and adds nothing.
func TestEveryFieldIsKept(t *testing.T) {
	s := serve(t)
	for _, d := range definitions(t) {
		t.Run(d.kind(), func(t *testing.T) {
			has := map[string]bool{}
			variants := alternatives[d.kind()]
			if variants == nil {
				variants = [][]string{nil}
			}
			for i, left := range variants {
				f := &filler{t: t, left: left, has: has}
				name := "default"
				if d.Spec.Names.Kind != "HubSettings" && d.Spec.Names.Kind != "AgentUpgrade" {
					name = "all-" + string(rune('a'+i))
				}
				object := map[string]any{"apiVersion": d.api(), "kind": d.kind(), "metadata": map[string]any{"name": name}}
				status := map[string]any{"apiVersion": d.api(), "kind": d.kind(), "metadata": map[string]any{"name": name}}
				if spec := d.root().Properties["spec"]; spec != nil {
					object["spec"] = f.fill("spec", "spec", spec)
				}
				stored, err := s.apply(t.Context(), object)
				if err != nil {
					t.Fatalf("without %q: %v", left, err)
				}
				if have, want := text(t, stored["spec"]), text(t, object["spec"]); have != want {
					t.Errorf("without %q it came back as\n%s\nand was\n%s", left, have, want)
				}
				reported := d.root().Properties["status"]
				if reported == nil {
					continue
				}
				status["status"] = f.fill("status", "status", reported)
				if stored, err = s.apply(t.Context(), status, "status"); err != nil {
					t.Fatalf("status: %v", err)
				}
				if have, want := text(t, stored["status"]), text(t, withDefault(d, status["status"])); have != want {
					t.Errorf("the status came back as\n%s\nand was\n%s", have, want)
				}
			}
			for path := range d.fields() {
				if (strings.HasPrefix(path, "spec") || strings.HasPrefix(path, "status")) && !has[path] {
					t.Errorf("no object had %s", path)
				}
			}
		})
	}
}
