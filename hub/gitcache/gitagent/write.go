package gitagent

import (
	"context"
	"slices"

	"github.com/axle-cd/axle/hub/gitcache/record"
)

// write keeps the commits and then writes the rows, so that a force-push cannot
// remove a commit that a row names.
func (a *Agent) write(ctx context.Context, heads []record.Head, artifacts []record.Artifact) error {
	var commits []string
	for _, x := range artifacts {
		commits = append(commits, x.Recipe.Commit)
	}
	if len(commits) > 0 {
		m, _, _ := a.copy()
		slices.Sort(commits)
		if err := m.Keep(ctx, slices.Compact(commits)); err != nil {
			return err
		}
	}
	return a.Write(ctx, heads, artifacts)
}
