package archtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/archtest"
)

var update = flag.Bool("update", false, "write rules.txt into ARCHITECTURE.md")

func load(t *testing.T) (string, string, *archtest.Rules, map[string]*archtest.Package) {
	t.Helper()
	root, err := archtest.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := archtest.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	packages, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return root, string(text), rules, packages
}

// loaded reads the tree once. Nothing writes to it.
var loaded = sync.OnceValues(func() (map[string]*archtest.Package, error) {
	root, err := archtest.Root()
	if err != nil {
		return nil, err
	}
	return archtest.Load(root)
})

func report(t *testing.T, bad []string) {
	t.Helper()
	for _, b := range bad {
		t.Error(b)
	}
}

func TestImportsKeepToThePolicy(t *testing.T) {
	_, _, rules, packages := load(t)
	report(t, rules.CheckImports(packages))
}

func TestForbiddenImportIsCaught(t *testing.T) {
	_, _, rules, _ := load(t)
	tests := map[string]struct {
		pkg     string
		imports archtest.Package
		want    string
	}{
		"agent knows the hub":       {"agent/poll", archtest.Package{Imports: []string{"hub/fleet"}}, "agent/poll: may not import hub/fleet"},
		"domain knows SQL":          {"hub/fleet", archtest.Package{Imports: []string{"hub/store"}}, "hub/fleet: may not import hub/store"},
		"leaf knows a component":    {"internal/jitter", archtest.Package{Imports: []string{"agent/poll"}}, "internal/jitter: may not import agent/poll"},
		"code imports the test bed": {"hub", archtest.Package{Imports: []string{"test/pg"}}, "hub: imports test/pg, which only tests may"},
		"a test breaks a wall":      {"agent/apply", archtest.Package{TestImports: []string{"hub/desired"}}, "agent/apply: its tests may not import hub/desired"},
		"no row":                    {"newthing", archtest.Package{}, "newthing: no row in rules.txt covers this package"},
		"born but still later":      {"hub/billing", archtest.Package{}, "hub/billing: exists but is still listed under later"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			bad := rules.CheckImports(map[string]*archtest.Package{tc.pkg: &tc.imports})
			if !slices.Contains(bad, tc.want) {
				t.Errorf("got %q, want %q", bad, tc.want)
			}
		})
	}
	if bad := rules.CheckImports(map[string]*archtest.Package{"hub/store": {Imports: []string{"hub/fleet", "internal/errcode"}, TestImports: []string{"hub/store", "test/pg"}}}); len(bad) != 0 {
		t.Errorf("allowed imports are refused: %q", bad)
	}
}

// A rule of a binary that lost its binary would hold nothing.
func TestRulesThatAreNone(t *testing.T) {
	for _, line := range []string{"forbid : hub* why", "allow : testing why", "forbid a b : hub* why", "forbid a : hub*", "a row without a colon"} {
		if _, err := archtest.Parse(line); err == nil || !strings.HasPrefix(err.Error(), "rules.txt:1: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestBinariesLinkOnlyTheirOwn(t *testing.T) {
	root, _, rules, packages := load(t)
	var binaries []string
	for name := range packages {
		if strings.HasPrefix(name, "cmd/") && name != "cmd/dev" && !strings.HasPrefix(name, "cmd/dev/") {
			binaries = append(binaries, name)
		}
	}
	asked := slices.Clone(binaries)
	for _, f := range rules.Forbids() {
		if packages[f.Package] != nil {
			asked = append(asked, f.Package)
		}
	}
	links := linked(t, root, asked)
	for _, f := range rules.Forbids() {
		for _, path := range links[f.Package] {
			prefix, isPrefix := strings.CutSuffix(f.Pattern, "*")
			if path == f.Pattern || (isPrefix && strings.HasPrefix(path, prefix)) {
				t.Errorf("%s links %s: %s", f.Package, path, f.Reason)
			}
		}
	}
	allowed := map[string]bool{}
	for _, a := range rules.Allows() {
		if packages[a.Package] != nil {
			allowed[a.Package+" "+a.Pattern] = false
		}
	}
	for _, binary := range binaries {
		for _, path := range links[binary] {
			if _, ok := allowed[binary+" "+path]; ok {
				allowed[binary+" "+path] = true
				continue
			}
			own := strings.TrimPrefix(path, "github.com/axle-cd/axle/")
			if path == "testing" || strings.HasPrefix(own, "test/") || (own != path && strings.HasSuffix(own, "test") && own != "internal/archtest") {
				t.Errorf("%s links %s, which is for tests", binary, path)
			}
		}
	}
	for rule, used := range allowed {
		if !used {
			t.Errorf("allow %s matches nothing any more; take it out of rules.txt", rule)
		}
	}
}

// linked asks the go command for what packages link, themselves included. Load has read
// each file before, so that the test cache notices changes of files that this command
// would hide.
func linked(t *testing.T, root string, packages []string) map[string][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{"list", "-json=ImportPath,Deps"}
	for _, name := range packages {
		args = append(args, "./"+name)
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	links := map[string][]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		links[strings.TrimPrefix(p.ImportPath, "github.com/axle-cd/axle/")] = append(p.Deps, p.ImportPath)
	}
	for _, name := range packages {
		if len(links[name]) < 2 {
			t.Fatalf("go list names nothing that %s links", name)
		}
	}
	return links
}

func TestContractsImportLittle(t *testing.T) {
	_, _, _, packages := load(t)
	allowed := []string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/apiextensions-apiserver/pkg/apis/", "google.golang.org/protobuf/", "connectrpc.com/connect", "sigs.k8s.io/yaml"}
	for name, p := range packages {
		if !strings.HasPrefix(name, "api/") {
			continue
		}
		for _, path := range p.Outside {
			outside := strings.Contains(strings.SplitN(path, "/", 2)[0], ".")
			if outside && !slices.ContainsFunc(allowed, func(a string) bool { return strings.HasPrefix(path, a) }) {
				t.Errorf("%s: contracts may not import %s", name, path)
			}
		}
	}
}

func TestPackagesSayWhatTheyAre(t *testing.T) {
	_, _, _, packages := load(t)
	report(t, archtest.CheckNames(packages))
}

func TestHabits(t *testing.T) {
	_, _, _, packages := load(t)
	for _, p := range packages {
		report(t, p.Habits)
	}
}

func TestFlowsNameRealCode(t *testing.T) {
	root, _, _, _ := load(t)
	bad, err := archtest.CheckFlows(root)
	if err != nil {
		t.Fatal(err)
	}
	report(t, bad)
}

func TestArchitectureHoldsTheRules(t *testing.T) {
	root, rules, _, _ := load(t)
	path := filepath.Join(root, "ARCHITECTURE.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := archtest.Architecture(string(page), rules)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Error("ARCHITECTURE.md holds another policy than rules.txt; run make generate")
	}
	if lines := strings.Count(want, "\n"); lines > 300 {
		t.Errorf("ARCHITECTURE.md has %d lines, at most 300 are read in one go", lines)
	}
}
