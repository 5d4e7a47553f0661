package gitagent

import (
	"context"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
)

// headWriter writes heads in batches, after their commits are kept.
type headWriter struct {
	agent     *Agent
	began     time.Time // of the oldest waiting head
	heads     []record.Head
	artifacts []record.Artifact
}

func (w *headWriter) add(ctx context.Context, h record.Head, a *record.Artifact) error {
	if len(w.heads) == 0 {
		w.began = w.agent.config.Clock.Now()
	}
	w.heads = append(w.heads, h)
	if a != nil {
		w.artifacts = append(w.artifacts, *a)
	}
	if len(w.heads) >= headBatch || w.agent.config.Clock.Now().Sub(w.began) >= headWait {
		return w.flush(ctx)
	}
	return nil
}

func (w *headWriter) flush(ctx context.Context) error {
	if len(w.heads) == 0 {
		return nil
	}
	a := w.agent
	if err := a.write(ctx, w.heads, w.artifacts); err != nil {
		for _, h := range w.heads {
			delete(a.evaluated, h.SourceID) // evaluate it again
		}
		return err
	}
	for _, h := range w.heads {
		h.Epoch = a.config.Epoch
		a.heads[h.SourceID] = h
	}
	w.heads, w.artifacts = nil, nil
	return nil
}

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
	return a.config.Store.WriteHeads(ctx, a.config.RepositoryID, a.config.Epoch, heads, artifacts)
}
