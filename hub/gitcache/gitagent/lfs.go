package gitagent

import (
	"cmp"
	"context"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
)

// fetchLFS fetches the files behind a content's pointers that are not here yet.
func (a *Agent) fetchLFS(ctx context.Context, reader *mirror.Reader, content *mirror.Content) error {
	missing, err := reader.MissingLFS(ctx, content, a.config.Limits.Bytes)
	if err != nil || len(missing) == 0 {
		return err
	}
	s, r, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	leave, err := a.Config.Gates.Enter(ctx, repoagent.Turn{Host: repoagent.HostOf(cmp.Or(content.LFSURL, r.URL)), Caller: a.Config.Sharing})
	if err != nil {
		return err
	}
	m, _, _ := a.copy()
	err = s.FetchLFS(ctx, m, content.LFSURL, missing)
	leave(err)
	return err
}

// try gets content from other servers, unless that failed a short while ago.
func (a *Agent) try(key string, get func() error) error {
	if err := a.Retries.Blocked(key); err != nil {
		return err
	}
	err := get()
	if stopped(err) {
		return err
	}
	if at := a.Retries.Done(key, err); !at.IsZero() {
		a.LookAt(at)
	}
	return err
}
