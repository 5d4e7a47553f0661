package store

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/installed"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	clusterTable = rows.Of("clusters c", func(c *rows.Columns, v *fleet.Cluster) {
		rows.Col(c, "COALESCE(p.name, '')", &v.Project)
		rows.JSON(c, "tags", &v.Tags)
		rows.JSON(c, "admin_tags", &v.AdminTags)
		rows.JSON(c, "former_tags", &v.FormerTags)
		rows.Sparse(c, "installation", &v.Installation, "{}")
		rows.Sparse(c, "origin", &v.Origin, "{}")
		rows.Flag(c, "destroying", &v.Origin.Destroying)
		rows.Sparse(c, "made_state", &v.MadeState, "{}")
		rows.Sparse(c, "cleanup", &v.Cleanup, "null")
		rows.List(c, "replacing", &v.Replacing)
		rows.Fields(c, v)
	})
	selectClusters = clusterTable.Select() + "LEFT JOIN projects p ON p.id = c.project_id "
	insertCluster  = clusterTable.All().Insert("ON CONFLICT DO NOTHING")
	updateCluster  = clusterTable.Except("name", "created_at").Update("id")
)

// putCluster runs an insert or update. An unknown installation is stored as none.
func putCluster(ctx context.Context, s *Store, statement rows.Statement[fleet.Cluster], c fleet.Cluster) (bool, error) {
	if !c.Installation.Known() {
		c.Installation = installed.Agent{}
	}
	return wrote(ctx, s, statement, &c)
}

// InsertCluster implements fleet.ClusterStore.
func (s *Store) InsertCluster(ctx context.Context, c fleet.Cluster) error {
	if err := s.ClusterChanged(ctx, c); err != nil {
		return err
	}
	inserted, err := putCluster(ctx, s, insertCluster, c)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "a cluster with the name %s or the handle %s exists already", c.Name, c.Handle)
	}
	return err
}

// UpdateCluster implements fleet.ClusterStore.
func (s *Store) UpdateCluster(ctx context.Context, c fleet.Cluster) error {
	if err := s.ClusterChanged(ctx, c); err != nil {
		return err
	}
	changed, err := putCluster(ctx, s, updateCluster, c)
	if duplicate(err) {
		return errcode.New(errcode.Conflict, "another cluster has the handle %s", c.Handle)
	}
	if err == nil && !changed {
		return noCluster(c.ID)
	}
	return err
}

func noCluster(name string) error {
	return errcode.New(errcode.NotFound, "cluster %.80s does not exist", name)
}

// TouchCluster implements fleet.ClusterStore.
func (s *Store) TouchCluster(ctx context.Context, id string, at int64) error {
	_, err := s.exec(ctx, "UPDATE clusters SET pinged_at = $1 WHERE id = $2", at, id)
	return err
}

// DeleteCluster implements fleet.ClusterStore.
func (s *Store) DeleteCluster(ctx context.Context, id string) error {
	if err := endRegistration(ctx, s, id); err != nil {
		return err
	}
	if err := s.ForgetCluster(ctx, id); err != nil {
		return err
	}
	if err := s.ClusterGone(ctx, id); err != nil {
		return err
	}
	_, err := s.exec(ctx, "DELETE FROM clusters WHERE id = $1", id)
	return err
}

// ClusterByID implements fleet.ClusterReader.
func (s *Store) ClusterByID(ctx context.Context, id string) (fleet.Cluster, error) {
	c, found, err := rowOf(ctx, s, clusterTable.Reader(), selectClusters+"WHERE c.id = $1", id)
	if err == nil && !found {
		return c, noCluster(id)
	}
	return c, err
}

// ClusterByHandle implements fleet.ClusterReader.
func (s *Store) ClusterByHandle(ctx context.Context, handle string) (fleet.Cluster, error) {
	c, found, err := rowOf(ctx, s, clusterTable.Reader(), selectClusters+"WHERE c.handle = $1", handle)
	if err == nil && !found {
		return c, noCluster(handle)
	}
	return c, err
}

// ClusterByName implements fleet.ClusterReader.
func (s *Store) ClusterByName(ctx context.Context, name string) (fleet.Cluster, error) {
	c, found, err := rowOf(ctx, s, clusterTable.Reader(), selectClusters+"WHERE c.name = $1", name)
	if err == nil && !found {
		return c, noCluster(name)
	}
	return c, err
}

// ClustersByID implements fleet.ClusterReader.
func (s *Store) ClustersByID(ctx context.Context, ids []string) (all []fleet.Cluster, err error) {
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, clusterTable.Reader(), selectClusters+"WHERE c.id IN ("+placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// PollIntervals implements fleet.LivenessStore.
func (s *Store) PollIntervals(ctx context.Context, ids []string) (map[string]int64, error) {
	intervals := map[string]int64{}
	read := func(where string, args []any) error {
		return s.each(ctx, "SELECT id, poll_interval FROM clusters WHERE registered_at <> 0"+where, args, func(row scan) error {
			var id string
			var interval int64
			err := row(&id, &interval)
			intervals[id] = interval
			return err
		})
	}
	if ids == nil {
		return intervals, read("", nil)
	}
	return intervals, chunks(ids, func(args []any) error {
		return read(" AND id IN ("+placeholders(1, len(args))+")", args)
	})
}

// Clusters implements fleet.ClusterLister.
func (s *Store) Clusters(ctx context.Context, projectID string) ([]fleet.Cluster, error) {
	if projectID == "" {
		return rowsOf(ctx, s, clusterTable.Reader(), selectClusters+"ORDER BY c.name")
	}
	return rowsOf(ctx, s, clusterTable.Reader(), selectClusters+"WHERE c.project_id = $1 ORDER BY c.name", projectID)
}

// The queries about clusters of templates, for a test of their plans.
var (
	selectMadeOn     = selectClusters + "WHERE c.management_id <> '' AND c.management_id = $1 ORDER BY c.name"
	selectDestroying = selectClusters + "WHERE c.destroying <> 0 AND c.destroying > 0 ORDER BY c.destroying"
)

// ClustersMadeOn implements fleet.ClusterLister.
func (s *Store) ClustersMadeOn(ctx context.Context, managementID string) ([]fleet.Cluster, error) {
	return rowsOf(ctx, s, clusterTable.Reader(), selectMadeOn, managementID)
}

// DestroyingClusters implements fleet.ClusterLister.
func (s *Store) DestroyingClusters(ctx context.Context) ([]fleet.Cluster, error) {
	return rowsOf(ctx, s, clusterTable.Reader(), selectDestroying)
}

// ClusterTallies implements fleet.ClusterLister.
func (s *Store) ClusterTallies(ctx context.Context, clusterID string) (map[string]fleet.Tally, error) {
	query := `SELECT s.cluster_id, count(*),
		COALESCE(SUM(CASE WHEN t.sync = 'Synced' AND t.health = 'Healthy' AND t.tarball_digest = o.digest
			AND t.spec_digest = s.spec_digest THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN t.sync IN ('Failed', 'Held') OR t.health = 'Degraded' THEN 1 ELSE 0 END), 0)
		FROM services s LEFT JOIN statuses t ON t.service_id = s.id LEFT JOIN contents o ON o.id = s.content_id `
	var args []any
	if clusterID != "" {
		query, args = query+"WHERE s.cluster_id = $1 ", []any{clusterID}
	}
	tallies := map[string]fleet.Tally{}
	err := s.each(ctx, query+"GROUP BY s.cluster_id", args, func(row scan) error {
		var id string
		var t fleet.Tally
		if err := row(&id, &t.Services, &t.Healthy, &t.Failed); err != nil {
			return err
		}
		tallies[id] = t
		return nil
	})
	return tallies, err
}

// EachClusterRow implements fleet.ClusterLister.
func (s *Store) EachClusterRow(ctx context.Context, fn func(fleet.ClusterRow) error) error {
	return s.each(ctx, "SELECT id, name, pending, destroying FROM clusters", nil, func(row scan) error {
		var c fleet.ClusterRow
		var destroying int64
		if err := row(&c.ID, &c.Name, &c.Pending, &destroying); err != nil {
			return err
		}
		c.Destroying = destroying != 0
		return fn(c)
	})
}
