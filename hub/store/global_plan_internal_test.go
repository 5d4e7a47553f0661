package store

import (
	"context"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/store/globals"
)

// What is read of global services, their targets and the clusters is found by an
// index, however large the fleet is.
func TestGlobalServicesAreFoundByIndexes(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		// One service of a name on each of many clusters, as templates make them.
		err := s.Write(t.Context(), func(ctx context.Context) error {
			_, err := s.exec(ctx, `INSERT INTO services (id, cluster_id, name) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
				SELECT 'svc-' || i, 'cl_' || i, 'web' FROM n`)
			if err == nil {
				_, err = s.exec(ctx, "ANALYZE services")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			statement string
			args      []any
			index     []string
		}{
			"a page of global services":    {globals.SelectGlobals + "WHERE g.name > $1 ORDER BY g.name LIMIT 100", []any{"a"}, []string{"global_services_name_key", "sqlite_autoindex_global_services_2"}},
			"a page of managed namespaces": {globals.SelectGlobals + globals.WhereNamespaces + " ORDER BY g.namespace LIMIT 100", []any{"a"}, []string{"global_services_by_namespace"}},
			"a page of clusters":           {globals.ClustersQuery, []any{"a", 500}, []string{"clusters_pkey", "sqlite_autoindex_clusters_1"}},
			"the services of a name":       {globals.SelectCandidates + "WHERE s.cluster_id IN ($2, $3) AND s.name = $1", []any{"web", "a", "b"}, []string{"services_by_name", "services_cluster_id_name_key", "sqlite_autoindex_services_2"}},
			"what was made on a cluster":   {globals.MadeQuery, []any{"a"}, []string{"services_cluster_id_name_key", "sqlite_autoindex_services_2", "services_by_maker"}},
			"whether a target is left":     {globals.LeftQuery, []any{"a"}, []string{"services_by_maker"}},
			"how targets are":              {globals.StateQuery, []any{"a"}, []string{"services_by_maker"}},
			"what a rollout judges":        {globals.ReportsQuery, []any{"a"}, []string{"services_by_maker"}},
			"the rollouts that run":        {globals.HeldQuery, []any{"a", 100}, []string{"global_services_held"}},
			"the failures":                 {globals.FailuresQuery, []any{"a", 100}, []string{"global_failures_pkey", "sqlite_autoindex_global_failures_1"}},
			"who shares specs":             {"SELECT s.spec_version FROM services s WHERE s.owner_id = $1 AND s.owner_id <> ''", []any{"a"}, []string{"services_by_owner"}},
		} {
			plan := planOf(t, s, c.statement, c.args)
			found := false
			for _, index := range c.index {
				found = found || strings.Contains(plan, index)
			}
			if !found || strings.Contains(plan, "Seq Scan on services") {
				t.Errorf("%s:\n%s", name, plan)
			}
		}
	})
}
