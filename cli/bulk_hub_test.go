package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestBulkVerbs selects services by tags of their clusters, by cluster and by project, on
// a real hub.
func TestBulkVerbs(t *testing.T) {
	s := newShell(t)
	s.exits(0, "projects create shop")
	s.exits(0, "clusters create edge-1 --tag tier=edge --tag region=eu")
	s.exits(0, "clusters create edge-2 --tag tier=edge")
	s.exits(0, "clusters create core-1 --tag tier=core --project shop")
	s.exits(0, "repos add fleet https://git.invalid/fleet --timeout 0")
	for _, name := range []string{"edge-1/web", "edge-1/api", "edge-2/web", "core-1/web"} {
		s.exits(0, "services create "+name+" --repo fleet --ref main --folder web")
	}
	paused := func(want string) {
		t.Helper()
		var all []struct {
			Cluster, Name string
			Paused        bool
		}
		if err := json.Unmarshal([]byte(s.exits(0, "services list -o json")), &all); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range all {
			if one.Paused {
				names = append(names, one.Cluster+"/"+one.Name)
			}
		}
		if have := strings.Join(names, " "); have != want {
			t.Errorf("paused %q, want %q", have, want)
		}
	}

	// What is selected is shown first, and nothing is done.
	if out := s.exits(0, "services pause --cluster tier=edge --dry-run -o name"); out != "edge-1/api\nedge-1/web\nedge-2/web\n" {
		t.Errorf("selected %q", out)
	}
	paused("")
	s.exits(0, "services pause web --cluster tier=edge", "edge-1", "edge-2", "paused")
	paused("edge-1/web edge-2/web")
	s.exits(0, "services pause --cluster tier=edge,region=eu", "edge-1")
	paused("edge-1/api edge-1/web edge-2/web")
	s.exits(0, "services resume --cluster edge-1")
	paused("edge-2/web")
	s.exits(0, "services resume --all")
	paused("")
	s.exits(0, "services sync --project shop -o json", `"cluster": "core-1"`, `"result": "sync requested"`)
	s.exits(0, "services pause edge-1/web")
	paused("edge-1/web")

	// An update is checked by the hub for each service, and one that fails is named.
	s.exits(0, "services update --cluster tier=edge --ref v2 --dry-run", "can be changed")
	if out := s.exits(0, "services get edge-2/web -o jsonpath={.ref}"); out != "main\n" {
		t.Errorf("a dry run moved it to %s", out)
	}
	s.exits(0, "apply --take-over --set theirs -f "+s.write("one.yaml", "apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: web}\nspec: {cluster: edge-2, repositoryRef: {name: fleet}, git: {ref: main, folder: web}}\n"))
	code, out, errs := s.run("services update --cluster tier=edge --ref v2 -o json")
	var results []struct{ Cluster, Name, Result, Error string }
	if err := json.Unmarshal([]byte(out), &results); err != nil || code != 1 || len(results) != 3 || !strings.Contains(errs, "1 of 3 services failed") {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	for _, r := range results {
		if failed := r.Cluster == "edge-2"; failed != (r.Result == "failed") || failed != strings.Contains(r.Error, "managed by axle apply (set theirs)") {
			t.Errorf("result %+v", r)
		}
	}
	if out := s.exits(0, "services list -q --no-headers -o jsonpath={[*].ref}"); out != "main v2 v2 main\n" {
		t.Errorf("refs %q", out)
	}

	// Mistakes: nothing is selected by chance.
	s.exits(2, "services sync")
	s.exits(2, "services sync web")
	s.exits(2, "services sync edge-1/web --all", "names one service, and the flags select several")
}

// TestBulkMistakes are command lines that select nothing, or that select twice.
func TestBulkMistakes(t *testing.T) {
	s := newShell(t)
	s.exits(0, "clusters create edge-1 --tag tier=edge")
	s.exits(4, "services sync --all", "no service that you may read is selected")
	s.exits(4, "services sync --cluster tier=other", "no service that you may read is selected")
	s.exits(4, "services sync --cluster edge-9")
	s.exits(2, "services sync --cluster tier=edge,tier=core", "its key is there twice")
	s.exits(2, "services sync --cluster tier=edge,region", `"region" is no KEY=VALUE`)
	s.exits(2, "services approve-prune --all")
	s.exits(2, "services rollback --cluster tier=edge --revision 3", "--revision is a number of one service")
	s.exits(2, "services update --cluster tier=edge", "give a flag for what to change")
	s.exits(2, "services update --cluster tier=edge --set a=1", "--set and its like")
}

// A dependency may be on another cluster. Nobody has to have declared it yet.
func TestDependsOnAnotherCluster(t *testing.T) {
	s := newShell(t)
	s.exits(0, "clusters create edge-1")
	s.exits(0, "clusters create core")
	s.exits(0, "repos add fleet https://git.invalid/fleet --timeout 0")
	s.exits(0, "services create edge-1/web --repo fleet --ref main --folder web --depends-on cache,core/db")
	s.exits(0, "services create core/db --repo fleet --ref main --folder db")
	s.exits(0, "get services edge-1/web -o yaml", "dependencies:\n  - name: cache\n  - cluster: core\n    name: db\n")
	s.exits(1, "services update core/db --depends-on edge-1/web", "services would wait for each other: db → edge-1/web → db")
}

// TestAProjectWithoutAnAccountIsNoted holds that whoever makes a cluster or a service in a
// project reads at once that nothing of it is applied without an account, and how to name one.
func TestAProjectWithoutAnAccountIsNoted(t *testing.T) {
	s := newShell(t)
	const note = "nothing of them is applied without one; name one for all of them with: axle projects update shop --service-account NAME --allow-account NAMESPACE/NAME"
	s.exits(0, "projects create shop")
	s.exits(0, "repos add fleet https://git.invalid/fleet --timeout 0")
	s.exits(0, "clusters create shop-1 --project shop", note)
	s.exits(0, "services create shop-1/web --repo fleet --ref main --folder web", note)
	s.exits(0, "projects update shop --service-account deployer --allow-account web/deployer")
	for _, line := range []string{
		"clusters create edge-1", "clusters create shop-2 --project shop",
		"services create shop-1/api --repo fleet --ref main --folder web --namespace web", "services create edge-1/web --repo fleet --ref main --folder web",
	} {
		if code, out, errs := s.run(line); code != 0 || strings.Contains(out+errs, "service account") {
			t.Errorf("axle %s: exit %d, %s%s", line, code, out, errs)
		}
	}
}
