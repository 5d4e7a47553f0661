package poll

import (
	"cmp"
	"context"
	"fmt"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/poll/report"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/errcode"
)

// modeReleased is the mode of a tombstone that waits for no other service.
const modeReleased = "drain-released"

// leave drains or detaches a service that has a tombstone. It is called until nothing
// of the service is left; then it reports to the hub.
func (l *Loop) leave(ctx context.Context, j *job) outcome {
	switch {
	case j.deletes != "":
		return outcome{drain: &apply.DrainResult{Message: j.deletes}}
	case j.dependent != "":
		return outcome{drain: &apply.DrainResult{Message: fmt.Sprintf("service %q still depends on this one and must be deleted or changed first", j.dependent)}}
	}
	state, _ := l.config.Inventory.State(j.id)
	// The hub does not know the namespace of a service that a backup of the cluster brought back.
	service := apply.Service{ID: j.id, Name: j.tombstone.GetName(), Namespace: cmp.Or(j.tombstone.GetNamespace(), state.Namespace), RequireOwnership: true}
	request := tenancy.Request{Service: j.id, Namespace: service.Namespace}
	var permit tenancy.Permit
	var refused error = errcode.New(errcode.Forbidden, "the service's settings are not known")
	if j.spec != nil {
		service, request = apply.FromSpec(j.spec, ""), tenancy.FromSpec(j.spec)
		permit, refused = l.config.Gate.Permit(request)
	}
	if refused != nil {
		permit = l.config.Gate.Leaving(request, state.User, refused)
	}
	service.Unsettled, service.Released = func() []apply.Pending { return l.unsettled(j.id) }, j.tombstone.GetMode() == modeReleased
	leave := l.config.Apply.Drain
	if j.tombstone.GetMode() == "detach" {
		leave = l.config.Apply.Detach
	}
	result, err := leave(ctx, permit, service)
	if err != nil {
		return outcome{trouble: &report.Trouble{Source: report.SourceApply, Err: err}}
	}
	return outcome{drain: &result, permit: permit}
}
