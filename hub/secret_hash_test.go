package hub_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestHashesOfSecretsCompareNothing: whoever may read a service of others and write one of
// their own cannot find out by the shown hashes whether the secrets are equal.
func TestHashesOfSecretsCompareNothing(t *testing.T) {
	b := newTableBed(t)
	with := func(cluster, name, repository string) string {
		return service(cluster, name, repository, `"secrets": {"pass": "a guessed password", "again": "a guessed password"}`)
	}
	b.must("Services/Create", with("edge-shop", "keeper", "repo-shop"))
	b.must("Services/Create", with("edge-lab", "guesser", "repo-lab"))
	hashes := func(who, cluster, name string) map[string]string {
		code, answer := b.as(who, "Services/Config", fmt.Sprintf(`{"ref": {"cluster": %q, "name": %q}}`, cluster, name))
		if code != http.StatusOK {
			t.Fatalf("%s reads %s: %d %v", who, name, code, answer)
		}
		found := map[string]string{}
		values, _ := answer["values"].([]any)
		for _, one := range values {
			value := one.(map[string]any)
			layer := value["layers"].([]any)[0].(map[string]any)
			if strings.Contains(fmt.Sprint(layer["value"]), "guessed") {
				t.Errorf("%s reads a secret: %v", who, layer)
			}
			found[value["key"].(string)], _ = layer["hash"].(string)
		}
		return found
	}
	keeper, guesser := hashes("reader", "edge-shop", "keeper"), hashes("other", "edge-lab", "guesser")
	seen := map[string]bool{}
	for _, hash := range []string{keeper["pass"], keeper["again"], guesser["pass"], guesser["again"]} {
		if hash == "" || seen[hash] {
			t.Errorf("hashes are missing, or compare secrets: %v and %v", keeper, guesser)
		}
		seen[hash] = seen[hash] || hash != guesser["pass"] && hash != guesser["again"]
	}
	// Who changes a service has the form of version 1, which Terraform's states hold.
	if again := hashes("admin", "edge-lab", "guesser"); again["pass"] != guesser["pass"] || len(again["pass"]) != 8 {
		t.Errorf("its writers see %v and %v", guesser, again)
	}
}
