package rule_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/rule"
)

func TestNames(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	tests := map[string]struct {
		rule      *rule.Text
		good, bad []string
	}{
		"name":           {rule.Name, []string{"a", "0", "a-b.c", "helmrepository.apps.podinfo", long(253)}, []string{"", " a", "a ", "A", "a_b", "-a", "a-", ".a", "a.", "../x", "a/b", "<script>", "a\nb", "a\n", "a\u202eb", "é", long(254)}},
		"label":          {rule.Label, []string{"a", "0", "a-b", long(63)}, []string{"", "a.b", "A", "-a", "a-", "a\n", long(64)}},
		"account":        {rule.Account, []string{"a", "ci.shop-1", long(63)}, []string{"", "CI", "a_b", ".a", "a.", long(64)}},
		"login provider": {rule.LoginProvider, []string{"okta", "a", long(40)}, []string{"", "okta-", "a.b", long(41)}},
		"value set":      {rule.ValueSet, []string{"Prod_1.eu", "a", long(63)}, []string{"", "_a", "a-", "a b", long(64)}},
		"group":          {rule.Group, []string{"web team", "a", "A/b@c+d_e.f", "a-", long(199)}, []string{"", " a", "a ", "-a", "system:masters", "a\n", "a\tb", long(200)}},
		"tool":           {rule.Tool, []string{"a", "Kustomize_1.0", "a-", long(63)}, []string{"", "-a", "a/b", "../a", long(64)}},
	}
	for name, tc := range tests {
		for _, s := range tc.good {
			if !tc.rule.Valid(s) {
				t.Errorf("%s: %q is refused", name, s)
			}
		}
		for _, s := range tc.bad {
			if tc.rule.Valid(s) {
				t.Errorf("%s: %q is taken", name, s)
			}
		}
	}
}

func TestOr(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := rule.Or(words); got != want {
			t.Errorf("%v: %q, want %q", words, got, want)
		}
	}
}
