package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// A build with other flags compiles all packages once more, and nothing fails (ADR 195).
func TestAllIsCompiledAlike(t *testing.T) {
	t.Parallel()
	const flags = "-trimpath -gcflags=all=-dwarf=false"
	for file, want := range map[string]string{
		"Makefile":             "COMPILED := " + flags + "\n",
		"test/kube/compile.sh": "nodwarf=-gcflags=all=-dwarf=false\n",
		"test/kube/build.sh":   `go build -toolexec "'$roomy'" "$nodwarf" -v -trimpath `,
		"test/stores/build.sh": `go build -toolexec "'$roomy'" "$nodwarf" "$@" -v -trimpath `,
		"test/capi/build.sh":   `go build -toolexec "'$roomy'" "$nodwarf" -modfile="$work/go.mod" -v -trimpath `,
		"test/quick.sh":        `GOFLAGS="${GOFLAGS:-} ` + flags + `" CGO_ENABLED=0`,
		"test/flakes.sh":       `GOFLAGS="${GOFLAGS:-} ` + flags + `" CGO_ENABLED=0`,
		"test/mutants.sh":      `GOFLAGS="${GOFLAGS:-} ` + flags + `" CGO_ENABLED=0`,
		"test/truecache.sh":    `GOFLAGS="${GOFLAGS:-} ` + flags + `" CGO_ENABLED=0`,
		"test/seedrace.sh":     `GOFLAGS="${GOFLAGS:-} ` + flags + `" CGO_ENABLED=0`,
		"cmd/release/plan.go":  `noTables = "-gcflags=all=-dwarf=false"`,
	} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q: its builds share no package with the tests", file, want)
		}
	}
}
