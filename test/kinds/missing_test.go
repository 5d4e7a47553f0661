package kinds

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/api/kinds"
)

var (
	kindName  = regexp.MustCompile(`\b[A-Z][a-z]+(?:[A-Z]+[a-z]*)+\b`)
	fieldName = regexp.MustCompile("`([a-z][A-Za-z.]*)` of a service")
)

// has are things of other tools by their words there, with the page of what Axle has for them.
var has = map[string]string{
	"web interface": "console.md", "app of apps": "operator.md", "progressive sync": "global-services.md", "one service for each cluster": "global-services.md",
	"automations and previews": "howto/preview-a-change.md", "managed namespace": "namespaces.md", "notifications are": "howto/notifications.md",
	"single sign-on": "login.md", "drift": "drift.md", "terraform provider": "terraform/README.md",
}

// TestNothingIsCalledMissingThatExists compares the pages for people who come from other tools
// with the table of kinds: what a page calls missing has no effect, and what it calls the same
// or lets axle apply read has one.
func TestNothingIsCalledMissingThatExists(t *testing.T) {
	service, _ := kinds.Of(kinds.Deployments, "ServiceDeployment")
	for _, page := range []string{"plural.md", "flux.md", "argo-cd.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs/from", page))
		if err != nil {
			t.Fatal(err)
		}
		_, missing, found := strings.Cut(string(text), "\n## What is missing today\n")
		if !found {
			t.Fatalf("%s has no part about what is missing", page)
		}
		missing, _, _ = strings.Cut(missing, "\n## ")
		for _, name := range kindName.FindAllString(missing, -1) {
			if k, ok := kinds.Of(kinds.Deployments, name); ok && k.Level == kinds.Full {
				t.Errorf("%s calls %s missing, and it is %s", page, name, k.Says)
			}
		}
		for word, here := range has {
			if _, err := os.Stat(filepath.Join(root, "docs", here)); err != nil {
				t.Error(err)
			}
			if strings.Contains(strings.ToLower(missing), word) {
				t.Errorf("%s calls %q missing, and docs/%s has it", page, word, here)
			}
		}
		for _, field := range fieldName.FindAllStringSubmatch(missing, -1) {
			if !slices.Contains(service.NotActing, "spec."+field[1]) {
				t.Errorf("%s calls %s of a service missing, and it acts", page, field[1])
			}
		}
		if page != "plural.md" {
			continue
		}
		for _, line := range strings.Split(string(text), "\n") {
			left, right, row := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			if !row || !strings.HasPrefix(right, "the same kind") {
				continue
			}
			for name := range strings.SplitSeq(left, ", ") {
				if k, ok := kinds.Of(kinds.Deployments, name); ok && k.Level != kinds.Full {
					t.Errorf("%s calls %s the same kind: %s", page, name, k.Says)
				}
			}
		}
		// Each full kind is named as one that works.
		here, _, _ := strings.Cut(string(text), "\n## What is missing today\n")
		for _, k := range kinds.All {
			if k.Group == kinds.Deployments && k.Level == kinds.Full && !regexp.MustCompile(`\b`+k.Name+`\b`).MatchString(here) {
				t.Errorf("%s does not name %s: %s", page, k.Name, k.Says)
			}
		}
	}
}
