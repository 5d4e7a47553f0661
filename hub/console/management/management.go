// Package management translates between the API's Management and hub/managed: who a
// request says it is from, and who manages an object. It makes no decisions; hub/managed
// makes them, in the transaction of the write. hub/console calls it.
package management

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/managed"
)

// In returns a context for the writes of a request. A request that could say who
// manages and does not is from a person: the clients of before this field were
// people's. Requests without the field write nothing that is managed. Invalid when
// the caller cannot be a manager.
func In(ctx context.Context, request any) (context.Context, error) {
	asks, ok := request.(interface{ GetManagement() *hubv1.Management })
	if !ok {
		return ctx, nil
	}
	said := asks.GetManagement()
	caller := managed.Caller{By: managed.Manager{Tool: managed.CLI}, TakeOver: said.GetTakeOver()}
	if by := said.GetBy(); by != nil {
		caller.By = managed.Manager{Tool: managed.Tool(by.GetTool()), ID: by.GetId()}
	}
	return managed.WithCaller(ctx, caller), caller.By.Check()
}

// Out returns the manager of an object, nil for nobody.
func Out(m managed.Manager) *hubv1.Manager {
	if m == (managed.Manager{}) {
		return nil
	}
	return &hubv1.Manager{Tool: string(m.Tool), Id: m.ID}
}

// Explain adds the present manager to the error of a write that was refused for it.
func Explain(out *connect.Error, err error) {
	var refused *managed.Refused
	if !errors.As(err, &refused) {
		return
	}
	if detail, err := connect.NewErrorDetail(&hubv1.Management{By: Out(refused.By)}); err == nil {
		out.AddDetail(detail)
	}
}
