package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The control plane of the test bed and Cluster API's manager are modules of their own. The
// same package is compiled once for both only with the same versions of all that it imports
// (ADR 195).
func TestTheBedsModulesAgree(t *testing.T) {
	t.Parallel()
	const kube, capi = "../../test/kube/kubedev", "../../test/capi/capidev"
	versions := func(folder string) map[string]string {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^(?:require )?\t?(\S+) (v\S+)(?: // indirect)?$`).FindAllSubmatch(text, -1) {
			found[string(m[1])] = string(m[2])
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:replace |\t)(\S+) => \S+ (v\S+)$`).FindAllSubmatch(text, -1) {
			found[string(m[1])] = string(m[2])
		}
		return found
	}
	of, shared := versions(kube), 0
	for module, version := range versions(capi) {
		other, ok := of[module]
		if ok {
			shared++
		}
		if ok && other != version {
			t.Errorf("%s is %s for the control plane and %s for Cluster API; take the newer one for both: cd test/kube/kubedev (or test/capi/capidev) && go get %s@VERSION && go mod tidy", module, other, version, module)
		}
	}
	if shared < 60 {
		t.Fatalf("%d modules of both were found, fewer than 60: look at how this test reads go.mod", shared)
	}
}
