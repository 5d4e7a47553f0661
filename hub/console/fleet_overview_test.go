package console_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/eventually"
)

func TestHeatMapShowsTheWorstFirst(t *testing.T) {
	b := newFleetBed(t)
	b.cluster(t, "edge-zone", "shop", map[string]string{"tier": "lab"})
	b.service(t, "edge-zone", "web", "shop")
	b.reports(t, "edge-zone", "web", fleet.Failed, fleet.Degraded)
	text := func(groupBy string) string {
		var out []string
		for _, g := range must(t, b.admin.fleet.HeatMap, &hubv1.HeatMapRequest{GroupBy: groupBy}).GetGroups() {
			out = append(out, g.GetValue()+":")
			for _, c := range g.GetCells() {
				out = append(out, fmt.Sprintf("%s=%s,%d,%d", c.GetName(), c.GetVerdict(), c.GetServices(), c.GetFailed()))
			}
		}
		return strings.Join(out, " ")
	}
	for groupBy, want := range map[string]string{
		"":         ": edge-zone=Failed,1,1 edge-lab=Healthy,1,0 edge-shop=Healthy,1,0",
		"tag:tier": "lab: edge-zone=Failed,1,1 edge-lab=Healthy,1,0 shop: edge-shop=Healthy,1,0",
		"project":  "lab: edge-lab=Healthy,1,0 shop: edge-zone=Failed,1,1 edge-shop=Healthy,1,0",
		"tag:none": ": edge-zone=Failed,1,1 edge-lab=Healthy,1,0 edge-shop=Healthy,1,0",
	} {
		eventually.For(t, limit, "the heat map by "+groupBy, func() error {
			if got := text(groupBy); got != want {
				return fmt.Errorf("got %s, want %s", got, want)
			}
			return nil
		})
	}
	if err := fails(t, b.admin.fleet.HeatMap, &hubv1.HeatMapRequest{GroupBy: "size"}); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("got %v", err)
	}
}

func TestSearchFindsByNameIDAndCommit(t *testing.T) {
	b := newFleetBed(t)
	web := must(t, b.admin.services.Get, &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-lab", Name: "web"}})
	for query, want := range map[string]string{
		"edge-lab":                  "cluster edge-lab /clusters/edge-lab; service web /services/edge-lab/web",
		"c:EDGE":                    "cluster edge-lab /clusters/edge-lab; cluster edge-shop /clusters/edge-shop",
		"s:web lab":                 "service web /services/edge-lab/web",
		"lab-con*":                  "repository lab-config /repositories/lab-config",
		"p:shop":                    "project shop /projects/shop",
		web.GetId():                 "service web /services/edge-lab/web",
		b.commits["shop"][:7]:       "service web /services/edge-shop/web",
		b.commits["shop"][:6]:       "",
		"":                          "",
		"nothing-like-this":         "",
		strings.ToUpper("edge-lab"): "cluster edge-lab /clusters/edge-lab; service web /services/edge-lab/web",
		"r:*":                       "repository lab-config /repositories/lab-config; repository shop-config /repositories/shop-config",
		b.clusters["edge-lab"]:      "cluster edge-lab /clusters/edge-lab",
		"edge-lab/web":              "service web /services/edge-lab/web",
	} {
		var got []string
		for _, r := range must(t, b.admin.fleet.Search, &hubv1.SearchRequest{Query: query}).GetResults() {
			got = append(got, r.GetKind()+" "+r.GetName()+" "+r.GetHref())
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q: got %s, want %s", query, strings.Join(got, "; "), want)
		}
	}
	many := must(t, b.admin.fleet.Search, &hubv1.SearchRequest{Query: "s:web", Limit: 1})
	if len(many.GetResults()) != 1 || countsOf(many.GetTotals()) != "service=2" {
		t.Errorf("got %v", many)
	}
}

func TestWhatNeedsAPersonIsListed(t *testing.T) {
	b := newFleetBed(t)
	text := func(c clients) string {
		var out []string
		for _, i := range must(t, c.fleet.NeedsYou, &hubv1.NeedsYouRequest{}).GetItems() {
			out = append(out, fmt.Sprintf("%s %d %s", i.GetKind(), i.GetCount(), i.GetTitle()))
			if i.GetHref() == "" || i.GetCommand() == "" {
				t.Errorf("%v does not say what to do", i)
			}
		}
		return strings.Join(out, "; ")
	}
	if got := text(b.admin); got != "" {
		t.Errorf("a sound fleet needs %s", got)
	}
	b.reports(t, "edge-shop", "web", fleet.Failed, fleet.Healthy)
	eventually.For(t, limit, "the one that failed shows", func() error {
		items := must(t, b.admin.fleet.NeedsYou, &hubv1.NeedsYouRequest{}).GetItems()
		if len(items) != 1 || items[0].GetTitle() != "Service edge-shop/web failed." || items[0].GetHref() != "/services/edge-shop/web" || items[0].GetCommand() != "axle services get edge-shop/web" {
			return fmt.Errorf("got %v", items)
		}
		return nil
	})
	b.service(t, "edge-shop", "api", "shop")
	b.service(t, "edge-shop", "cart", "shop")
	b.reports(t, "edge-shop", "api", fleet.Synced, fleet.Degraded)
	b.reports(t, "edge-shop", "cart", fleet.Held, fleet.Healthy)
	must(t, b.admin.repositories.Create, &hubv1.CreateRepositoryRequest{Name: "broken", Project: "shop", Url: b.git.URL("not-there")})
	must(t, b.admin.services.Create, &hubv1.CreateServiceRequest{
		Ref: &hubv1.ServiceRef{Cluster: "edge-shop", Name: "broken"}, Spec: &hubv1.ServiceSpec{Repository: "broken", Git: &hubv1.Git{Ref: "main"}},
	})
	want := "service_failed 4 4 services failed.; service_held 1 Service edge-shop/cart is held: a sync cannot be done safely.; repository_failed 1 Repository broken is unreadable."
	eventually.For(t, limit, "all of it shows", func() error {
		if got := text(b.admin); got != want {
			return fmt.Errorf("got %s", got)
		}
		return nil
	})
	var commands, pages []string
	for _, i := range must(t, b.admin.fleet.NeedsYou, &hubv1.NeedsYouRequest{}).GetItems() {
		commands, pages = append(commands, i.GetCommand()), append(pages, i.GetHref())
	}
	// One of a kind leads to its page, several lead to their list.
	if got, want := strings.Join(pages, "; "), "/services?verdict=Failed; /services/edge-shop/cart; /repositories/broken"; got != want {
		t.Errorf("the pages are %s, want %s", got, want)
	}
	if got, want := strings.Join(commands, "; "), "axle services get edge-shop/api edge-shop/broken edge-shop/cart; axle services get edge-shop/cart; axle repos get broken"; got != want {
		t.Errorf("the commands are %s, want %s", got, want)
	}
	b.silence(t, "edge-shop")
	// Nobody knows whether a silent cluster's services still fail.
	eventually.For(t, limit, "only the cluster and the repository show", func() error {
		if got := text(b.admin); got != "cluster_stale 1 Cluster edge-shop is stale: no agent polls.; repository_failed 1 Repository broken is unreadable." {
			return fmt.Errorf("got %s", got)
		}
		return nil
	})
	if got := text(b.reader); got != "" {
		t.Errorf("the reader of another project reads %s", got)
	}
}

// A cluster shows what its agent reports of services that the hub does not know, and the
// changes of the fleet have it.
func TestAClusterShowsServicesThatTheHubDoesNotKnow(t *testing.T) {
	b := newFleetBed(t)
	_, err := b.Parts().Fleet.StoreReports(t.Context(), fleet.ReportBatch{ClusterID: b.clusters["edge-shop"], Reports: []fleet.Report{{
		ServiceID: "svc_gone", NewHash: "h", Status: fleet.Status{Sync: fleet.Held, Reason: fleet.ReasonOrphaned, Health: fleet.Healthy, Message: "its cluster shop-1"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"edge-shop": "it has services that the hub does not know (axle clusters orphans list edge-shop); svc_gone: its cluster shop-1", "edge-lab": ""} {
		if got := must(t, b.admin.clusters.Get, &hubv1.GetClusterRequest{Name: name}).GetMessage(); got != want {
			t.Errorf("%s has the message %q, want %q", name, got, want)
		}
	}
	if err := fails(t, b.reader.clusters.Get, &hubv1.GetClusterRequest{Name: "edge-shop"}); strings.Contains(fmt.Sprint(err), "svc_gone") {
		t.Errorf("the reader of another project reads %v", err)
	}
	needs := func(p clients, project string) string {
		t.Helper()
		for _, i := range must(t, p.fleet.NeedsYou, &hubv1.NeedsYouRequest{Project: project}).GetItems() {
			if i.GetKind() == "service_orphaned" {
				return strings.Join([]string{i.GetTitle(), i.GetMessage(), i.GetHref(), i.GetCommand(), strings.Join(i.GetExamples(), " ")}, "; ")
			}
		}
		return ""
	}
	want := "Cluster edge-shop has a service that the hub does not know.; its cluster shop-1; /clusters/edge-shop; axle clusters orphans list edge-shop; svc_gone"
	if got := needs(b.admin, ""); got != want {
		t.Errorf("what waits for the administrator is %q", got)
	}
	if got := needs(b.admin, "shop"); got != want {
		t.Errorf("what waits in its project is %q", got)
	}
	if got := needs(b.admin, "lab") + needs(b.reader, ""); got != "" {
		t.Errorf("what waits elsewhere is %q", got)
	}
	changes := must(t, b.admin.fleet.RecentChanges, &hubv1.RecentChangesRequest{Cluster: "edge-shop"}).GetChanges()
	if !slices.ContainsFunc(changes, func(c *hubv1.RecentChange) bool {
		return c.GetKind() == "cluster.orphan" && c.GetObject() == "cluster edge-shop" && strings.Contains(c.GetMessage(), "shop-1")
	}) {
		t.Errorf("the changes are %v", changes)
	}
}

func TestEqualChangesOfManyClustersAreOne(t *testing.T) {
	b := newFleetBed(t)
	b.cluster(t, "edge-two", "shop", nil)
	b.service(t, "edge-two", "web", "shop")
	for _, cluster := range []string{"edge-shop", "edge-two"} {
		must(t, b.admin.services.Pause, &hubv1.PauseServiceRequest{Ref: &hubv1.ServiceRef{Cluster: cluster, Name: "web"}})
	}
	all := must(t, b.admin.fleet.RecentChanges, &hubv1.RecentChangesRequest{}).GetChanges()
	if first := all[0]; first.GetKind() != "service.paused" || first.GetCount() != 2 || first.GetObject() != "service web" || first.GetCluster() != "" || first.GetService() != "web" {
		t.Errorf("the newest is %v", first)
	}
	one := must(t, b.admin.fleet.RecentChanges, &hubv1.RecentChangesRequest{Cluster: "edge-two"}).GetChanges()
	if first := one[0]; first.GetCount() != 1 || first.GetObject() != "service edge-two/web" || first.GetCluster() != "edge-two" {
		t.Errorf("the newest of a cluster is %v", first)
	}
	// Page by page, each event counts once.
	total, pages := int32(0), int32(0)
	for _, c := range must(t, b.admin.fleet.RecentChanges, &hubv1.RecentChangesRequest{Limit: 200}).GetChanges() {
		total += c.GetCount()
	}
	for before := int64(0); ; {
		page := must(t, b.admin.fleet.RecentChanges, &hubv1.RecentChangesRequest{Limit: 2, Before: before}).GetChanges()
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			pages += c.GetCount()
		}
		before = page[len(page)-1].GetId()
	}
	if total != pages || total == 0 {
		t.Errorf("the pages have %d events, the whole list %d", pages, total)
	}
}
