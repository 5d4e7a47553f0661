package kubelet

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// A program has the variables of the runtime, and its arguments cannot refer to them.
func TestArgumentsReferToVariablesOfThePod(t *testing.T) {
	p := &pod{k: &Kubelet{}, object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one"}}}
	c := &corev1.Container{Env: []corev1.EnvVar{{Name: "HOME", Value: "/home"}, {Name: "COPY", Value: "$(HOSTNAME) of $(HOME)"}}}
	vars, err := p.environment(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if have := expandAll([]string{"$(HOME) $(HOSTNAME) $(PATH)", "$(COPY)"}, vars); !slices.Equal(have, []string{"/home $(HOSTNAME) $(PATH)", "$(HOSTNAME) of /home"}) {
		t.Errorf("arguments %q", have)
	}
	if have := p.variables(c, vars); !slices.Contains(have, "HOSTNAME=one") || !slices.Contains(have, "HOME=/home") || slices.Contains(have, "HOME=/root") {
		t.Errorf("variables %q", have)
	}
}
