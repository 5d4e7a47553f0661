package store

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

const clusterColumns = `SELECT c.id, c.name, c.handle, c.project_id, COALESCE(p.name, ''), c.tags, c.metadata, c.distro,
	c.kubernetes_version, c.agent_version, c.nodes, c.cluster_uid, c.registered_at, c.pending, c.message,
	c.poll_interval, c.pinged_at, c.created_at, c.updated_at, c.installation
	FROM clusters c LEFT JOIN projects p ON p.id = c.project_id `

func scanCluster(row scan) (c fleet.Cluster, err error) {
	var tags, installation string
	err = row(&c.ID, &c.Name, &c.Handle, &c.ProjectID, &c.Project, &tags, &c.Metadata, &c.Distro,
		&c.KubernetesVersion, &c.AgentVersion, &c.Nodes, &c.ClusterUID, &c.RegisteredAt, &c.Pending, &c.Message,
		&c.PollInterval, &c.PingedAt, &c.CreatedAt, &c.UpdatedAt, &installation)
	if err != nil {
		return c, err
	}
	if installation != "" {
		if err := fromJSON(installation, &c.Installation); err != nil {
			return c, err
		}
	}
	return c, fromJSON(tags, &c.Tags)
}

// installationText encodes an installation; empty for none.
func installationText(i fleet.Installation) (string, error) {
	if !i.Known() {
		return "", nil
	}
	return jsonText(i)
}

// InsertCluster implements fleet.Store.
func (s *Store) InsertCluster(ctx context.Context, c fleet.Cluster) error {
	tags, err := jsonText(c.Tags)
	if err != nil {
		return err
	}
	installation, err := installationText(c.Installation)
	if err != nil {
		return err
	}
	inserted, err := s.execOne(ctx, `INSERT INTO clusters (id, name, handle, project_id, tags, metadata, distro,
		kubernetes_version, agent_version, nodes, cluster_uid, registered_at, pending, message, poll_interval,
		pinged_at, created_at, updated_at, installation)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) ON CONFLICT DO NOTHING`,
		c.ID, c.Name, c.Handle, c.ProjectID, tags, c.Metadata, c.Distro, c.KubernetesVersion, c.AgentVersion, c.Nodes,
		c.ClusterUID, c.RegisteredAt, c.Pending, c.Message, c.PollInterval, c.PingedAt, c.CreatedAt, c.UpdatedAt, installation)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "a cluster with the name %s or the handle %s exists already", c.Name, c.Handle)
	}
	return err
}

// UpdateCluster implements fleet.Store.
func (s *Store) UpdateCluster(ctx context.Context, c fleet.Cluster) error {
	tags, err := jsonText(c.Tags)
	if err != nil {
		return err
	}
	installation, err := installationText(c.Installation)
	if err != nil {
		return err
	}
	changed, err := s.execOne(ctx, `UPDATE clusters SET handle = $2, project_id = $3, tags = $4, metadata = $5, distro = $6,
		kubernetes_version = $7, agent_version = $8, nodes = $9, cluster_uid = $10, registered_at = $11, pending = $12,
		message = $13, poll_interval = $14, pinged_at = $15, updated_at = $16, installation = $17 WHERE id = $1`,
		c.ID, c.Handle, c.ProjectID, tags, c.Metadata, c.Distro, c.KubernetesVersion, c.AgentVersion, c.Nodes,
		c.ClusterUID, c.RegisteredAt, c.Pending, c.Message, c.PollInterval, c.PingedAt, c.UpdatedAt, installation)
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

// TouchCluster implements fleet.Store.
func (s *Store) TouchCluster(ctx context.Context, id string, at int64) error {
	_, err := s.exec(ctx, "UPDATE clusters SET pinged_at = $1 WHERE id = $2", at, id)
	return err
}

// DeleteCluster implements fleet.Store.
func (s *Store) DeleteCluster(ctx context.Context, id string) error {
	if err := endRegistration(ctx, s, id); err != nil {
		return err
	}
	if err := s.ForgetCluster(ctx, id); err != nil {
		return err
	}
	_, err := s.exec(ctx, "DELETE FROM clusters WHERE id = $1", id)
	return err
}

// ClusterByID implements fleet.Store.
func (s *Store) ClusterByID(ctx context.Context, id string) (fleet.Cluster, error) {
	c, found, err := rowOf(ctx, s, scanCluster, clusterColumns+"WHERE c.id = $1", id)
	if err == nil && !found {
		return c, noCluster(id)
	}
	return c, err
}

// ClusterByHandle implements fleet.Store.
func (s *Store) ClusterByHandle(ctx context.Context, handle string) (fleet.Cluster, error) {
	c, found, err := rowOf(ctx, s, scanCluster, clusterColumns+"WHERE c.handle = $1", handle)
	if err == nil && !found {
		return c, noCluster(handle)
	}
	return c, err
}

// ClusterByName implements fleet.Store.
func (s *Store) ClusterByName(ctx context.Context, name string) (fleet.Cluster, error) {
	c, found, err := rowOf(ctx, s, scanCluster, clusterColumns+"WHERE c.name = $1", name)
	if err == nil && !found {
		return c, noCluster(name)
	}
	return c, err
}

// ClustersByID implements fleet.Store.
func (s *Store) ClustersByID(ctx context.Context, ids []string) (all []fleet.Cluster, err error) {
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, scanCluster, clusterColumns+"WHERE c.id IN ("+placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// PollIntervals implements fleet.Store.
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

// Clusters implements fleet.Store.
func (s *Store) Clusters(ctx context.Context, projectID string) ([]fleet.Cluster, error) {
	if projectID == "" {
		return rowsOf(ctx, s, scanCluster, clusterColumns+"ORDER BY c.name")
	}
	return rowsOf(ctx, s, scanCluster, clusterColumns+"WHERE c.project_id = $1 ORDER BY c.name", projectID)
}

// ClusterTallies implements fleet.Store.
func (s *Store) ClusterTallies(ctx context.Context, clusterID string) (map[string]fleet.Tally, error) {
	query := `SELECT s.cluster_id, count(*),
		COALESCE(SUM(CASE WHEN t.sync = 'Synced' AND t.health = 'Healthy' AND t.tarball_digest = o.digest
			AND t.spec_digest = s.spec_digest THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN t.sync = 'Failed' OR t.health = 'Degraded' THEN 1 ELSE 0 END), 0)
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

// EachClusterRow implements fleet.Store.
func (s *Store) EachClusterRow(ctx context.Context, fn func(fleet.ClusterRow) error) error {
	return s.each(ctx, "SELECT id, name, pending FROM clusters", nil, func(row scan) error {
		var c fleet.ClusterRow
		if err := row(&c.ID, &c.Name, &c.Pending); err != nil {
			return err
		}
		return fn(c)
	})
}
