package scale

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

func TestHistogramQuantileLooksAtTheTimeBetween(t *testing.T) {
	before := map[string]float64{`lag_bucket{le="0.1"}`: 100, `lag_bucket{le="1"}`: 100, `lag_bucket{le="+Inf"}`: 100}
	after := map[string]float64{`lag_bucket{le="0.1"}`: 150, `lag_bucket{le="1"}`: 200, `lag_bucket{le="+Inf"}`: 200}
	if got := histogramQuantile(before, after, "lag", 0.5); got != 0.1 {
		t.Errorf("median %v, want 0.1", got)
	}
	if got := histogramQuantile(before, after, "lag", 0.99); got < 0.9 || got > 1 {
		t.Errorf("p99 %v, want almost 1", got)
	}
	if got := histogramQuantile(after, after, "lag", 0.99); got != 0 {
		t.Errorf("p99 of nothing is %v", got)
	}
}
