package liquid_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/liquid"
)

func engine() *liquid.Engine {
	return liquid.New(map[string]any{
		"configuration": map[string]any{"color": "green", "n": "3"},
		"cluster":       map[string]any{"name": "one", "tags": map[string]any{"tier": "prod", "b": "2"}},
		"list":          []any{"a", "b"},
		"text":          "two\nlines",
	}, time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
}

func TestRender(t *testing.T) {
	tests := map[string]struct{ template, want string }{
		"variable":     {"{{ configuration.color }}", "green"},
		"unset":        {"[{{ configuration.none }}{{ none.at.all }}]", "[]"},
		"default":      {"{{ configuration.none | default: 'red' }}", "red"},
		"condition":    {"{% if cluster.tags.tier == 'prod' %}yes{% else %}no{% endif %}", "yes"},
		"loop":         {"{% for x in list %}{{ x }};{% endfor %}", "a;b;"},
		"upcase":       {"{{ 'a' | upcase }}{{ 'A' | lower }}{{ 'a' | upper }}", "AaA"},
		"quote":        {`{{ 'a"b' | quote }}`, `"a\"b"`},
		"squote":       {"{{ 'a' | squote }}", "'a'"},
		"b64":          {"{{ 'hi' | b64enc }} {{ 'aGk=' | b64dec }}", "aGk= hi"},
		"sha256sum":    {"{{ 'a' | sha256sum }}", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
		"toJson":       {"{{ cluster.tags | toJson }}", `{"b":"2","tier":"prod"}`},
		"toYaml":       {"{{ list | toYaml }}", "- a\n- b"},
		"fromJson":     {`{% assign x = '{"a": {"b": "c"}}' | fromJson %}{{ x.a.b }}`, "c"},
		"indent":       {"{{ text | indent: 2 }}", "  two\n  lines"},
		"nindent":      {"x:{{ text | nindent: 2 }}", "x:\n  two\n  lines"},
		"trunc":        {"{{ 'abcdef' | trunc: 3 }}{{ 'abcdef' | trunc: -2 }}", "abcef"},
		"trimSuffix":   {"{{ '-' | trimSuffix: 'name-' }}", "name"},
		"contains":     {"{{ 'b' | contains: 'abc' }}", "true"},
		"splitList":    {"{% assign p = ',' | splitList: 'a,b' %}{{ p[1] }}", "b"},
		"keys":         {"{{ cluster.tags | keys | join: ' ' }}", "b tier"},
		"values":       {"{{ cluster.tags | values | join: ' ' }}", "2 prod"},
		"hasKey":       {"{{ cluster.tags | hasKey: 'tier' }}", "true"},
		"dig":          {"{{ cluster | dig: 'tags.tier' }}[{{ cluster | dig: 'tags.none.x' }}]", "prod[]"},
		"int":          {"{% assign n = configuration.n | int %}{{ n | plus: 1 }}", "4"},
		"ternary":      {"{{ true | ternary: 'a', 'b' }}", "a"},
		"has":          {"{{ list | has: 'b' }}", "true"},
		"coalesce":     {"{{ configuration.none | coalesce: 'b' }}", "b"},
		"title":        {"{{ 'ab cd' | title }}", "Ab Cd"},
		"repeat":       {"{{ 'ab' | repeat: 2 }}", "abab"},
		"required":     {"{{ 'x' | required: 'no' }}", "x"},
		"raw braces":   {"{% raw %}{{ x }}{% endraw %}", "{{ x }}"},
		"basename":     {"{{ 'a/b' | basename }} {{ 'a/b' | dirname }}", "b a"},
		"base64 alias": {"{{ 'hi' | base64_encode }}", "aGk="},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := engine().Render([]byte(test.template))
			if err != nil || string(got) != test.want {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := map[string]struct {
		template string
		line     int
		want     string
	}{
		"unknown filter": {"a\n{{ x | nofilter }}", 2, "nofilter"},
		"open block":     {"a\nb\n{% if x %}", 3, "if"},
		"include":        {"{% include '/etc/passwd' %}", 1, "include is not available"},
		"required":       {"\n{{ none | required: 'set the color' }}", 2, "set the color"},
		"huge repeat":    {"{{ 'ab' | repeat: 100000000 }}", 1, "repeat makes more"},
		"not base64":     {"{{ '?' | b64dec }}", 1, "b64dec: not base64"},
		"a panic":        {"{{ 'x' | rest }}", 1, "rest: "},
		"library panic":  {"{{ list | sort: 1, 2, 3 }}", 1, ""},
		"huge count":     {"{{ 100000000 | until }}", 1, "more than 65536 numbers"},
		"huge indent":    {"{{ 'a' | indent: 100000000 }}", 1, "indent"},
		"huge random":    {"{{ 100000000 | randAlpha }}", 1, "at most 65536"},
		"not a number":   {"\n{{ 'x' | add: 1 }}", 2, `add: the text is not a number`},
		"too few":        {"{{ 'x' | regexMatch }}", 1, "wants 1 arguments, got 0"},
		"no map":         {"{{ 'x' | keys }}", 1, "wants a map, got a text"},
		"environment":    {"{{ 'HOME' | env }}", 1, "env: not available"},
		"endless output": {"{% assign x = 'abcdefgh' | repeat: 100000 %}{% for i in (1..1000) %}{{ x }}{% endfor %}", 0, "output is larger than 32 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := engine().Render([]byte(test.template))
			bad, ok := err.(*liquid.Error)
			if !ok || bad.Line != test.line || !strings.Contains(bad.Message, test.want) {
				t.Errorf("got %#v, want line %d: ...%s...", err, test.line, test.want)
			}
		})
	}
}

// TestBindingsStay holds that a template which changes a map does so for itself.
func TestBindingsStay(t *testing.T) {
	e := engine()
	first, err := e.Render([]byte("{% assign x = cluster.tags | set: 'tier', 'test' %}{{ cluster.tags.tier }}"))
	if err != nil || string(first) != "test" {
		t.Errorf("got %q, %v inside the template", first, err)
	}
	second, err := e.Render([]byte("{{ cluster.tags.tier }}"))
	if err != nil || string(second) != "prod" {
		t.Errorf("got %q, %v in the next template", second, err)
	}
}

func TestGenerated(t *testing.T) {
	e := engine()
	if _, err := e.Render([]byte("{{ 'a' | upper }}")); err != nil || e.Generated() {
		t.Errorf("a template that generates nothing: %v, %v", e.Generated(), err)
	}
	if _, err := e.Render([]byte("{{ 8 | randAlphaNum }}")); err != nil || !e.Generated() {
		t.Errorf("a template that generates: %v, %v", e.Generated(), err)
	}
}
