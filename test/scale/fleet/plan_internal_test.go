package fleet

import (
	"strings"
	"testing"
)

func TestPlanTouchesTheShareAndSpreadsTheRest(t *testing.T) {
	for name, p := range map[string]plan{
		"default":   {clusters: 1100, services: 10, touched: 11},
		"twice":     {clusters: 1100, services: 20, touched: 11},
		"with all":  {clusters: 300, services: 10, touched: 3, all: true},
		"few":       {clusters: 20, services: 4, touched: 2},
		"ten times": {clusters: 100, services: 10, touched: 10},
	} {
		t.Run(name, func(t *testing.T) {
			uses := map[place]int{}
			for c := range p.clusters {
				seen := map[place]bool{}
				for _, at := range p.of(c) {
					if seen[at] {
						t.Fatalf("cluster %d has %v twice", c, at)
					}
					seen[at] = true
					uses[at]++
				}
				if len(seen) != p.services {
					t.Fatalf("cluster %d has %d services, want %d", c, len(seen), p.services)
				}
			}
			for r := range benchRepositories {
				if n := uses[place{r, 0}]; n != p.touched {
					t.Errorf("a commit of repository %d touches %d clusters, want %d", r, n, p.touched)
				}
			}
			if p.all && uses[allPlace] != p.clusters {
				t.Errorf("%d clusters have the folder for all, want %d", uses[allPlace], p.clusters)
			}
		})
	}
}

func TestFoldersHaveTheirSizesAndTheirChangesOneFile(t *testing.T) {
	for r := range benchRepositories {
		for f := range benchFolders {
			at := place{r, f}
			size := 0
			for _, text := range at.files(0) {
				size += len(text)
			}
			if size < minFolder || size > maxFolder+200 {
				t.Errorf("%v has %d bytes", at, size)
			}
		}
	}
	at := place{3, 0}
	before, err := at.digest(1)
	if err != nil {
		t.Fatal(err)
	}
	after, err := at.digest(2)
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Error("a change has the digest of the one before")
	}
	for name, text := range at.changed(2) {
		if !strings.HasPrefix(name, at.path()+"/") || text != at.files(2)["deployment.yaml"] {
			t.Errorf("a commit writes %s", name)
		}
	}
}

// With folders of their own, all clusters' come to be changed, each commit's once.
func TestPlanOfOwnFoldersChangesEach(t *testing.T) {
	p := plan{clusters: 110, services: 3, touched: 2, own: true}
	owner, changed := map[place]int{}, map[place]int{}
	for c := range p.clusters {
		list := p.of(c)
		if len(list) != p.services || list[0].folder >= p.folders() {
			t.Fatalf("cluster %d has %v of %d folders", c, list, p.folders())
		}
		owner[list[0]]++
	}
	if len(owner) != p.clusters {
		t.Errorf("%d folders for %d clusters", len(owner), p.clusters)
	}
	for commit := range 3 * benchRepositories {
		list, wanted := p.changed(commit)
		if len(list) != p.touched || wanted != 1 {
			t.Errorf("commit %d changes %v, for %d each", commit, list, wanted)
		}
		for _, at := range list {
			if owner[at] != 1 {
				t.Errorf("commit %d changes %v, which nobody has", commit, at)
			}
			changed[at]++
		}
	}
	if len(changed) != p.clusters {
		t.Errorf("%d of %d folders were changed", len(changed), p.clusters)
	}
}
