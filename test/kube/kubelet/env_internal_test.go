package kubelet

import "testing"

func TestReferencesToVariables(t *testing.T) {
	vars := map[string]string{"NAME": "value", "EMPTY": ""}
	for name, test := range map[string]struct{ text, want string }{
		"a known one":         {"--at=$(NAME):80", "--at=value:80"},
		"an empty one":        {"[$(EMPTY)]", "[]"},
		"an unknown one":      {"$(OTHER)", "$(OTHER)"},
		"an escaped one":      {"$$(NAME)", "$(NAME)"},
		"a dollar at the end": {"cost $", "cost $"},
		"never closed":        {"$(NAME", "$(NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := expand(test.text, vars); got != test.want {
				t.Errorf("expand(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}
