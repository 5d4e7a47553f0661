package clusterapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// PoolSize is how many machines a node pool is to have: a number, or the bounds of an
// autoscaler, of which one that is nil stays as it is.
type PoolSize struct {
	Name               string
	Replicas, Min, Max *uint32
}

// The properties of a node pool that are its size.
const (
	poolCount = "count"
	poolMin   = "minSize"
	poolMax   = "maxSize"
)

// checkPools returns Invalid for node pools that Cluster API's webhooks refuse whatever the schema
// of the template takes: the cluster would be in the hub, and its service never applied.
func checkPools(values map[string]any) error {
	names := map[string]bool{}
	for i, p := range list(values[nodePools]) {
		at := fmt.Sprintf("variables.%s.%d.", nodePools, i)
		name, _ := p["name"].(string)
		switch {
		case !rule.Label.Valid(name):
			return errcode.New(errcode.Invalid, "%sname: %.80q is not the name of a node pool; use up to 63 lower-case letters, digits and dashes", at, name)
		case names[name]:
			return errcode.New(errcode.Invalid, "%sname: another node pool is called %s", at, name)
		}
		names[name] = true
		for _, field := range []string{poolCount, poolMin, poolMax} {
			if n, ok := p[field].(json.Number); ok && strings.HasPrefix(n.String(), "-") {
				return errcode.New(errcode.Invalid, "%s%s: is less than 0", at, field)
			}
		}
	}
	return nil
}

// scale puts the size of one pool into the given variables of a cluster. A number ends the
// bounds of the pool.
func (s *schema) scale(given map[string]any, size PoolSize) error {
	bounds := size.Min != nil || size.Max != nil
	if bounds == (size.Replicas != nil) {
		return errcode.New(errcode.Invalid, "pool: takes a number of machines, or bounds for an autoscaler")
	}
	if !s.has(nodePools) {
		return errcode.New(errcode.Unprocessable, "pool: the template has no variable %s, so its clusters have no node pools that could be scaled", nodePools)
	}
	complete, err := s.values(given)
	if err != nil {
		return err
	}
	pools, _ := given[nodePools].([]any)
	if given[nodePools] == nil { // those of the template, which change with it no more
		pools, _ = complete[nodePools].([]any)
		given[nodePools] = pools
	}
	at, names := -1, []string{}
	for i, p := range list(complete[nodePools]) {
		name, _ := p["name"].(string)
		if names = append(names, name); name == size.Name && at < 0 {
			at = i
		}
	}
	if at < 0 {
		return errcode.New(errcode.NotFound, "pool: the cluster has no node pool %.80q; it has %s", size.Name, strings.Join(names, ", "))
	}
	pool, ok := pools[at].(map[string]any)
	if !ok || len(pools) != len(names) {
		return errcode.New(errcode.Unprocessable, "variables.%s: is not a list of objects", nodePools)
	}
	for name, n := range map[string]*uint32{poolCount: size.Replicas, poolMin: size.Min, poolMax: size.Max} {
		if n != nil {
			pool[name] = json.Number(fmt.Sprint(*n))
		} else if !bounds {
			delete(pool, name)
		}
	}
	return s.sized(given, at, bounds)
}

// sized returns Invalid for bounds that no number is within, and for a number that has no
// effect because the template gives each pool bounds.
func (s *schema) sized(given map[string]any, at int, bounds bool) error {
	complete, err := s.values(given)
	if err != nil {
		return err
	}
	pool := list(complete[nodePools])[at]
	if !bounds && pool[poolMin] != nil {
		return errcode.New(errcode.Invalid, "pool: the template gives each node pool %s and %s, so a number of machines has no effect; set the bounds", poolMin, poolMax)
	}
	low, _ := pool[poolMin].(json.Number)
	high, _ := pool[poolMax].(json.Number)
	least, errLeast := low.Int64()
	most, errMost := high.Int64()
	if bounds && errLeast == nil && errMost == nil && least > most {
		return errcode.New(errcode.Invalid, "pool: at least %d machines are more than at most %d", least, most)
	}
	return nil
}

// Replace has a machine of a cluster replaced. also is called in the same transaction, after
// it; an error of it ends that.
func (s *Clusters) Replace(ctx context.Context, by, cluster, machine, uid string, also func(ctx context.Context) error) error {
	return s.config.Write(ctx, func(ctx context.Context) error {
		if err := s.config.Fleet.ReplaceMachine(ctx, by, cluster, machine, uid); err != nil {
			return err
		}
		return also(ctx)
	})
}
