package hub

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/axle-cd/axle/hub/atrisk"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/binding"
	"github.com/axle-cd/axle/hub/fleet/risks"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store"
)

// atRisk lists what is older than a rule that would refuse it today.
func (h *Hub) atRisk(ctx context.Context, limit int) ([]atrisk.Risk, int, error) {
	return atrisk.List(ctx, limit,
		atrisk.Clusters(h.fleet),
		atrisk.Groups(h.callers.Identity),
		atrisk.Services(store.Fleet(h.store)),
		gitFiles{h.cache, h.store}.atRisk(h.backends),
		h.sourcesAtRisk,
	)
}

// sourcesAtRisk finds sources whose URL found a repository that others may change.
func (h *Hub) sourcesAtRisk(ctx context.Context) (all []atrisk.Risk, err error) {
	found, err := risks.Sources(ctx, h.store)
	listed := map[[2]string]bool{} // the line before registers the URL
	for _, r := range found {
		settles := "once its project has registered the URL, it follows that registration, whose content must be the same"
		if at := [2]string{r.Project, r.URL}; r.Template == "" {
			r.Registered = r.Registered || listed[at]
			listed[at] = true
		} else {
			settles = "its global service follows another one, and so does it once that is applied again"
		}
		follows := "one that the hub follows by itself, which somebody changed"
		if r.Name != "" {
			follows = "repository " + r.Name + ", which others may change"
		}
		all = append(all, atrisk.Risk{Kind: "source", Object: r.Object,
			Why:     fmt.Sprintf("its field %s names the URL %s and follows %s (now %s); %s", r.Field, r.URL, follows, r.Repository.URL, settles),
			Command: registering(r)})
	}
	return all, err
}

// registering is the command after which a source follows what its own project registered.
func registering(r binding.Risk) string {
	kind, name, _ := strings.Cut(r.Object, " ")
	apply := "axle get servicedeployment " + atrisk.Quote(name) + " -o yaml | axle apply -f -"
	if kind == "global" || r.Template != "" {
		_, of, _ := strings.Cut(name, " ")
		name = cmp.Or(r.Template, of)
		apply = "axle get globalservice " + atrisk.Quote(name) + " -o yaml | axle apply -f -"
	}
	if r.Registered || r.Template != "" {
		return apply
	}
	project, of := cmp.Or(r.Project, fleet.DefaultProject), cmp.Or(r.Name, path.Base(name))
	upstream := gitcache.KindGit
	if r.Chart {
		upstream, _ = chartURL(fleet.SourceWant{URL: r.URL})
	}
	return fmt.Sprintf("axle repos add %s %s --type %s --project %s && %s", atrisk.Quote(of+"-of-"+project), atrisk.Quote(r.URL), upstream, atrisk.Quote(project), apply)
}
