package generated

import (
	"strings"
	"testing"
)

func TestValuesAreKeptWhileTheirInputsStay(t *testing.T) {
	template := map[string]string{"random": "{{ 20 | randAlphaNum }}", "user": "{{ configuration.user }}", "both": "{{ configuration.user }}-{{ 20 | randAlphaNum }}"}
	first, err := render(template, map[string]string{"user": "ann"}, rendered{})
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
		next, err := render(c.template, map[string]string{"user": c.configuration}, first)
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
	if _, err := render(many, nil, rendered{}); err == nil || !strings.Contains(err.Error(), "spec.template.f") || !strings.Contains(err.Error(), "steps") {
		t.Errorf("the sixth of eight: %v", err)
	}
	for i := range maxValues + 1 {
		many[strings.Repeat("x", i+1)] = ""
	}
	if _, err := render(many, nil, rendered{}); err == nil || !strings.Contains(err.Error(), "at most 100") {
		t.Errorf("too many keys: %v", err)
	}
	if _, err := render(map[string]string{"a": "{{ configuration.a | no_such }}"}, nil, rendered{}); err == nil || !strings.Contains(err.Error(), "spec.template.a") {
		t.Errorf("a filter that does not exist: %v", err)
	}
}
