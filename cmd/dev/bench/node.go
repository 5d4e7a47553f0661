package bench

import (
	"context"
	"os"

	"github.com/axle-cd/axle/test/node/story"
)

func benchNode(ctx context.Context, b *bench) (*record, error) {
	dir, err := os.MkdirTemp("", "axle-story-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	found, err := story.Play(ctx, story.Config{Dir: dir, Progress: b.say})
	if err != nil {
		return nil, err
	}
	r := &record{Settings: map[string]any{"Kubernetes": "v1.36.3"}}
	for _, step := range found.Steps {
		r.Values = append(r.Values, value{What: step.What, Value: step.Seconds, Unit: "s"})
	}
	r.Values = append(r.Values, value{What: "the bundle, of one platform", Value: float64(found.Bundle) / (1 << 20), Unit: "MiB"})
	return r, nil
}
