package backend_test

import (
	"os"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/config/backend"
)

// The file of backends that the page on configuration shows is one.
func TestThePageOnConfigurationShowsARealFile(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml\ndefault:")
	text, _, ended := strings.Cut(text, "```")
	if !found || !ended {
		t.Fatal("there is no file of backends on the page")
	}
	kubeconfig := write(t, "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\n")
	text = strings.NewReplacer("/etc/axle/age.key", "testdata/age.key", "/etc/axle/kubeconfig", kubeconfig).Replace("default:" + text)
	f, err := backend.Load(write(t, text), folder{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Backends) != 6 {
		t.Errorf("%d backends", len(f.Backends))
	}
}
