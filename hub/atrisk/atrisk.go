// Package atrisk lists what is older than a rule that would refuse it today: tags that
// nobody is known to stand by, handles that are other clusters' names, groups whose names
// mean something to clusters. All of it goes on working; each line says why it is a risk
// and has the command that settles it.
//
// It decides nothing and changes nothing: each Part asks those whose rule it is. A new
// rule of this kind adds a Part, and the wiring of the hub its place in the list.
package atrisk

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
)

// Most is how many risks a list has at most.
const Most = 500

// Risk is one thing that a person has to decide about.
type Risk struct {
	// Kind is tag, handle, group or service.
	Kind, Object string
	Why          string
	// Command settles it, in a shell.
	Command string
}

// Part finds the risks of one rule.
type Part func(ctx context.Context) ([]Risk, error)

// List returns up to limit risks in order of kind and object, and how many there are.
func List(ctx context.Context, limit int, parts ...Part) (risks []Risk, total int, err error) {
	for _, part := range parts {
		found, err := part(ctx)
		if err != nil {
			return nil, 0, err
		}
		risks = append(risks, found...)
	}
	slices.SortFunc(risks, func(a, b Risk) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Object, b.Object))
	})
	if limit <= 0 || limit > Most {
		limit = Most
	}
	return risks[:min(limit, len(risks))], len(risks), nil
}

// Fleet is what Clusters asks.
type Fleet interface {
	Clusters(ctx context.Context, f fleet.ClusterFilter) ([]fleet.ClusterView, error)
}

// Clusters finds tags and handles of clusters.
func Clusters(f Fleet) Part {
	return func(ctx context.Context) ([]Risk, error) {
		all, err := f.Clusters(ctx, fleet.ClusterFilter{})
		if err != nil {
			return nil, err
		}
		named := make(map[string]bool, len(all))
		for _, c := range all {
			named[c.Name] = true
		}
		var risks []Risk
		for _, c := range all {
			if keys := c.TagsAtRisk(); len(keys) > 0 {
				risks = append(risks, Risk{"tag", "cluster " + c.Name,
					"no administrator is known to have set " + strings.Join(keys, ", ") + "; global services of all projects go by it until somebody changes it. Set the tags as they are to stand by them",
					confirmTags(c.Cluster)})
			}
			why := ""
			switch {
			case c.Handle == c.Name:
				continue
			case named[c.Handle]:
				why = "its handle " + c.Handle + " is the name of another cluster"
			case c.Handle == fleet.Management:
				why = "its handle is that of the hub's own cluster, which global services with mgmt=false leave out"
			default:
				continue
			}
			risks = append(risks, Risk{"handle", "cluster " + c.Name, why, "axle clusters update " + Quote(c.Name) + " --handle " + Quote(c.Name)})
		}
		return risks, nil
	}
}

// confirmTags is the command with which an administrator sets the tags that a cluster has.
func confirmTags(c fleet.Cluster) string {
	command := "axle clusters update " + Quote(c.Name)
	for _, key := range slices.Sorted(maps.Keys(c.Tags)) {
		tag := key + "=" + c.Tags[key]
		if strings.Count(tag, "=") > 1 || strings.ContainsAny(tag, `",`) { // the flag takes a line of CSV
			tag = `"` + strings.ReplaceAll(tag, `"`, `""`) + `"`
		}
		command += " --tag " + Quote(tag)
	}
	return command
}

// Directory is what Groups asks.
type Directory interface {
	Groups(ctx context.Context) ([]identity.Group, error)
}

// Groups finds groups whose names a new one may not have.
func Groups(d Directory) Part {
	return func(ctx context.Context) ([]Risk, error) {
		all, err := d.Groups(ctx)
		var risks []Risk
		for _, g := range all {
			if g.Doubtful() {
				risks = append(risks, Risk{"group", "group " + g.Name,
					"a name with a colon may mean something to Kubernetes or to a cluster's own login, and the hub impersonates groups by their names; move its members and bindings to a group with another name",
					"axle groups delete " + Quote(g.Name)})
			}
		}
		return risks, err
	}
}

// Agents is what Services asks.
type Agents interface {
	ServicesNamed(ctx context.Context, name string, clusterIDs []string) ([]fleet.Service, error)
}

// Services finds services of people with the name of the hub's own.
func Services(s Agents) Part {
	return func(ctx context.Context) ([]Risk, error) {
		all, err := s.ServicesNamed(ctx, fleet.AgentService, nil)
		var risks []Risk
		for _, v := range all {
			if !v.Builtin() {
				risks = append(risks, Risk{"service", "service " + v.Ref().String(),
					"it has the name of the hub's own service, so the hub does not upgrade the agent there; declare it under another name",
					"axle services delete " + Quote(v.Ref().String()) + " --detach"})
			}
		}
		return risks, err
	}
}

var plain = regexp.MustCompile(`^[A-Za-z0-9._:/@=+,-]+$`)

// Quote makes a word that a shell takes as it is: tags and groups are not named by who
// copies the command.
func Quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
