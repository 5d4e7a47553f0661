package command_test

import (
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/cli/command"
)

func TestKubectlIsForTheGivenCluster(t *testing.T) {
	here, err := filepath.Abs("edge one.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[[2]string]string{
		{"", ""}:                     "kubectl",
		{"", "edge"}:                 "kubectl --context edge",
		{"edge one.yaml", ""}:        "kubectl --kubeconfig '" + here + "'",
		{"/etc/k.yaml", "it's edge"}: `kubectl --kubeconfig /etc/k.yaml --context 'it'\''s edge'`,
	} {
		if got := command.Kubectl(given[0], given[1]); got != want {
			t.Errorf("%q: %s, want %s", given, got, want)
		}
	}
}
