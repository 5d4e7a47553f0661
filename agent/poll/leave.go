package poll

import (
	"context"
	"fmt"

	"github.com/axle-cd/axle/agent/apply"
)

// leave drains or detaches a service that has a tombstone. It is called again
// until nothing of the service is left; then the hub is told.
func (l *Loop) leave(ctx context.Context, j *job) outcome {
	switch {
	case j.deletes != "":
		return outcome{drain: &apply.DrainResult{Message: j.deletes}}
	case j.dependent != "":
		return outcome{drain: &apply.DrainResult{Message: fmt.Sprintf("service %q still depends on this one and has to go or change first", j.dependent)}}
	}
	service := apply.Service{ID: j.id, Name: j.tombstone.GetName(), Namespace: j.tombstone.GetNamespace(), RequireOwnership: true}
	if j.spec != nil {
		service = apply.FromSpec(j.spec, "")
	}
	service.Unsettled = func() string { return l.unsettled(j.id) }
	leave := l.Apply.Drain
	if j.tombstone.GetMode() == "detach" {
		leave = l.Apply.Detach
	}
	result, err := leave(ctx, service)
	if err != nil {
		return outcome{trouble: &trouble{sourceApply, err}}
	}
	return outcome{drain: &result}
}
