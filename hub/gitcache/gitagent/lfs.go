package gitagent

import (
	"context"

	"github.com/axle-cd/axle/hub/gitcache/upstream"
)

// fetchLFS brings the files behind a content's pointers that are not here yet.
func (a *Agent) fetchLFS(ctx context.Context, reader *upstream.Reader, content *upstream.Content) error {
	missing, err := reader.MissingLFS(ctx, content, a.config.Limits.Bytes)
	if err != nil || len(missing) == 0 {
		return err
	}
	s, _, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	m, _, _ := a.copy()
	return s.FetchLFS(ctx, m, missing)
}
