package declare

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// webhooks are what upstreams call.
type webhooks struct{ described }

// Write gives the webhook another secret if it exists, and keeps its URL. A secret never
// goes to another provider or repository.
func (ws webhooks) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	request := proto.CloneOf(item.Request.(*hubv1.CreateWebhookRequest))
	request.Management = proto.CloneOf(item.Management)
	if have != nil {
		if !ws.Same(c, item, have) {
			return nil, errcode.New(errcode.Conflict, "webhook %s of the hub is for another provider or repository; choose another name, or delete it first", item.Name)
		}
		if !item.Management.GetTakeOver() {
			if err := mayWrite(have.By, item.Management.GetBy()); err != nil {
				return nil, err
			}
			request.Management.TakeOver = true // as it is the caller's, only the secret changes
		}
	}
	answer, err := c.Webhooks.Create(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	return foundObject(answer.Msg.GetWebhook()), nil
}

// mayWrite returns Conflict if the hub would refuse a change without a take-over.
func mayWrite(have, by *hubv1.Manager) error {
	if proto.Equal(have, by) || !Declares(have) && !Declares(by) {
		return nil
	}
	return errcode.New(errcode.Conflict, "the webhook is managed by %s %s: take it over with --take-over", have.GetTool(), have.GetId())
}
