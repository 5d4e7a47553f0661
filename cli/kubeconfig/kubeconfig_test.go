package kubeconfig_test

import (
	"os"
	"path/filepath"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/axle-cd/axle/cli/kubeconfig"
	"github.com/axle-cd/axle/internal/errcode"
)

// A name that is another cluster's already is not overwritten.
func TestMergeKeepsAnotherCluster(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	t.Setenv("KUBECONFIG", path)
	of := func(server string) *clientcmdapi.Config {
		c := clientcmdapi.NewConfig()
		c.CurrentContext = "edge-1"
		c.Clusters["edge-1"] = &clientcmdapi.Cluster{Server: server}
		c.AuthInfos["edge-1"], c.Contexts["edge-1"] = clientcmdapi.NewAuthInfo(), &clientcmdapi.Context{Cluster: "edge-1", AuthInfo: "edge-1"}
		return c
	}
	for range 2 { // the same cluster again is an update
		if _, err := kubeconfig.Merge(t.Context(), of("https://one.example.com")); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubeconfig.Merge(t.Context(), of("https://two.example.com")); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("another cluster of the name: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file became %s (%v)", after, err)
	}
}
