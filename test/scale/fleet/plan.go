package fleet

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/test/scale/people"
)

const (
	// benchRepositories of benchFolders each are what a benchmark's services
	// are drawn from.
	benchRepositories = 20
	benchFolders      = 50
	// minFolder and maxFolder are the sizes of a folder in bytes.
	minFolder = 4 << 10
	maxFolder = 100 << 10
)

// plan says which folders the services of each cluster come from. Folder 0 of
// each repository is the one that its commits change, and is used by so many
// clusters that one commit touches the wanted share; every other folder is
// used about equally. Folder 1 of repository 0 is on every cluster when all
// says so.
type plan struct {
	clusters, services, touched int
	all                         bool
	// own: each cluster has a folder that no other has, and commits change those.
	own bool
}

// place is a folder of a repository.
type place struct{ repository, folder int }

func (p place) repo() string { return fmt.Sprintf("repo-%02d", p.repository) }
func (p place) path() string { return fmt.Sprintf("apps/app-%02d", p.folder) }

// allPlace is on every cluster of a plan with all.
var allPlace = place{0, 1}

func newPlan(clusters, services int, touch float64, all, own bool) (plan, error) {
	p := plan{clusters: clusters, services: services, all: all, own: own, touched: max(1, int(touch*float64(clusters)+0.5))}
	most := (benchRepositories*p.touched + clusters - 1) / clusters
	if own {
		most = 1
	}
	if all {
		most++
	}
	if most > services {
		return p, fmt.Errorf("a commit cannot touch %d of %d clusters with %d services each: ask for fewer", p.touched, clusters, services)
	}
	return p, nil
}

// of returns the folders of a cluster's services, all different.
func (p plan) of(cluster int) []place {
	list := make([]place, 0, p.services)
	if p.all {
		list = append(list, allPlace)
	}
	if p.own {
		list = append(list, p.ownOf(cluster))
	}
	for r := range benchRepositories {
		if p.own {
			break
		}
		// Repository r's changing folder is on the clusters from r×touched on.
		if (cluster-r*p.touched%p.clusters+p.clusters)%p.clusters < p.touched {
			list = append(list, place{r, 0})
		}
	}
	// The rest go around the folders that do not change.
	const quiet = benchRepositories * (benchFolders - 2)
	for n := cluster * p.services; len(list) < p.services; n++ {
		// A step without a common divisor visits them all.
		at := n * 7 % quiet
		list = append(list, place{at % benchRepositories, 2 + at/benchRepositories})
	}
	return list
}

// ownOf is a cluster's own folder.
func (p plan) ownOf(cluster int) place {
	return place{cluster % benchRepositories, benchFolders + cluster/benchRepositories}
}

// folders are how many a repository has.
func (p plan) folders() int {
	if !p.own {
		return benchFolders
	}
	return benchFolders + (p.clusters+benchRepositories-1)/benchRepositories
}

// changed are the folders that a commit touches, of each repository in turn, and
// how many clusters have each.
func (p plan) changed(commit int) (list []place, wanted int) {
	r := commit % benchRepositories
	if !p.own {
		return []place{{r, 0}}, p.touched
	}
	has := (p.clusters - r + benchRepositories - 1) / benchRepositories
	for n := range min(p.touched, has) {
		list = append(list, place{r, benchFolders + (commit/benchRepositories*p.touched+n)%has})
	}
	return list, 1
}

// size of a folder's files together, in bytes.
func (p place) size() int {
	if p == allPlace {
		return maxFolder
	}
	draw := rand.New(rand.NewPCG(uint64(p.repository), uint64(p.folder)))
	return minFolder + draw.IntN(maxFolder-minFolder)
}

// files are the folder's after so many changes, by name in it.
func (p place) files(change int) map[string]string {
	name := fmt.Sprintf("app-%02d-%02d", p.repository, p.folder)
	files := map[string]string{}
	for file, text := range people.App(name, "hello") {
		files[file[strings.LastIndexByte(file, '/')+1:]] = text
	}
	files["deployment.yaml"] = strings.Replace(files["deployment.yaml"], ":1.4.2", fmt.Sprintf(":1.4.2-%d", change), 1)
	files["data.yaml"] = p.data(name, p.size()-len(files["deployment.yaml"])-len(files["service.yaml"])-len(files["config.yaml"]))
	return files
}

// data is a ConfigMap of about so many bytes, which compress as settings do.
func (p place) data(name string, size int) string {
	draw := rand.New(rand.NewPCG(uint64(p.repository)+1000, uint64(p.folder)))
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "-data\ndata:\n")
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, "  setting-%05d: %q\n", n, fmt.Sprintf("%x limit=%d window=%ds", draw.Uint64(), draw.IntN(1000), draw.IntN(600)))
	}
	return b.String()
}

// digest is what the hub calls the folder's content after so many changes.
func (p place) digest(change int) (digest.Digest, error) {
	sums := digest.New()
	for name, text := range p.files(change) {
		if err := sums.Add(name, digest.File, digest.SumOf([]byte(text))); err != nil {
			return "", err
		}
	}
	return sums.Digest(), nil
}

// changed are the files of a commit, by path in the repository.
func (p place) changed(change int) map[string]string {
	return map[string]string{p.path() + "/deployment.yaml": p.files(change)["deployment.yaml"]}
}
