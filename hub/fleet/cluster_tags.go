package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

// CountedTags are the tags that count for global services of all projects: those that an
// administrator set, or whoever else may write the whole hub and so such a global service,
// with the value that they set, and those of before this was recorded,
// until they change. The others are their cluster's writer's, who would choose by them
// what the whole fleet delivers there.
func (c Cluster) CountedTags() map[string]string {
	counted := make(map[string]string, len(c.Tags))
	for key, value := range c.Tags {
		if has(c.AdminTags, key, value) || has(c.FormerTags, key, value) {
			counted[key] = value
		}
	}
	return counted
}

// UncountedTags are the keys of the other tags, in order.
func (c Cluster) UncountedTags() []string {
	counted, keys := c.CountedTags(), []string(nil)
	for _, key := range slices.Sorted(maps.Keys(c.Tags)) {
		if _, ok := counted[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// TagsAtRisk are the keys of tags that count although no administrator is known to have
// set them, in order.
func (c Cluster) TagsAtRisk() []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(c.Tags)) {
		if value := c.Tags[key]; has(c.FormerTags, key, value) && !has(c.AdminTags, key, value) {
			keys = append(keys, key)
		}
	}
	return keys
}

func has(tags map[string]string, key, value string) bool {
	v, ok := tags[key]
	return ok && v == value
}

// setTags gives a cluster all its tags. Those of an administrator are their own; others
// neither change nor remove them. The form of the console sends back what it was filled
// with, so there only a tag that differs is the administrator's.
func (c *Cluster) setTags(ctx context.Context, tags map[string]string, fleetWide bool) error {
	form := managed.CallerOf(ctx).By.Tool == managed.Console
	if !fleetWide {
		for _, key := range slices.Sorted(maps.Keys(c.AdminTags)) {
			if value := c.AdminTags[key]; has(c.Tags, key, value) && !has(tags, key, value) {
				return errcode.New(errcode.Forbidden, "tags.%s: is set for the whole fleet, to %q; only an administrator, or who may write the whole hub, changes or removes it", key, value)
			}
		}
	}
	admin, former := map[string]string{}, map[string]string{}
	for key, value := range tags {
		switch {
		case has(c.AdminTags, key, value), fleetWide && !(form && has(c.Tags, key, value)):
			admin[key] = value
		case has(c.FormerTags, key, value) && has(c.Tags, key, value):
			former[key] = value
		}
	}
	c.Tags, c.AdminTags, c.FormerTags = tags, admin, former
	return nil
}
