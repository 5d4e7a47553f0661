package gitcache

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// followedPoll is how often a repository is polled that is followed for others: what
// they need of it is pinned, and new needs are requested at once.
const followedPoll = 12 * time.Hour

// FollowByItself returns the repository that the hub follows by itself at r's URL, for
// the repository with the id parentID or, when that is empty, for the services of all
// projects. It creates one with the credentials where there is none. A repository that
// somebody registered is never it, whatever its name. errcode.Invalid.
func (c *repositories) FollowByItself(ctx context.Context, parentID string, r Repository, creds Credentials) (Repository, error) {
	name, former := record.InternalNames(parentID, r.Kind, r.URL)
	find := func() (Repository, error) {
		all, err := c.rows.RepositoriesNamed(ctx, []string{name, former}, nil)
		for _, have := range all {
			// People could change the URL of one with the former name.
			if have.Options.Internal && have.Kind == r.Kind && (have.Name == name || have.IsAt(r.URL)) {
				return have, err
			}
		}
		return Repository{}, err
	}
	if found, err := find(); err != nil || found.ID != "" {
		return found, err
	}
	r.Name, r.Options.Internal = name, true
	created, err := c.create(ctx, r, creds)
	switch {
	case errcode.Is(err, errcode.Conflict):
		// Another replica was faster, or the name is one of before there was a rule.
		if found, err := find(); err != nil || found.ID != "" {
			return found, err
		}
	case err == nil && parentID != "":
		c.config.Log.Info("a repository is followed for another", logkey.Repository, created.ID, logkey.Address, created.URL)
	}
	return created, err
}

// pollEvery returns the base time between polls of a repository.
func (c *Config) pollEvery(r Repository) time.Duration {
	if r.ForAnother() {
		return followedPoll
	}
	return c.PollInterval
}
