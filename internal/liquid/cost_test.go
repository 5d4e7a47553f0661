package liquid_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/liquid"
)

// beside are the limits of templates that are rendered beside other work.
var beside = liquid.Limits{Steps: cost.Budget, Bytes: 64 << 10, Repeatable: true}

// dear are templates of which each step looks cheap. Without a charge for what a call
// reads and makes, they take from seconds to for ever, or all memory, or end the process.
var dear = map[string]string{
	"a regular expression":           big + "{% for i in (1..9000) %}{{ '(a?){300}y' | regexMatch: big }}{% endfor %}",
	"one that is found":              big + "{% for i in (1..9000) %}{{ '(a*)*y' | regexFind: big }}{% endfor %}",
	"one that splits":                big + "{% for i in (1..9000) %}{% assign x = '(a+a+)+y' | regexSplit: big, 3 %}{% endfor %}",
	"one that finds all":             big + "{% for i in (1..9000) %}{% assign x = '(a+a+)+y' | regexFindAll: big, 3 %}{% endfor %}",
	"one that replaces":              big + "{% for i in (1..9000) %}{% assign x = '(a+a+)+y' | regexReplaceAll: big, 'b' %}{% endfor %}",
	"a large program":                strings.Repeat("{{ '"+strings.Repeat("(a{1000})", 50)+"' | regexMatch: 'a' }}", 20),
	"a replacement that grows":       big + "{% assign x = 'a' | regexReplaceAll: big, big %}",
	"groups that grow":               big + "{% assign x = '(a+)' | regexReplaceAll: big, '" + strings.Repeat("$1", 2000) + "' %}",
	"a literal replacement":          big + "{% assign x = 'a' | regexReplaceAllLiteral: big, big %}",
	"replace":                        big + "{% assign x = big | replace: 'a', big %}",
	"join":                           big + "{% assign l = big | splitList: '' %}{% assign l = 4000 | until %}{% assign x = l | join: big %}",
	"wrapWith":                       big + "{% assign x = 1 | wrapWith: big, big %}",
	"indent":                         "{% assign x = 60000 | repeat: '\n' %}{% assign x = 1000 | indent: x %}",
	"a date's width":                 "{% assign x = 'now' | date: '%999999999Y' %}",
	"dates":                          "{% assign f = 20000 | repeat: '%Y' %}{% for i in (1..9000) %}{% assign x = 'now' | date: f %}{% endfor %}",
	"upcase":                         big + "{% for i in (1..9000) %}{% assign x = big | upcase | downcase | upcase | downcase %}{% endfor %}",
	"sort":                           list + "{% for i in (1..9000) %}{% assign x = l | sort | reverse | sort %}{% endfor %}",
	"uniq":                           list + "{% for i in (1..9000) %}{% assign x = l | uniq %}{% endfor %}",
	"without":                        list + "{% for i in (1..9000) %}{% assign x = l | without: 1, 2, 3, 4, 5, 6, 7, 8, 9 %}{% endfor %}",
	"truncatewords":                  big + "{% for i in (1..9000) %}{% assign x = big | truncatewords: 900 %}{% endfor %}",
	"truncate":                       big + "{% for i in (1..9000) %}{% assign x = big | truncate: 900 %}{% endfor %}",
	"YAML":                           "{% assign y = 10000 | repeat: '- a\n' %}{% for i in (1..9000) %}{% assign x = y | fromYaml %}{% endfor %}",
	"hashes":                         big + "{% for i in (1..9000) %}{% assign x = big | sha512sum %}{% endfor %}",
	"a loop over a map that ends":    "{% assign y = 4000 | until | join: ': 1\n' %}{% assign m = y | append: ': 1' | fromYaml %}{% for i in (1..9000) %}{% for x in m limit: 0 %}{% endfor %}{% for x in m %}{% break %}{% endfor %}{% endfor %}",
	"comparisons of lists":           list + "{% assign k = l | reverse | reverse %}{% for i in (1..9000) %}" + strings.Repeat("{% if l == k %}{% endif %}", 100) + "{% endfor %}",
	"comparisons in one piece":       list + "{% assign k = l | reverse | reverse %}{% for i in (1..9000) %}{% if " + strings.Repeat("l == k and ", 300) + " l == k %}{% endif %}{% endfor %}",
	"contains":                       big + "{% for i in (1..9000) %}" + strings.Repeat("{% if big contains 'b' %}{% endif %}", 100) + "{% endfor %}",
	"pieces that do nothing":         "{% for i in (1..9000) %}" + strings.Repeat("{% if a %}{% endif %}", 1000) + "{% endfor %}",
	"lists of the same list":         "{% assign l = 'a' | list: 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a' %}" + strings.Repeat("{% assign l = l | list: l, l, l, l, l, l, l, l, l %}", 10) + "{% assign x = l | toJson %}",
	"a map that contains itself":     "{% assign m = 'a' | dict: 1 %}{% assign m = m | set: 'self', m %}{{ m }}",
	"a map within its own list":      "{% assign m = 'a' | dict: 1 %}{% assign l = m | list: m %}{% assign m = m | set: 'l', l %}{{ m }}",
	"a map that grows in many lists": "{% assign d = 'a' | dict: 1 %}" + grows + "{% assign m = 'k' | dict: outer %}{% assign x = m | toJson %}",
	"many variables":                 variables(),
	"slow by design":                 "{{ 'x' | derivePassword: 'long', 'p', 'u', 's' }}",
	"keys":                           "{% for i in (1..9) %}{{ 'rsa' | genPrivateKey }}{% endfor %}",
	"a counter that is called":       "{% for i in (1..2000000) %}{% assign x = -100000 | axle_pass %}{% endfor %}",
}

const (
	big  = "{% assign big = 60000 | repeat: 'a' %}"
	list = "{% assign l = 3000 | until %}"
	// grows makes a list of one map many times, and then that map large.
	grows = "{% assign outer = d | list %}{% for i in (1..1500) %}{% assign outer = outer | append: d %}{% endfor %}{% assign e = 60000 | repeat: 'b' %}{% assign d = d | set: 'big', e %}"
)

// variables makes 3000 texts of 60,000 bytes and keeps them all.
func variables() string {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "{%% assign v%d = 60000 | repeat: 'a' %%}", i)
	}
	return b.String()
}

// TestDearTemplatesAreRefused holds that each ends before it takes more than its steps.
func TestDearTemplatesAreRefused(t *testing.T) {
	for name, template := range dear {
		t.Run(name, func(t *testing.T) {
			e := engine().Limit(beside)
			began := time.Now()
			out, err := e.Render([]byte(template))
			if err == nil {
				t.Errorf("it was rendered: %.100q, %d steps", out, e.Steps())
			}
			t.Logf("%v after %d steps: %v", time.Since(began), e.Steps(), err)
		})
	}
}

// TestUsualTemplatesAreCheap holds that what people write is far from the limit.
func TestUsualTemplatesAreCheap(t *testing.T) {
	for template, most := range map[string]int{
		"apps/{{ cluster.tags.tier | default: 'dev' }}":                                                             5,
		"{% if cluster.tags.tier == 'prod' %}release{% else %}main{% endif %}":                                      2,
		"{{ '^v([0-9]+)\\.([0-9]+)' | regexReplaceAll: 'v1.22.3', '${1}-$2' }}":                                     10,
		"{% for x in list %}{{ x | upcase | append: '-' }}{% endfor %}":                                             20,
		"{{ cluster | toYaml | indent: 4 }}":                                                                        30,
		"{{ 'a,b,c,d' | split: ',' | sort | uniq | join: '/' }}":                                                    30,
		"{% for i in (1..500) %}{% if i == 250 %}{{ i | plus: 1 | times: 2 | append: 'x' }}{% endif %}{% endfor %}": 600,
	} {
		e := engine().Limit(beside)
		if out, err := e.Render([]byte(template)); err != nil || e.Steps() > most {
			t.Errorf("%s: %q, %d steps, want at most %d; %v", template, out, e.Steps(), most, err)
		}
	}
}

// TestEveryFilterIsCharged holds that each filter is charged for what it reads, or ends the
// template, except those that look at the head of a value only.
func TestEveryFilterIsCharged(t *testing.T) {
	heads := strings.Fields(`all any coalesce default dig empty first get hasKey kindIs kindOf last mustFirst mustLast required size ternary
		type typeIs typeIsLike typeOf`)
	for _, value := range []string{"{% assign v = 3000 | until %}", "{% assign v = 60000 | repeat: 'a' %}"} {
		for _, filter := range liquid.Filters() {
			e := engine().Limit(liquid.Limits{Steps: 1 << 20, Bytes: 64 << 10, Slow: true})
			if _, err := e.Render([]byte(value)); err != nil {
				t.Fatal(err)
			}
			before := e.Steps()
			_, err := e.Render([]byte(value + "{% assign x = v | " + filter + " %}"))
			if took := e.Steps() - 2*before; err == nil && took < 70 && !slices.Contains(heads, filter) {
				t.Errorf("%s takes %d steps after %s", filter, took, value)
			}
		}
	}
}

// TestStepsAreThoseOfAllTemplates holds that many templates share one budget, that With
// begins again, and that Stop is asked.
func TestStepsAreThoseOfAllTemplates(t *testing.T) {
	e := engine().Limit(liquid.Limits{Steps: 1000, Bytes: 64 << 10})
	text := []byte("{% for i in (1..400) %}{% endfor %}")
	for i, fits := range []bool{true, true, false} {
		if _, err := e.Render(text); (err == nil) != fits {
			t.Errorf("template %d: %v", i, err)
		}
	}
	if _, err := e.With(map[string]any{"a": "b"}).Render([]byte("{{ a }}{% for i in (1..400) %}{% endfor %}")); err != nil {
		t.Errorf("with other bindings: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e = engine().Limit(liquid.Limits{Steps: 1000, Bytes: 64 << 10, Stop: ctx.Err})
	if _, err := e.Render(text); err == nil || !strings.Contains(err.Error(), "takes too long") {
		t.Errorf("with a context that ended: %v", err)
	}
}

// TestParsedTemplatesAreShared holds that engines with values of their own render one
// parsed template at a time.
func TestParsedTemplatesAreShared(t *testing.T) {
	texts := map[string]string{
		"{% for x in l limit: 2 %}{% if x == me %}{{ x | append: '!' }}{% elsif x %}b{% endif %}{% endfor %}":            "%s!b",
		"{% for x in l reversed %}{% cycle 'a', 'b' %}{% endfor %}{{ me }}":                                              "ab%s",
		"{% case me %}{% when 'x', 'y' %}{% else %}{% unless me == 'x' %}{{ l | join: me }}{% endunless %}{% endcase %}": "%[1]s%[1]sx",
		"{%- assign y = me | plus: 0 -%} {% tablerow i in (1..1) cols: 1 %}{{ y }}{% endtablerow %}":                     `<tr class="row1"><td class="col1">%s</td></tr>`,
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			me := strconv.Itoa(i)
			e := liquid.New(map[string]any{"me": me, "l": []any{me, "x"}}, time.Unix(0, 0)).Limit(beside)
			for range 50 {
				for text, want := range texts {
					if out, err := e.With(e.Bindings()).Render([]byte(text)); err != nil || string(out) != fmt.Sprintf(want, me) {
						t.Errorf("engine %s, %s: %q, %v", me, text, out, err)
					}
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkLimited(b *testing.B) {
	for name, text := range map[string]string{
		"field": "apps/{{ cluster.tags.tier | default: 'x' | upper }}/{% if cluster.tags.tier == 'dev' %}a{% else %}b{% endif %}",
		"loop":  "{% for i in (1..500) %}{{ i | plus: 1 | append: 'x' }}{% endfor %}",
	} {
		b.Run(name, func(b *testing.B) {
			e := engine().Limit(beside)
			for b.Loop() {
				if _, err := e.With(e.Bindings()).Render([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
