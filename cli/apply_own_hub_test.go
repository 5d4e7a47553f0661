package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli"
	"github.com/axle-cd/axle/hub/hubtest"
)

// ownManifests are all kinds of the group axle-cd.github.io that axle apply reads. Two
// bindings of one place are one declaration.
const ownManifests = `apiVersion: axle-cd.github.io/v1alpha1
kind: AccessBinding
metadata: {name: readers}
spec: {place: {project: shop}, actions: [read], subjects: [{user: ann@example.com}]}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: AccessBinding
metadata: {name: writers}
spec: {place: {project: shop}, actions: [write], subjects: [{user: ann@example.com}]}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: GroupMembership
metadata: {name: sre}
spec: {group: sre, members: [{user: ann@example.com}]}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: AdminGrant
metadata: {name: ann}
spec: {user: ann@example.com}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: User
metadata: {name: ann}
spec: {email: ann@example.com}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: LoginProvider
metadata: {name: okta}
spec: {issuer: 'https://okta.example.com', clientId: axle, groupsClaim: groups, groups: {platform: sre}}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: FederationTrust
metadata: {name: ci}
spec: {issuer: 'https://ci.example.com', audience: axle, claims: {sub: main}, serviceAccount: ci}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: ProjectLimits
metadata: {name: shop}
spec: {project: shop, namespaces: [shop]}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: Project
metadata: {name: shop}
spec: {name: shop}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: HubSettings
metadata: {name: default}
spec: {syncWindows: [{kind: deny, schedule: '0 1 * * *', duration: 1h}]}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: Outputs
metadata: {name: vpc}
spec: {values: {id: one}}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: Repository
metadata: {name: own}
spec: {type: git, url: 'https://git.invalid/own'}
`

// TestApplyOfOwnKinds applies, changes nothing, and prunes, for each kind of our group.
func TestApplyOfOwnKinds(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	dir := t.TempDir()
	t.Setenv("AXLE_CONFIG", filepath.Join(dir, "config.yaml"))
	t.Setenv("AXLE_HUB_URL", h.URL)
	t.Setenv("AXLE_TOKEN", h.AdminToken)
	does := func(line string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := cli.Run(t.Context(), strings.Fields(line), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
			t.Fatalf("axle %s: exit %d: %s%s", line, code, out.String(), errs.String())
		}
		return out.String()
	}
	file := filepath.Join(dir, "own.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results := func(line string) map[string]string {
		t.Helper()
		var rows []struct{ Kind, Name, Result string }
		if err := json.Unmarshal([]byte(does(line+" -o json")), &rows); err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, row := range rows {
			all[row.Kind+"/"+row.Name] = row.Result
		}
		return all
	}
	does("groups create sre")
	does("serviceaccounts create ci")
	does("users create by-hand@example.com")
	does("projects create other")
	does("auth bind --user by-hand@example.com --action read --project default")
	write(ownManifests)
	made := results("apply -f " + file + " --set fleet")
	if len(made) != 11 {
		t.Errorf("applied %v", made)
	}
	for name, result := range made {
		if result != "created" {
			t.Errorf("%s: %s", name, result)
		}
	}
	for name, result := range results("apply -f " + file + " --set fleet") {
		if result != "unchanged" {
			t.Errorf("again, %s: %s", name, result)
		}
	}
	if out := does("auth bindings --managed-by apply -o wide"); strings.Count(out, "apply fleet") != 2 {
		t.Errorf("bindings %s", out)
	}
	// What the set manages and the files do not declare goes; what people made stays.
	write("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop}\n")
	pruned := results("apply -f " + file + " --set fleet --prune")
	want := []string{
		"FederationTrust/ci", "LoginProvider/okta", "AdminGrant/ann@example.com", "AccessBinding/project/shop", "GroupMembership/sre", "User/ann@example.com", "ProjectLimits/shop",
		"HubSettings/hub", "Outputs/vpc", "Repository/own",
	}
	for _, name := range want {
		if pruned[name] != "deleted" {
			t.Errorf("%s: %q", name, pruned[name])
		}
	}
	if len(pruned) != len(want)+1 {
		t.Errorf("pruned %v", pruned)
	}
	if out := does("users list -q"); !strings.Contains(out, "by-hand@example.com") || strings.Contains(out, "ann@example.com") {
		t.Errorf("users %s", out)
	}
	if out := does("auth bindings"); !strings.Contains(out, "by-hand@example.com") {
		t.Errorf("bindings %s", out)
	}
}
