package console

import (
	"context"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// ofOperation requires nothing more for a caller's own operation. Others are seen
// by those who may read the whole hub, and cancelled by administrators.
func ofOperation(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	return s.operationPermission(ctx, action, message.(interface{ GetId() string }).GetId())
}

func (s *Server) operationPermission(ctx context.Context, action identity.Action, id string) ([]permission, error) {
	o, err := s.config.Operations.Store.Operations.Operation(ctx, id)
	if errcode.Is(err, errcode.NotFound) {
		return nil, errcode.New(errcode.NotFound, "operation %.80q does not exist", id)
	}
	if err != nil || o.ActorID == caller(ctx).ID {
		return nil, err
	}
	if action == identity.ActionWrite {
		action = identity.ActionAdmin
	}
	return []permission{{action: action, what: "operation " + id, missing: errcode.New(errcode.NotFound, "operation %.80q does not exist", id)}}, nil
}

// ofStartedOperation requires that the caller may write something, and may see the
// operation that theirs continues. The right on every service is checked once they
// are known, before anything happens: operations.Operations.Plan.
func ofStartedOperation(ctx context.Context, s *Server, action identity.Action, message any) ([]permission, error) {
	if _, err := s.config.Identity.Reach(ctx, caller(ctx), action); err != nil {
		return nil, err
	}
	if id := message.(*hubv1.StartOperationRequest).GetFailedOf(); id != "" {
		return s.operationPermission(ctx, identity.ActionRead, id)
	}
	return nil, nil
}
