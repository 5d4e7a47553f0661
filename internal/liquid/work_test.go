package liquid_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/liquid"
)

// endless are templates that would take all time or memory.
var endless = map[string]string{
	"steps":         "{% for i in (1..2000000000) %}{% endfor %}",
	"more than":     "{% for i in (1..2000000000) -%}{%- if true %}{% continue %}{% endif %}{% endfor %}",
	"more  than":    "{% for a in (1..1000) %}{% for b in (1..1000) reversed limit: 900 %}{% endfor %}{% endfor %}",
	"larger   than": "{% tablerow a in (1..2000000000) cols: 2 %}{% endtablerow %}",
	"makes more":    "{% assign x = 'aaaaaaaa' %}{% for i in (1..60) %}{% assign x = x | append: x %}{% endfor %}",
	"makes  more":   "{% assign x = 'aaaaaaaa' %}{% for i in (1..60) %}{% assign x = x | prepend: x %}{% endfor %}",
	"makes a list":  "{% assign x = 'a,b' | split: ',' %}{% for i in (1..60) %}{% assign x = x | concat: x %}{% endfor %}",
	"capture":       "{% for i in (1..60) %}{% capture x %}{{ x }}{{ x }}a{% endcapture %}{% endfor %}",
	"range":         "{{ (1..2000000000) | join: ',' }}",
	"a range":       "{% assign x = (1..2000000000) %}{{ x | size }}",
	"a  range":      "{% for i in (1..2000000000) | reverse %}{% endfor %}",
	"a   range":     "{% if (1..2000000000) contains 3 %}{% endif %}",
	"larger than":   "{% for i in (1..1500) %}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{% endfor %}",
	"takes more":    "{% for i in (1..100) %}{{ 'rsa' | genPrivateKey }}{% endfor %}",
	"takes    more": "{% for i in (1..400) %}{{ i | repeat: 'a' }}{{ 'a' | upper }}{{ 'a' | upper }}{{ 'a' | upper }}{{ 'a' | upper }}{{ 'a' | upper }}{% endfor %}",
}

func TestLimits(t *testing.T) {
	for want, template := range endless {
		out, err := engine().Limit(liquid.Limits{Steps: 2000, Bytes: 64 << 10, Slow: true}).Render([]byte(template))
		if err == nil || out != nil || !strings.Contains(err.Error(), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s: %d bytes, %v; want an error that says %q", template, len(out), err, want)
		}
	}
}

// Limits change nothing of what a template means.
func TestLimitsChangeNothingElse(t *testing.T) {
	for template, want := range map[string]string{
		"a  {% for x in list -%}  {{ x }} {%- endfor %} b":                                                 "a  ab b",
		"a  {%- for x in (1..3) %}{%- if x == 2 %}{% continue %}{% endif %} {{ x }}{% endfor %}":           "a 1 3",
		"{% raw %}{% for x in (1..3) %}{{ (1..2) | size }}{% endraw %}":                                    "{% for x in (1..3) %}{{ (1..2) | size }}",
		"{% comment %}{% for x in (1..3) %}{% endfor %}{% endcomment %}c":                                  "c",
		"{{ '{% for x in y %}' }}{{ 'a..b' | append: '..c' }}":                                             "{% for x in y %}a..b..c",
		"{% for x in list %}{% for y in list %}{{ x }}{{ y }}{{ forloop.index }};{% endfor %}{% endfor %}": "aa1;ab2;ba1;bb2;",
	} {
		free, err := engine().Render([]byte(template))
		if err != nil || string(free) != want {
			t.Errorf("without limits, %s: %q, %v; want %q", template, free, err, want)
		}
		limited, err := engine().Limit(liquid.Limits{Steps: 100, Bytes: 1000}).Render([]byte(template))
		if err != nil || string(limited) != want {
			t.Errorf("with limits, %s: %q, %v; want %q", template, limited, err, want)
		}
	}
}
