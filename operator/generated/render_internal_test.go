package generated

import (
	"context"
	"errors"
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

func TestValuesAreKeptWhileTheirInputsStay(t *testing.T) {
	template := map[string]string{"random": "{{ 20 | randAlphaNum }}", "user": "{{ configuration.user }}", "both": "{{ configuration.user }}-{{ 20 | randAlphaNum }}"}
	first, err := render(t.Context(), template, map[string]string{"user": "ann"}, rendered{})
	if err != nil {
		t.Fatal(err)
	}
	if string(first.values["user"]) != "ann" || len(first.values["random"]) != 20 {
		t.Errorf("first %q", first.values)
	}
	for name, c := range map[string]struct {
		template      map[string]string
		configuration string
		kept          []string
		made          []string
	}{
		"nothing changed":              {template, "ann", []string{"random", "user", "both"}, nil},
		"another configuration":        {template, "bob", []string{"random"}, []string{"user", "both"}},
		"another template of one":      {map[string]string{"random": "{{ 21 | randAlphaNum }}", "user": template["user"], "both": template["both"]}, "ann", []string{"user", "both"}, []string{"random"}},
		"a key that is new beside one": {map[string]string{"random": template["random"], "new": "{{ 20 | randAlphaNum }}"}, "ann", []string{"random"}, []string{"new"}},
	} {
		next, err := render(t.Context(), c.template, map[string]string{"user": c.configuration}, first)
		if err != nil || len(next.values) != len(c.template) {
			t.Fatalf("%s: %v, %q", name, err, next.values)
		}
		for _, key := range c.kept {
			if string(next.values[key]) != string(first.values[key]) {
				t.Errorf("%s: %s became %q", name, key, next.values[key])
			}
		}
		for _, key := range c.made {
			if string(next.values[key]) == string(first.values[key]) {
				t.Errorf("%s: %s stayed %q", name, key, next.values[key])
			}
		}
	}
}

// The limit of steps is that of all values together.
func TestRenderingHasALimit(t *testing.T) {
	many := map[string]string{}
	for _, key := range strings.Split("a b c d e f g h", " ") {
		many[key] = "{% for i in (1..1800) %}{% endfor %}"
	}
	if _, err := render(t.Context(), many, nil, rendered{}); err == nil || !strings.Contains(err.Error(), "spec.template.f") || !strings.Contains(err.Error(), "steps") {
		t.Errorf("the sixth of eight: %v", err)
	}
	for i := range maxValues + 1 {
		many[strings.Repeat("x", i+1)] = ""
	}
	if _, err := render(t.Context(), many, nil, rendered{}); err == nil || !strings.Contains(err.Error(), "at most 100") {
		t.Errorf("too many keys: %v", err)
	}
	if _, err := render(t.Context(), map[string]string{"a": "{{ configuration.a | no_such }}"}, nil, rendered{}); err == nil || !strings.Contains(err.Error(), "spec.template.a") {
		t.Errorf("a filter that does not exist: %v", err)
	}
}

// dear takes more than there is, in calls that look cheap.
const dear = "{% assign big = 60000 | repeat: 'a' %}{% for i in (1..9000) %}{% assign x = '(a+a+)+y' | regexMatch: big %}{% endfor %}"

// TestDearTemplatesAreRefused holds that they are, with the field, for both kinds.
func TestDearTemplatesAreRefused(t *testing.T) {
	if _, err := render(t.Context(), map[string]string{"a": "x", "b": dear}, nil, rendered{}); err == nil || !strings.Contains(err.Error(), "spec.template.b") || !strings.Contains(err.Error(), "more than 10000 steps") {
		t.Errorf("a GeneratedSecret: %v", err)
	}
	texts, err := newTexts(t.Context(), &hubv1.Cluster{Name: "edge"})
	if err != nil {
		t.Fatal(err)
	}
	template := dear
	if texts.text("spec.handle", &template); texts.err == nil || !strings.Contains(texts.err.Error(), "spec.clusterSpec.spec.handle") || !strings.Contains(texts.err.Error(), "more than 2500 steps") {
		t.Errorf("a ClusterSync: %v", texts.err)
	}
	if texts, err = newTexts(t.Context(), &hubv1.Cluster{Name: "edge"}); err != nil {
		t.Fatal(err)
	}
	template = "{{ 'x' | derivePassword: 'long', 'p', 'u', 's' }}"
	if texts.text("spec.handle", &template); texts.err == nil || !strings.Contains(texts.err.Error(), "takes too long") {
		t.Errorf("a slow filter in a ClusterSync: %v", texts.err)
	}
}

// TestFailuresAreNotTriedAgain holds that the same inputs fail without being rendered, and
// others are rendered; and that what a deadline ended is no failure of the template.
func TestFailuresAreNotTriedAgain(t *testing.T) {
	f, calls := newFailures(), 0
	fails := func() error { calls++; return errors.New("too dear") }
	for range 3 {
		if err := f.once(t.Context(), []any{"a", map[string]string{"x": "y"}}, fails); err == nil || !errors.As(err, new(unrenderable)) || err.Error() != "too dear" {
			t.Errorf("a failure: %v", err)
		}
	}
	_ = f.once(t.Context(), []any{"a", map[string]string{"x": "z"}}, fails)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := f.once(ctx, "b", fails); err == nil || errors.As(err, new(unrenderable)) {
			t.Errorf("a deadline: %v", err)
		}
	}
	if calls != 4 {
		t.Errorf("%d calls, want 4", calls)
	}
	if err := f.once(t.Context(), "c", func() error { return nil }); err != nil {
		t.Errorf("a success: %v", err)
	}
}
