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

// countsOf writes counts as a text.
func countsOf(all []*hubv1.Count) string {
	var out []string
	for _, c := range all {
		out = append(out, fmt.Sprintf("%s=%d", c.GetValue(), c.GetCount()))
	}
	return strings.Join(out, " ")
}

// facetOf is the facet of a field as a text.
func facetOf(all []*hubv1.Facet, field string) string {
	for _, f := range all {
		if f.GetField() == field {
			return countsOf(f.GetValues())
		}
	}
	return "none"
}

func namesOf(rows []*hubv1.ServiceRow) string {
	var out []string
	for _, r := range rows {
		out = append(out, r.GetCluster()+"/"+r.GetName())
	}
	return strings.Join(out, " ")
}

func TestServicesAreFilteredSortedAndCounted(t *testing.T) {
	b := newFleetBed(t)
	b.service(t, "edge-shop", "api", "shop")
	b.reports(t, "edge-shop", "api", fleet.Failed, fleet.Degraded)
	b.service(t, "edge-shop", "cart", "shop")
	b.reports(t, "edge-shop", "cart", fleet.Drifted, fleet.Healthy)
	tests := map[string]struct {
		request *hubv1.QueryServicesRequest
		want    string
		total   int64
	}{
		"all":        {&hubv1.QueryServicesRequest{}, "edge-lab/web edge-shop/api edge-shop/cart edge-shop/web", 4},
		"failed":     {&hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Verdict: []string{"Failed"}}}, "edge-shop/api", 1},
		"not failed": {&hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Verdict: []string{"!Failed"}}}, "edge-lab/web edge-shop/cart edge-shop/web", 3},
		"text":       {&hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Text: "SHOP !web"}}, "edge-shop/api edge-shop/cart", 2},
		"wildcard":   {&hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Text: "c?rt"}}, "edge-shop/cart", 1},
		"repository": {&hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Repository: []string{"lab-config"}}}, "edge-lab/web", 1},
		"tag":        {&hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Tag: []string{"tier=lab"}}}, "edge-lab/web", 1},
		"no tag":     {&hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Tag: []string{"!tier=lab"}}}, "edge-shop/api edge-shop/cart edge-shop/web", 3},
		"worst":      {&hubv1.QueryServicesRequest{Sort: "verdict"}, "edge-shop/api edge-shop/cart edge-lab/web edge-shop/web", 4},
		"by name":    {&hubv1.QueryServicesRequest{Sort: "-name"}, "edge-lab/web edge-shop/web edge-shop/cart edge-shop/api", 4},
		"window":     {&hubv1.QueryServicesRequest{Offset: 1, Limit: 2}, "edge-shop/api edge-shop/cart", 4},
		"the end":    {&hubv1.QueryServicesRequest{Offset: 9}, "", 4},
		"unknown":    {&hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Namespace: []string{"nowhere"}}}, "", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := must(t, b.admin.fleet.QueryServices, tc.request)
			if namesOf(got.GetRows()) != tc.want || got.GetTotal() != tc.total || got.GetUnfiltered() != 4 {
				t.Errorf("got %q, %d of %d; want %q, %d", namesOf(got.GetRows()), got.GetTotal(), got.GetUnfiltered(), tc.want, tc.total)
			}
		})
	}
	// A facet ignores its own filter and no other.
	got := must(t, b.admin.fleet.QueryServices, &hubv1.QueryServicesRequest{Facets: true, Filter: &hubv1.ServiceFilter{Verdict: []string{"Failed"}, Project: []string{"shop"}}}).GetFacets()
	for field, want := range map[string]string{"verdict": "Failed=1 Drifted=1 Healthy=1", "project": "shop=1", "sync": "Failed=1", "cluster": "edge-shop=1", "tag:tier": "shop=1", "managed_by_tool": "cli=1"} {
		if facetOf(got, field) != want {
			t.Errorf("%s: got %s, want %s", field, facetOf(got, field), want)
		}
	}
	row := must(t, b.admin.fleet.QueryServices, &hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Text: "cart"}}).GetRows()[0]
	if row.GetVerdict() != "Drifted" || row.GetRepository() != "shop-config" || row.GetRef() != "main" || row.GetCommitMessage() != "add web of shop" || row.GetDesiredRevision() != row.GetAppliedRevision() {
		t.Errorf("the row is %v", row)
	}
}

func TestBadQueriesSayWhatIsWrong(t *testing.T) {
	b := newFleetBed(t)
	for want, q := range map[string]*hubv1.QueryServicesRequest{
		"sort: \"size\" is not known; use cluster, name": {Sort: "size"},
		"verdict: \"Bad\" is not known; use Failed":      {Filter: &hubv1.ServiceFilter{Verdict: []string{"Bad"}}},
		"offset and limit: must not be negative":         {Offset: -1},
		"text: has more than 10 words":                   {Filter: &hubv1.ServiceFilter{Text: strings.Repeat("a ", 11)}},
		"text: is longer than 300 characters":            {Filter: &hubv1.ServiceFilter{Text: strings.Repeat("a", 301)}},
		"filter: has 1001 values, at most 1000":          {Filter: &hubv1.ServiceFilter{Cluster: slices.Repeat([]string{"a"}, 1001)}},
	} {
		_, err := b.admin.fleet.QueryServices(t.Context(), connect.NewRequest(q))
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestClustersAreFilteredSortedAndCounted(t *testing.T) {
	b := newFleetBed(t)
	must(t, b.admin.clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-new", Project: "shop"})
	b.reports(t, "edge-shop", "web", fleet.Held, fleet.Healthy)
	names := func(q *hubv1.QueryClustersRequest) string {
		var out []string
		for _, r := range must(t, b.admin.fleet.QueryClusters, q).GetRows() {
			out = append(out, r.GetCluster().GetName()+"="+r.GetVerdict())
		}
		return strings.Join(out, " ")
	}
	eventually.For(t, limit, "the new cluster shows", func() error {
		if got := names(&hubv1.QueryClustersRequest{Sort: "verdict"}); got != "edge-shop=Failed edge-new=Pending edge-lab=Healthy" {
			return fmt.Errorf("got %s", got)
		}
		return nil
	})
	for want, f := range map[string]*hubv1.ClusterFilter{
		"edge-shop=Failed":                  {Verdict: []string{"NeedsYou"}},
		"edge-lab=Healthy":                  {Text: "tier=lab"},
		"edge-new=Pending edge-shop=Failed": {Project: []string{"shop"}},
		"edge-new=Pending":                  {Tunnel: []string{"Off"}},
	} {
		if got := names(&hubv1.QueryClustersRequest{Filter: f}); got != want {
			t.Errorf("%v: got %s, want %s", f, got, want)
		}
	}
	all := must(t, b.admin.fleet.QueryClusters, &hubv1.QueryClustersRequest{Facets: true, Filter: &hubv1.ClusterFilter{Project: []string{"lab"}}})
	if got := facetOf(all.GetFacets(), "project"); got != "shop=2 lab=1" {
		t.Errorf("project: got %s", got)
	}
	shop := must(t, b.admin.fleet.QueryClusters, &hubv1.QueryClustersRequest{Filter: &hubv1.ClusterFilter{Text: "edge-shop"}}).GetRows()[0]
	if shop.GetServicesHeld() != 1 || shop.GetCluster().GetServices() != 1 || shop.GetCluster().GetServicesFailed() != 1 {
		t.Errorf("the row is %v", shop)
	}
}

// A service of a cluster whose agent is silent is neither healthy nor failed.
func TestNothingOfASilentClusterIsHealthy(t *testing.T) {
	b := newFleetBed(t)
	eventually.For(t, limit, "the summary of two healthy services", func() error {
		sum := must(t, b.admin.fleet.Summary, &hubv1.FleetSummaryRequest{})
		if countsOf(sum.GetServicesByVerdict()) != "Healthy=2" || countsOf(sum.GetClustersByFreshness()) != "Fresh=2" || sum.GetRepositories() != 2 {
			return fmt.Errorf("got %v", sum)
		}
		return nil
	})
	b.silence(t, "edge-shop")
	eventually.For(t, limit, "the summary of a silent cluster", func() error {
		sum := must(t, b.admin.fleet.Summary, &hubv1.FleetSummaryRequest{})
		if countsOf(sum.GetServicesByVerdict()) != "Stale=1 Healthy=1" || countsOf(sum.GetClustersByVerdict()) != "Stale=1 Healthy=1" {
			return fmt.Errorf("got %v", sum)
		}
		return nil
	})
	if got := namesOf(must(t, b.admin.fleet.QueryServices, &hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Verdict: []string{"Healthy"}}}).GetRows()); got != "edge-lab/web" {
		t.Errorf("healthy are %s", got)
	}
	if got := must(t, b.admin.fleet.QueryServices, &hubv1.QueryServicesRequest{Filter: &hubv1.ServiceFilter{Cluster: []string{"edge-shop"}}}).GetRows()[0]; got.GetVerdict() != "Stale" || got.GetFreshness() != "Stale" {
		t.Errorf("the row is %v", got)
	}
}

// Of what a caller may not read, no name and no number is told.
func TestAForeignerLearnsNothing(t *testing.T) {
	b := newFleetBed(t)
	b.service(t, "edge-shop", "api", "shop")
	b.reports(t, "edge-shop", "api", fleet.Failed, fleet.Degraded)
	var answers []fmt.Stringer
	services := must(t, b.reader.fleet.QueryServices, &hubv1.QueryServicesRequest{Facets: true})
	clusters := must(t, b.reader.fleet.QueryClusters, &hubv1.QueryClustersRequest{Facets: true})
	sum := must(t, b.reader.fleet.Summary, &hubv1.FleetSummaryRequest{})
	answers = append(answers, services, clusters, sum,
		must(t, b.reader.fleet.QueryServices, &hubv1.QueryServicesRequest{Facets: true, Filter: &hubv1.ServiceFilter{Verdict: []string{"Failed"}}}),
		must(t, b.reader.fleet.QueryServices, &hubv1.QueryServicesRequest{Facets: true, Filter: &hubv1.ServiceFilter{Tag: []string{"!tier=lab"}}}),
		must(t, b.reader.fleet.HeatMap, &hubv1.HeatMapRequest{GroupBy: "project"}),
		must(t, b.reader.fleet.NeedsYou, &hubv1.NeedsYouRequest{}),
		must(t, b.reader.fleet.RecentChanges, &hubv1.RecentChangesRequest{}),
		must(t, b.reader.fleet.Search, &hubv1.SearchRequest{Query: "*"}),
		must(t, b.reader.fleet.Search, &hubv1.SearchRequest{Query: "edge"}),
		must(t, b.reader.fleet.Search, &hubv1.SearchRequest{Query: b.clusters["edge-shop"]}),
		must(t, b.reader.fleet.Search, &hubv1.SearchRequest{Query: b.commits["shop"]}),
	)
	if services.GetTotal() != 1 || services.GetUnfiltered() != 1 || clusters.GetTotal() != 1 || clusters.GetUnfiltered() != 1 || sum.GetClusters() != 1 || sum.GetServices() != 1 || sum.GetRepositories() != 1 {
		t.Errorf("got %v, %v, %v", services, clusters, sum)
	}
	if got := must(t, b.reader.fleet.Search, &hubv1.SearchRequest{Query: b.commits["shop"]}); len(got.GetResults())+len(got.GetTotals()) != 0 {
		t.Errorf("the commit of another project finds %v", got)
	}
	// A project that one may not know, and one that is not there, are the same.
	for _, project := range []string{"shop", "nowhere"} {
		for _, err := range []error{
			fails(t, b.reader.fleet.Summary, &hubv1.FleetSummaryRequest{Project: project}), fails(t, b.reader.fleet.HeatMap, &hubv1.HeatMapRequest{Project: project}),
			fails(t, b.reader.fleet.NeedsYou, &hubv1.NeedsYouRequest{Project: project}), fails(t, b.reader.fleet.RecentChanges, &hubv1.RecentChangesRequest{Project: project}),
		} {
			if want := fmt.Sprintf("not_found: project %q does not exist", project); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	if err := fails(t, b.reader.fleet.RecentChanges, &hubv1.RecentChangesRequest{Cluster: "edge-shop"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("got %v", err)
	}
	for _, answer := range answers {
		if text := answer.String(); strings.Contains(text, "shop") || strings.Contains(text, "Failed") {
			t.Errorf("a foreigner reads %s", text)
		}
	}
}
